import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** What clients of a port saw meanwhile. */
export interface Seen {
  /** In seconds, for each pod there should be: nothing answered, whichever pod it was. */
  readonly missing: number
  /** Requests to a pod that had answered before, and that got no good answer. */
  readonly broken: number
}

/** How often each pod is asked, in ms. */
const EVERY = 50

/**
 * A client of each pod's port, on connections of its own.
 * @param addresses of the pods there are now; asked again and again
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
