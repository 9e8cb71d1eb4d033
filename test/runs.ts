const times = Number(process.env.TEST_RUNS ?? 1)

/**
 * How often a property is tried: this often in `npm test`, and in CI so often if that is another number. TEST_RUNS multiplies it;
 * `npm run test:fast` takes a tenth. Each run tries other values; CI tries the same ones, so that a change is judged by what it changes.
 */
export const runs = (count: number, inCI = count) => ({
  numRuns: Math.ceil((process.env.CI ? inCI : count) * times),
  ...(process.env.CI && { seed: 20_261_121 }),
})

/** For a test that is slow by the mere size of what it makes, such as ten thousand rules: `npm run test:fast` leaves it out. */
export const large = { skip: times < 1 && 'large: npm test runs it' }
