import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Namespace } from '@kubernetes/client-node'
import { examineOne } from '../../../src/check/pod/one.ts'
import { parseSubject } from '../../../src/check/pod/subject.ts'
import type { Installed } from '../../../src/check/site.ts'
import type { Objects } from '../../../src/kubernetes/objects.ts'
import { installation, shop } from '../cluster.ts'

const optIn = installation()
const bare = { kind: 'Configuration' }

/** What `check` says of a Deployment, `CODE text` and what to do. */
async function said(
  pod: { annotations?: object; containers: object[] },
  { home = shop, workloads = true }: { home?: V1Namespace; workloads?: boolean } = {},
): Promise<string> {
  const { annotations, containers } = pod
  const web = {
    metadata: { name: 'web', namespace: 'shop' },
    spec: { template: { metadata: { annotations }, spec: { containers } } },
  }
  const read = async ({ kind }: { kind?: string }) => (kind === 'Namespace' ? home : web)
  const ok = <T>(value: T) => ({ ok: true, value }) as const
  const installed = {
    configuration: ok({ text: bare, read: { ok: true, configuration: optIn.configuration } }),
    mutating: ok(optIn.mutating),
    validating: ok(optIn.validating),
    workloads: ok(workloads ? optIn.workloads : undefined),
  }
  const findings = await examineOne(
    {
      objects: { read, async *items() {} } as unknown as Objects,
      installed: installed as unknown as Installed,
      version: '1.0.0',
      now: () => 0,
    },
    { ...(parseSubject('deploy/web') ?? assert.fail()), namespace: 'shop' },
  )
  return findings.map(({ code, level, text, next = '' }) => `${level} ${code} ${text} -> ${next}\n`).join('')
}

const app = { name: 'app', image: 'app' }
const proxy = {
  name: 'istio-proxy',
  image: 'istio/proxyv2',
  readinessProbe: { httpGet: { path: '/healthz/ready', port: 15021 } },
}

describe('a workload that asks for nothing', () => {
  test('is told of a known sidecar for which nothing waits, as a scan tells it, and of the line', async () => {
    const text = await said({ containers: [app, proxy] })
    assert.match(text, /^warning SF901 app, then istio-proxy; nothing waits -> /m)
    assert.match(text, /pod template's annotations: sidecar-first\.dev\/sidecars: istio-proxy$/m)
  })

  test('is told nothing of a container that no preset knows, or that is waited for', async () => {
    assert.doesNotMatch(await said({ containers: [app, { name: 'x', image: 'x' }] }), /SF90/)
    const asks = { 'sidecar-first.dev/sidecars': 'istio-proxy' }
    assert.doesNotMatch(await said({ annotations: asks, containers: [app, proxy] }), /SF90/)
  })
})

describe('warnings about pods', () => {
  const annotations = { 'sidecar-first.dev/sidecars': 'x' }
  const containers = [app, { name: 'x', image: 'x' }]

  test('reach whoever applies a workload that names sidecars, by the webhook for workloads', async () => {
    assert.match(await said({ annotations, containers }), /SF204[\s\S]*SF626 whoever applies it is shown such warnings/)
  })

  test('do not where that webhook is missing, or does not see the namespace', async () => {
    const unseen = /SF204[\s\S]*SF626 whoever applies it isn't shown such warnings/
    assert.match(await said({ annotations, containers }, { workloads: false }), unseen)
    const home = { metadata: { name: 'shop', labels: {} } }
    assert.match(await said({ annotations, containers }, { home }), unseen)
  })
})
