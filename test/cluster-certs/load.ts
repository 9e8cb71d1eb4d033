import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { Cluster } from '../../certs/cluster.ts'
import type { ApiServer } from '../apiserver/apiserver.ts'
import { dnsNames, PORT } from './fixture.ts'

interface Tally {
  calls: number
  /** Refused, or through without our patch. */
  readonly failures: string[]
}

export interface Load {
  readonly pods: Tally
  readonly handshakes: Tally
  stop(): Promise<void>
}

const pod = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'sample', annotations: { 'sidecar-first.dev/sidecars': 'proxy' } },
  spec: {
    containers: [
      { name: 'app', image: 'app:1' },
      { name: 'proxy', image: 'proxy:1', readinessProbe: { httpGet: { path: '/ready', port: 15021 } } },
    ],
  },
})

/**
 * Pods created (dry run) as fast as one client can; and beside it the slowest API server there may be, a stand-in: it has each
 * caBundle `settle` late, and makes a new connection for every call.
 */
export function startLoad(
  api: ApiServer,
  cluster: Cluster,
  { hosts, settle }: { hosts: readonly string[]; settle: number },
): Load {
  const stop = new AbortController()
  const pods: Tally = { calls: 0, failures: [] }
  const handshakes: Tally = { calls: 0, failures: [] }
  const tasks = [
    createPods(api, pods, stop.signal),
    shakeHands(cluster, handshakes, { hosts, settle, signal: stop.signal }),
  ]
  return {
    pods,
    handshakes,
    async stop() {
      stop.abort()
      await Promise.all(tasks)
    },
  }
}

async function createPods(api: ApiServer, tally: Tally, signal: AbortSignal) {
  const agent = new Agent({ keepAlive: true, ca: api.ca })
  const headers = { authorization: 'Bearer admin-token', 'content-type': 'application/json' }
  while (!signal.aborted) {
    const sent = request(`${api.url}/api/v1/namespaces/default/pods?dryRun=All`, { method: 'POST', agent, headers })
    sent.end(pod)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    let body = ''
    for await (const chunk of answer.setEncoding('utf8')) body += chunk
    tally.calls++
    const [first] = answer.statusCode === 201 ? JSON.parse(body).spec.containers : []
    if (answer.statusCode !== 201) note(tally, body.slice(0, 300))
    else if (first.name !== 'proxy' || !first.lifecycle) note(tally, 'a pod came through unpatched')
  }
  agent.destroy()
}

async function shakeHands(
  cluster: Cluster,
  tally: Tally,
  { hosts, settle, signal }: { hosts: readonly string[]; settle: number; signal: AbortSignal },
) {
  // Each since when it wasn't there yet: the stand-in is never later than that, however slow the machine.
  const seen: { at: number; ca: string }[] = []
  let looked = performance.now()
  while (!signal.aborted) {
    const looking = performance.now()
    const [mutating] = await cluster.readConfigurations()
    const ca = mutating?.bundles[0] ?? ''
    if (seen.at(-1)?.ca !== ca) seen.push({ at: looked, ca })
    looked = looking
    for (const host of hosts) {
      const now = performance.now()
      const late = seen.findLast(({ at }) => at <= now - settle) ?? seen[0]
      const client = connect({ host, port: PORT, servername: dnsNames[0] ?? '', ca: late?.ca ?? '' })
      try {
        await once(client, 'secureConnect')
      } catch (error) {
        if (!signal.aborted) note(tally, `${host}: ${error instanceof Error ? error.message : error}`)
      }
      client.destroy()
      tally.calls++
    }
    await sleep(50)
  }
}

const note = ({ failures }: Tally, what: string) => void failures.push(what)
