export type Turns = ReturnType<typeof createTurns>

/** One piece of work per turn of the event loop, each client in its turn: whatever is small enough not to wait is done in between. */
export function createTurns() {
  // By client, in the order of their turns.
  const waiting = new Map<string, Set<() => void>>()
  let scheduled = false

  function schedule(): void {
    if (scheduled || waiting.size === 0) return
    scheduled = true
    setImmediate(next)
  }

  function next(): void {
    scheduled = false
    for (const [client, queue] of waiting) {
      waiting.delete(client)
      const [work] = queue
      if (work === undefined) continue
      queue.delete(work)
      if (queue.size > 0) waiting.set(client, queue)
      schedule()
      work()
      return
    }
  }

  return {
    /** Queues `work`; the result takes it out again. */
    wait(client: string, work: () => void): () => void {
      const queue = waiting.get(client) ?? new Set()
      queue.add(work)
      waiting.set(client, queue)
      schedule()
      return () => void queue.delete(work)
    },
  }
}
