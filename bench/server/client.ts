// Generates the load, in a separate process: `connections` keep-alive connections, each sending one request after the other.
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { realisticReview, type Variety, varieties } from './review.ts'

export interface Load {
  readonly url: string
  /** Always the same, or reviews of such pods. */
  readonly body: string | { readonly variety: Variety }
  readonly token?: string
  readonly connections: number
  readonly requests: number
}

export interface Loaded {
  /** The time of each request that succeeded. */
  readonly milliseconds: readonly number[]
  /** The time of all requests together. */
  readonly elapsed: number
  /** The errors of those that failed, with how often each occurred. */
  readonly failures: Readonly<Record<string, number>>
}

const made = new Map<Variety, readonly Buffer[]>()
/** The bodies, as many as there are requests but for those that are all the same. */
function bodiesOf({ body, requests }: Load): readonly Buffer[] {
  if (typeof body === 'string') return [Buffer.from(body)]
  const { variety } = body
  const length = variety === 'same' ? 1 : requests
  const review = (_: unknown, index: number) => Buffer.from(realisticReview(varieties[variety](index)))
  const bodies = made.get(variety) ?? Array.from({ length }, review)
  made.set(variety, bodies)
  return bodies
}

let agent = new Agent()

process.on('message', async (load: Load) => {
  const { url, token, connections, requests } = load
  // Kept open between turns, as a controller keeps its connections.
  if (agent.options.maxSockets !== connections) {
    agent.destroy()
    agent = new Agent({ keepAlive: true, maxSockets: connections, rejectUnauthorized: false })
  }
  const bodies = bodiesOf(load)
  const milliseconds: number[] = []
  const failures: Record<string, number> = {}
  async function one(bytes: Buffer = Buffer.alloc(0)): Promise<void> {
    const start = performance.now()
    const outgoing = request(url, {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        'content-length': bytes.length,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    })
    outgoing.end(bytes)
    const [response] = await once(outgoing, 'response')
    const answer = await text(response)
    if (response.statusCode < 300) milliseconds.push(performance.now() - start)
    else {
      const reason = `${response.statusCode} ${answer}`
      failures[reason] = (failures[reason] ?? 0) + 1
    }
  }
  let left = requests
  async function connection(): Promise<void> {
    while (left-- > 0) await one(bodies[left % bodies.length])
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: connections }, connection))
  process.send?.({ milliseconds, elapsed: performance.now() - start, failures } satisfies Loaded)
})
