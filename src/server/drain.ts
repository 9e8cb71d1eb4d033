import { once } from 'node:events'
import type { Server } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import type { InFlight } from './in-flight.ts'

export type Drain = ReturnType<typeof createDrain>

/**
 * How a server stops without losing a request. `grace`: how long, in ms, a connection that was accepted may still take to send its request once the server has stopped listening.
 * `stopping`: called just before that.
 */
export function createDrain(
  server: () => Server,
  inFlight: InFlight,
  { grace, stopping }: { readonly grace: number; readonly stopping: () => void },
) {
  const cut = new AbortController()
  let begun = false

  async function finish(closed: Promise<unknown>, wait: number): Promise<void> {
    await sleep(wait, undefined, { signal: cut.signal })
    stopping()
    server().close()
    await Promise.race([closed, sleep(grace, undefined, { signal: cut.signal })])
  }

  return {
    /** From the first call of `start` on. Readiness then fails, and each answer closes its connection. */
    get begun() {
      return begun
    },
    /** Waits `wait` ms while clients turn away, then answers what is in flight and ends. A second call ends it at once. @returns whether everything was answered */
    async start(wait: number): Promise<boolean> {
      if (begun) {
        cut.abort()
        return false
      }
      begun = true
      inFlight.closeAfter()
      const closed = once(server(), 'close')
      // It rejects when it is cut short.
      await finish(closed, wait).catch(() => {})
      const answered = inFlight.counts().requests === 0
      server().close()
      server().closeAllConnections()
      await closed
      return answered
    },
  }
}
