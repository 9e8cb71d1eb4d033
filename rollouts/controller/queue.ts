interface Entry {
  readonly group: string
  due: number
  urgent: boolean
  /** Not before this, by the steady clock. */
  earliest: number
}

interface Group {
  busy: boolean
  failures: number
  earliest: number
}

/** The shortest rest of a key, in ms; one whose work took longer rests for as long, so that none takes more than half of a worker. */
const SHORTEST = 100
const LONGEST = 10_000
const IDLE = 60_000

export type Queue<Key> = ReturnType<typeof createQueue<Key>>

interface Working<Key> {
  /** @returns whether the key is urgent the next time */
  readonly work: (key: Key) => Promise<boolean>
  readonly steady: () => number
  readonly signal: AbortSignal
  readonly failed: (key: Key, error: unknown) => void
  readonly groupOf: (key: Key) => string
  readonly workers?: number
}

/**
 * Keys that several workers work on: one key of a group at a time, and of those that are due the most urgent and then the longest waiting
 * first. A key that is added many times is worked on once; after a failure its whole group waits, longer each time.
 */
export function createQueue<Key>({ work, steady, signal, failed, groupOf, workers = 1 }: Working<Key>) {
  const entries = new Map<Key, Entry>()
  const groups = new Map<string, Group>()
  const working = new Set<Promise<void>>()
  const over = Promise.withResolvers<void>()
  let timer: NodeJS.Timeout | undefined

  const group = (name: string): Group => {
    const found = groups.get(name) ?? { busy: false, failures: 0, earliest: 0 }
    groups.set(name, found)
    return found
  }
  const when = (entry: Entry) => Math.max(entry.due, entry.earliest, group(entry.group).earliest)

  /** Starts what is due, as far as there are workers, and sets the clock for the rest. */
  function dispatch() {
    clearTimeout(timer)
    if (signal.aborted) {
      if (working.size === 0) over.resolve()
      return
    }
    // Whichever ends first looks again.
    if (working.size >= workers) return
    let next = IDLE
    const now = steady()
    const free = [...entries].filter(([, entry]) => !group(entry.group).busy)
    const due = free.filter(([, entry]) => when(entry) <= now)
    due.sort(([, a], [, b]) => Number(b.urgent) - Number(a.urgent) || when(a) - when(b) || a.due - b.due)
    for (const [key, entry] of due) {
      if (working.size >= workers) return
      if (!group(entry.group).busy) start(key, entry)
    }
    for (const [, entry] of free) if (when(entry) > now) next = Math.min(next, when(entry) - now)
    timer = setTimeout(dispatch, next)
  }

  function start(key: Key, entry: Entry) {
    const its = group(entry.group)
    its.busy = true
    entry.due = Number.POSITIVE_INFINITY
    const began = steady()
    const done = work(key)
      .then((urgent) => {
        entry.urgent = urgent
        entry.earliest = steady() + Math.max(SHORTEST, steady() - began)
        its.failures = 0
      })
      .catch((error) => {
        failed(key, error)
        its.failures++
        its.earliest = steady() + Math.min(LONGEST, SHORTEST * 2 ** its.failures) * (0.5 + Math.random() / 2)
        // Behind those of its group that have been waiting meanwhile, or none of them would have its turn.
        entry.due = its.earliest
        entry.urgent = false
      })
      .finally(() => {
        its.busy = false
        if (![...entries.values()].some((one) => one.group === entry.group)) groups.delete(entry.group)
        working.delete(done)
        dispatch()
      })
    working.add(done)
  }

  let dispatching = false
  /** Once for all that is added in one go: a list of pods adds thousands. */
  function wake() {
    if (dispatching) return
    dispatching = true
    queueMicrotask(() => {
      dispatching = false
      dispatch()
    })
  }

  signal.addEventListener('abort', dispatch, { once: true })
  return {
    /** @param delay in ms; a time that is already set stays if it's earlier */
    add(key: Key, delay = 0): void {
      const at = steady() + delay
      const found = entries.get(key)
      if (!found) entries.set(key, { group: groupOf(key), due: at, urgent: false, earliest: 0 })
      else if (at < found.due) found.due = at
      else return
      wake()
    },
    forget: (key: Key) => void entries.delete(key),
    /** How long the key that has waited longest has been due, in ms. */
    age(): number {
      const now = steady()
      return [...entries.values()].reduce((oldest, entry) => Math.max(oldest, now - when(entry)), 0)
    },
    ended: over.promise,
  }
}
