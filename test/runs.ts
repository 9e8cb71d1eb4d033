const times = Number(process.env.TEST_RUNS ?? (process.env.CI ? 1 : 0.25))

/**
 * How often a property is tried: this often in CI, and always with the same values, so that a change is judged by what it changes; a quarter
 * as often elsewhere, and a tenth in `npm run test:fast`, each time with others. TEST_RUNS says it.
 */
export const runs = (count: number) => ({
  numRuns: Math.ceil(count * times),
  ...(process.env.CI && { seed: 20_261_121 }),
})

/** For a test that is slow by the mere size of what it makes, such as ten thousand rules: `npm run test:fast` leaves it out. */
export const large = { skip: times <= 0.1 && 'large: npm test runs it' }
