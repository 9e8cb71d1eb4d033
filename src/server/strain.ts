/** In samples, so in seconds: what is judged, and how long at a time a replica may stay away because of it, and must then be back. */
const judged = 10
const away = 30_000
const back = 30_000

/** In ms. A turn of the event loop that takes a second makes its timers half a second late on average; a new connection needs several turns. */
const mostLate = 500

export type Strain = ReturnType<typeof createStrain>

/**
 * Whether a replica is too busy to be sent more. A starved replica that is called ready loses requests that another one would have answered. But one that stays away leaves its load to
 * the others, until none is ready and nobody is answered at all. So it stays away for half a minute at most, and is then back for as long.
 */
export function createStrain() {
  const samples: { readonly late: number; readonly entered: number; readonly turnedAway: number }[] = []
  let since: number | undefined
  let problem: string | undefined

  function judge(): string | undefined {
    const [first] = samples
    const last = samples.at(-1)
    if (first === undefined || last === undefined || samples.length <= judged) return undefined
    const late = samples.slice(1).reduce((sum, sample) => sum + sample.late, 0) / judged
    if (late > mostLate)
      return `overloaded: the event loop has been ${Math.round(late)} ms late on average for ${judged} s`
    const entered = last.entered - first.entered
    const turnedAway = last.turnedAway - first.turnedAway
    if (turnedAway <= entered) return undefined
    return `overloaded: of ${entered + turnedAway} requests in ${judged} s, ${turnedAway} were turned away`
  }

  return {
    /** To be called once a second. `late`: how many ms later than that; `entered`, `turnedAway`: requests so far. */
    sample(at: number, late: number, entered: number, turnedAway: number): void {
      samples.push({ late, entered, turnedAway })
      if (samples.length > judged + 1) samples.shift()
      const found = judge()
      if (since !== undefined && at - since >= away + back) since = undefined
      if (found !== undefined) since ??= at
      problem = since !== undefined && at - since < away ? found : undefined
    },
    /** Why nothing should be sent here now, if so. */
    get problem() {
      return problem
    },
  }
}

/** Samples once a second, until the timer is cleared. */
export function watchStrain(
  strain: Strain,
  counts: () => { readonly entered: number; readonly turnedAway: number },
): NodeJS.Timeout {
  let due = performance.now() + 1000
  return setInterval(() => {
    const at = performance.now()
    const { entered, turnedAway } = counts()
    strain.sample(at, Math.max(0, at - due), entered, turnedAway)
    due = at + 1000
  }, 1000).unref()
}
