const times = Number(process.env.TEST_RUNS ?? (process.env.CI ? 1 : 0.25))

/**
 * How often a property is tried: this often in CI, and always with the same values, so that a change is judged by what it changes; a quarter
 * as often elsewhere, and a tenth in `npm run test:fast`, each time with others. TEST_RUNS says it.
 */
export const runs = (count: number) => ({
  numRuns: Math.ceil(count * times),
  ...(process.env.CI && { seed: 20_261_121 }),
})

/**
 * Of many cases, those that are tried this time: all of them in CI and where golden files are written, and a share that is another each
 * time elsewhere.
 */
export function share<T>(cases: readonly T[]): readonly T[] {
  const step = process.env.UPDATE_GOLDEN ? 1 : Math.max(1, Math.round(1 / times))
  const first = Math.floor(Math.random() * step)
  return cases.filter((_, at) => at % step === first)
}

/** For a test that burns seconds of CPU because that is what it is about: CI runs it. */
export const costly = { skip: times < 1 && 'costly: CI=1 npm test runs it' }

/** For a test that is slow by the mere size of what it makes, such as ten thousand rules: `npm run test:fast` leaves it out. */
export const large = { skip: times <= 0.1 && 'large: npm test runs it' }
