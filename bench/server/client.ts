// The load, in a process of its own: `connections` kept connections, each sending one request after the other.
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { buffer } from 'node:stream/consumers'

export interface Load {
  readonly url: string
  readonly body: string
  readonly connections: number
  readonly requests: number
}

process.on('message', async ({ url, body, connections, requests }: Load) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, rejectUnauthorized: false })
  const bytes = Buffer.from(body)
  const headers = { 'content-type': 'application/json', 'content-length': bytes.length }
  const milliseconds: number[] = []
  async function one(): Promise<void> {
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
    while (left-- > 0) await one()
  }
  await Promise.all(Array.from({ length: connections }, connection))
  agent.destroy()
  process.send?.(milliseconds)
})
