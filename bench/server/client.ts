// Generates the load, in a separate process: `connections` keep-alive connections, each sending one request after the other.
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { realisticReview, type Variety, varieties } from './review.ts'

export interface Load {
  readonly url: string
  readonly variety: Variety
  readonly connections: number
  readonly requests: number
}

const made = new Map<Variety, readonly Buffer[]>()
/** The bodies, as many as there are requests but for those that are all the same. */
function bodiesOf(variety: Variety, requests: number): readonly Buffer[] {
  const known = made.get(variety)
  if (known) return known
  const length = variety === 'same' ? 1 : requests
  const bodies = Array.from({ length }, (_, index) => Buffer.from(realisticReview(varieties[variety](index))))
  made.set(variety, bodies)
  return bodies
}

process.on('message', async ({ url, variety, connections, requests }: Load) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, rejectUnauthorized: false })
  const bodies = bodiesOf(variety, requests)
  const milliseconds: number[] = []
  async function one(bytes: Buffer = Buffer.alloc(0)): Promise<void> {
    const headers = { 'content-type': 'application/json', 'content-length': bytes.length }
    const start = performance.now()
    const outgoing = request(url, { method: 'POST', agent, headers })
    outgoing.end(bytes)
    const [response] = await once(outgoing, 'response')
    await buffer(response)
    if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
    milliseconds.push(performance.now() - start)
  }
  let left = requests
  async function connection(): Promise<void> {
    while (left > 0) await one(bodies[left-- % bodies.length])
  }
  await Promise.all(Array.from({ length: connections }, connection))
  agent.destroy()
  process.send?.(milliseconds)
})
