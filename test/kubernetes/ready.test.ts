import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeConfig } from '@kubernetes/client-node'
import { run as certs } from '../../certs/run.ts'
import { run as rollouts } from '../../rollouts/controller/run.ts'
import type { Log } from '../../src/kubernetes/log.ts'
import { objectNames } from '../../src/kubernetes/names.ts'
import { SECOND, until } from '../until.ts'
import { fakeApiServer } from './fake-api-server.ts'

interface Common {
  readonly kubeconfig: KubeConfig
  readonly lease: number
  readonly log: Log
  readonly signal: AbortSignal
}
const lifetimes = { authority: 86_400_000, leaf: 3_600_000, settle: 1000 }
const namespace = 'sidecar-first'

for (const [name, start] of [
  [
    'certs',
    (common: Common) =>
      certs({ ...common, names: { ...objectNames, namespace, service: 'x' }, lifetimes, extraNames: [] }, 0),
  ],
  [
    'rollouts',
    (common: Common) => rollouts({ ...common, namespace, resync: 600_000, waiter: 'waiter', metricsPort: 0 }),
  ],
] as const) {
  test(`${name} run: ready once it has read its Lease, though it may never lead, and whatever comes then`, async () => {
    const stop = new AbortController()
    const found = Promise.withResolvers<number>()
    const failures: string[] = []
    const log: Log = {
      info: (fields: object) => void ('port' in fields && found.resolve(Number(fields.port))),
      warn: (_: object, message: string) => void failures.push(message),
    }
    // It holds nothing and stores nothing.
    let status = 403
    using server = await fakeApiServer(({ method }, response) => {
      response.writeHead(method === 'GET' ? status : 403, { 'Content-Type': 'application/json' })
      response.end('{"kind":"Status","message":"no","details":{"kind":"leases","name":"x"}}')
    })
    const over = start({ kubeconfig: server.kubeconfig, lease: 3000, log, signal: stop.signal })
    await using _ = {
      async [Symbol.asyncDispose]() {
        stop.abort()
        await over
      },
    }
    const url = `http://127.0.0.1:${await found.promise}`
    const probe = async (path: '/healthz' | '/readyz') => {
      const response = await fetch(`${url}${path}`)
      return { http: response.status, ...JSON.parse(await response.text()) }
    }
    await until('a refused call', 10 * SECOND, async () => failures.some((line) => line.includes('403')))
    const lacking = { http: 503, code: 'SF067', error: 'the Lease is not read yet; see the log', problems: [] }
    assert.deepEqual(await probe('/readyz'), lacking)
    assert.equal((await probe('/healthz')).http, 200)

    status = 404
    await until('readiness', 10 * SECOND, async () => (await probe('/readyz')).http === 200)

    failures.length = 0
    status = 500
    await until('a failed call', 10 * SECOND, async () => failures.some((line) => line.includes('500')))
    assert.deepEqual([(await probe('/readyz')).http, (await probe('/healthz')).http], [200, 200])
  })
}
