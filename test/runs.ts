/**
 * How often a property is tried: this often in `npm test`. TEST_RUNS multiplies it; `npm run test:fast` takes a tenth. Each run tries other
 * values; CI tries the same ones, so that a change is judged by what it changes.
 */
export const runs = (count: number) => ({
  numRuns: Math.ceil(count * Number(process.env.TEST_RUNS ?? 1)),
  ...(process.env.CI && { seed: 20_261_121 }),
})
