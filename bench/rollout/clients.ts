import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** The interval between requests to a pod, in ms. */
const EVERY = 50

/**
 * Starts a client for each pod's port, with its own connections.
 * @param addresses returns the addresses of the current pods; called repeatedly
 * @param wanted how many pods should answer at any time
 * @returns what stops them, and gives the seconds without an answer, per pod that should be there, whichever pod was missing
 */
export function startClients(port: number, addresses: () => Iterable<string>, wanted: number): () => Promise<number> {
  let stopped = false
  let missing = 0
  async function run() {
    let before = performance.now()
    while (!stopped) {
      const answers = await Promise.all([...addresses()].map((ip) => asks(`http://${ip}:${port}/ready`)))
      await sleep(EVERY)
      const now = performance.now()
      missing += Math.max(0, wanted - answers.filter(Boolean).length) * (now - before)
      before = now
    }
  }
  const running = run()
  return async () => {
    stopped = true
    await running
    return missing / 1000 / wanted
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
