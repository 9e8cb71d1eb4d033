import type { Shown, Step } from './decide-step.ts'

type Action = Exclude<Step, { do: 'wait' }>

/** All in ms. */
const first = 200
const longest = 30_000
/** After so long without the same step, it isn't a struggle with somebody else. */
const forgotten = 4 * longest

interface Attempt {
  /** What was done, and what it was to change. */
  readonly what: string
  readonly at: number
  /** How often before, in a row. */
  readonly repeats: number
}

/**
 * Remembers the steps taken, to notice one that has no effect because somebody undoes it: a GitOps tool that puts an old caBundle back, say.
 * A first repetition is taken at once, further ones ever later. `now` comes from a clock that never jumps.
 */
export class Attempts {
  readonly #last = new Map<string, Attempt>()

  /** The part of a step that may be taken now, or when the next part may. */
  due(step: Action, shown: Shown, now: number): { readonly step: Action } | { readonly at: number } {
    const what = whatIs(step, shown)
    const waits = targets(step).map((target) => ({ target, at: this.#from(target, what, now) }))
    const ready = waits.filter(({ at }) => at <= now).map(({ target }) => target)
    if (ready.length === 0) return { at: Math.min(...waits.map(({ at }) => at)) }
    return { step: step.do === 'trust' ? { ...step, in: ready } : step }
  }

  /** Notes a step that is taken. @returns how often the same has been done before, in a row */
  take(step: Action, shown: Shown, now: number): number {
    const what = whatIs(step, shown)
    const repeats = targets(step).map((target) => {
      const before = this.#before(target, what, now)
      const attempt = { what, at: now, repeats: before ? before.repeats + 1 : 0 }
      this.#last.set(target, attempt)
      return attempt.repeats
    })
    return Math.max(...repeats)
  }

  #from(target: string, what: string, now: number): number {
    const before = this.#before(target, what, now)
    if (before === undefined || before.repeats === 0) return now
    return before.at + Math.min(longest, first * 2 ** (before.repeats - 1))
  }

  #before(target: string, what: string, now: number): Attempt | undefined {
    const last = this.#last.get(target)
    return last && last.what === what && now - last.at < forgotten ? last : undefined
  }
}

/** A step with what it starts from: if that is there again, the step was undone. */
function whatIs(step: Action, { secret }: Shown): string {
  if (step.do === 'trust') return step.authorities.join()
  const { current, next, leaf } = secret ?? {}
  return JSON.stringify({ ...step, ids: [current?.id, next?.id, leaf?.id] })
}

/** What a step writes: each configuration is on its own. */
const targets = (step: Action): readonly string[] => (step.do === 'trust' ? step.in : [step.do])
