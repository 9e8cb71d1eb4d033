/** How often a property is tried: this often in `npm test`. TEST_RUNS multiplies it; `npm run test:fast` takes a tenth. */
export const runs = (count: number) => ({ numRuns: Math.ceil(count * Number(process.env.TEST_RUNS ?? 1)) })
