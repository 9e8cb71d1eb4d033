import { setTimeout as sleep } from 'node:timers/promises'

export const SECOND = 1000

/** No limit is shorter: the machine may be slow. */
const LEAST = 60 * SECOND

/**
 * Waits until it holds, looking often, and less so the longer it takes: each look takes CPU from what it waits for.
 * @throws after `limit` ms, which is there to end a broken test and says nothing about speed
 */
export async function until<T>(what: string, limit: number, look: () => Promise<T | undefined | false>): Promise<T> {
  const patience = Math.max(limit, LEAST)
  const end = performance.now() + patience
  for (let pause = 50; ; pause = Math.min(1.2 * pause, 250)) {
    const found = await look()
    if (found) return found
    if (performance.now() > end) throw new Error(`not within ${patience / SECOND} s: ${what}`)
    await sleep(pause)
  }
}
