// Creates pods, in a separate process: `connections` keep-alive connections, each sending one create after the other.
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'

export interface Creates {
  readonly url: string
  readonly token: string
  readonly body: string
  readonly connections: number
  readonly pods: number
}

export interface Created {
  /** The time of each successful create. */
  readonly milliseconds: readonly number[]
  /** The time of all creates together. */
  readonly elapsed: number
  /** The errors of the failed creates, with how often each occurred. */
  readonly failures: Readonly<Record<string, number>>
}

let agent: Agent | undefined

process.on('message', async ({ url, token, body, connections, pods }: Creates) => {
  // Kept open between turns, as a controller keeps its connections.
  if (agent?.options.maxSockets !== connections) {
    agent?.destroy()
    agent = new Agent({ keepAlive: true, maxSockets: connections, rejectUnauthorized: false })
  }
  const bytes = Buffer.from(body)
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': bytes.length,
  }
  const milliseconds: number[] = []
  const failures: Record<string, number> = {}
  async function one(): Promise<void> {
    const start = performance.now()
    const outgoing = request(url, { method: 'POST', agent, headers })
    outgoing.end(bytes)
    const [response] = await once(outgoing, 'response')
    const answer = await text(response)
    if (response.statusCode === 201) milliseconds.push(performance.now() - start)
    else {
      const reason = `${response.statusCode} ${JSON.parse(answer).message}`
      failures[reason] = (failures[reason] ?? 0) + 1
    }
  }
  let left = pods
  async function connection(): Promise<void> {
    while (left-- > 0) await one()
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: connections }, connection))
  process.send?.({ milliseconds, elapsed: performance.now() - start, failures } satisfies Created)
})
