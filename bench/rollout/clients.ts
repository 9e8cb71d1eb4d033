import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** What the clients of a port saw during a run. */
export interface Seen {
  /** Seconds without an answer, per pod that should be there, whichever pod was missing. */
  readonly missing: number
  /** Failed requests to pods that had answered before. */
  readonly broken: number
}

/** The interval between requests to a pod, in ms. */
const EVERY = 50

/**
 * Starts a client for each pod's port, with its own connections.
 * @param addresses returns the addresses of the current pods; called repeatedly
 * @param wanted how many pods should answer at any time
 */
export function startClients(
  port: number,
  addresses: () => ReadonlyMap<string, string>,
  wanted: number,
): { stop(): Promise<Seen> } {
  let stopped = false
  let missing = 0
  let broken = 0
  const served = new Set<string>()

  async function round(): Promise<number> {
    const pods = [...addresses()]
    const answers = await Promise.all(pods.map(([, ip]) => asks(`http://${ip}:${port}/ready`)))
    for (const [index, [pod]] of pods.entries()) {
      if (answers[index]) served.add(pod)
      else if (served.has(pod)) broken++
    }
    return answers.filter(Boolean).length
  }
  async function run() {
    let before = performance.now()
    while (!stopped) {
      const answering = await round()
      await sleep(EVERY)
      const now = performance.now()
      missing += Math.max(0, wanted - answering) * (now - before)
      before = now
    }
  }
  const running = run()
  return {
    async stop() {
      stopped = true
      await running
      return { missing: missing / 1000 / wanted, broken }
    },
  }
}

const asks = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 1000 }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })
