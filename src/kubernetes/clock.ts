/** The API server's clock, from the Date of its answers and our own steady clock. */
export function createClock(wallClock: () => number = Date.now) {
  let ahead = wallClock() - performance.now()
  let known = false
  return {
    now: () => performance.now() + ahead,
    heard(date: number) {
      const sample = date - performance.now()
      // A Date is cut to the second and arrives late, so the greatest is the best; one far below means that a clock was set.
      if (!known || sample > ahead || sample < ahead - 5000) ahead = sample
      known = true
    },
  }
}
