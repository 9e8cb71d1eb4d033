/**
 * Keys that are worked on one at a time. A key that is added many times is worked on once; one whose work failed waits longer each time; and
 * none gets more than a share of the time, however often it's added.
 */
export interface Queue {
  forget(key: string): void
  /** @param delay in ms; a time that is already set stays if it's earlier */
  add(key: string, delay?: number): void
  readonly ended: Promise<void>
}

interface Entry {
  due: number
  failures: number
  /** Not before this, by the steady clock. */
  earliest: number
}

const SHORTEST = 100
const LONGEST = 10_000
/** A key rests for this many times as long as its work took: its calls take most of that, and others wait meanwhile. */
const REST = 1
const IDLE = 60_000

export function createQueue({
  work,
  steady,
  signal,
  failed,
}: {
  work: (key: string) => Promise<void>
  steady: () => number
  signal: AbortSignal
  failed: (key: string, error: unknown) => void
}): Queue {
  const entries = new Map<string, Entry>()
  let wake: (() => void) | undefined

  function add(key: string, delay = 0) {
    const at = steady() + delay
    const found = entries.get(key)
    if (!found) entries.set(key, { due: at, failures: 0, earliest: 0 })
    else found.due = Math.min(found.due, at)
    wake?.()
  }

  const when = ({ due, earliest }: Entry) => Math.max(due, earliest)

  signal.addEventListener('abort', () => wake?.(), { once: true })

  async function run() {
    while (!signal.aborted) {
      const [first] = [...entries].sort(([, a], [, b]) => when(a) - when(b))
      const now = steady()
      if (!first || when(first[1]) > now) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, first ? Math.min(when(first[1]) - now, IDLE) : IDLE)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        wake = undefined
        continue
      }
      const [key, entry] = first
      entry.due = Number.POSITIVE_INFINITY
      try {
        await work(key)
        entry.failures = 0
        entry.earliest = steady() + Math.max(SHORTEST, (steady() - now) * REST)
      } catch (error) {
        failed(key, error)
        entry.failures++
        entry.earliest = steady() + Math.min(LONGEST, SHORTEST * 2 ** entry.failures) * (0.5 + Math.random() / 2)
        entry.due = 0
      }
    }
  }
  return { add, forget: (key) => void entries.delete(key), ended: run() }
}
