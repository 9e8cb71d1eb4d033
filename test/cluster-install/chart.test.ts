import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { uninstall } from '../../src/cli/uninstall.ts'
import { run } from '../cli/inside.ts'
import { createNamespace, kubectl } from '../cluster/cluster.ts'
import { kubernetesVersion } from '../cluster/kubernetes.ts'
import { chartFolder, helm } from '../shipped/helm.ts'
import { serveApi } from './api-service.ts'
import { configurations, installed, namespace, ordered } from './installation.ts'
import { startLoad } from './load.ts'
import { serveNames, serveService, type Target } from './services.ts'

const labelled = 'install-chart'
const inOrder = ['sidecar', 'app']
const ours = 'app.kubernetes.io/name=sidecar-first'
const release = ['sidecar-first', '--namespace', namespace]
/** The webhook's cluster IP, and where one of its replicas is. */
const served =
  '{.items[?(@.metadata.name=="sidecar-first")].spec.clusterIP} {.items[*].endpoints[0].addresses[0]} {.items[*].ports[0].port}'
const waits = ['--wait', '--timeout', '3m']

describe('the Helm chart', () => {
  const folder = chartFolder()
  const images = [
    '--set',
    `image=docker.io/sidecar-first/sidecar-first:0.1.0,waiterImage=docker.io/sidecar-first/waiter:0.1.0,kubernetesVersion=${kubernetesVersion}`,
  ]
  const upgrade = (...flags: string[]) => helm(['upgrade', ...release, ...waits, folder, ...images, ...flags].flat())
  before(async () => {
    await run(uninstall, '--crds')
    await createNamespace(labelled, { 'sidecar-first.dev/injection': 'enabled' })
  })
  after(() => rmSync(folder, { recursive: true }))

  test('installs, and says what is next', async () => {
    await serveApi()
    const notes = await helm(['install', ...release, '--create-namespace', ...waits, folder, ...images])
    assert.match(notes, /kubectl label namespace NAME sidecar-first\.dev\/injection=enabled/)
    await ordered(labelled, inOrder)
  })

  test("helm test's pod finds the webhook by the Service's name and has a pod patched; it fails where nobody answers", async () => {
    const [clusterIp = '', address = '', port = ''] = (
      await kubectl('get', 'service,endpointslices', '-n', namespace, '-o', `jsonpath=${served}`)
    ).split(' ')
    let target: Target | undefined
    await serveService(clusterIp, 443, () => target)
    await serveNames({ [`sidecar-first.${namespace}.svc.cluster.local`]: clusterIp })
    const tested = () => helm(['test', ...release, '--timeout', '3m'])
    await assert.rejects(tested(), /sidecar-first-test failed|pod sidecar-first-test/)
    target = { host: address, port: Number(port) }
    assert.match(await tested(), /^TEST SUITE:\s+sidecar-first-test$[\s\S]*^Phase:\s+Succeeded$/m)
  })

  test('no pod is refused or left as it is while it is upgraded and rolled back, and caBundle stays', async () => {
    await using load = await startLoad(labelled)
    await upgrade('--set', 'replicas=3')
    await helm(['rollback', ...release, ...waits])
    const { patched, unpatched, failures } = await load.stop(20)
    assert.deepEqual({ unpatched, failures }, { unpatched: 0, failures: [] })
    assert.ok(patched >= 20, `${patched} pods`)
  })

  test('a second release in another namespace is refused before anything changes', async () => {
    const second = ['install', 'second', '--namespace', 'other', '--create-namespace', folder, ...images]
    await assert.rejects(helm(second), /cannot be imported into the current release|exists/)
    await ordered(labelled, inOrder)
  })

  test('install takes it over, and the chart takes it back', async () => {
    await installed('--force')
    await ordered(labelled, inOrder)
    await upgrade('--take-ownership', '--force-conflicts')
    await ordered(labelled, inOrder)
  })

  test('uninstalls everything but the namespace', async () => {
    await helm(['uninstall', ...release, ...waits])
    const kinds = 'mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles,clusterrolebindings'
    assert.equal(await kubectl('get', kinds, '-l', ours, '-o', 'name'), '', configurations.join())
    assert.equal(
      await kubectl('get', 'deploy,svc,configmap,sa,role,networkpolicy', '-n', namespace, '-l', ours, '-o', 'name'),
      '',
    )
    await ordered(labelled, ['app', 'sidecar'])
    await kubectl('delete', 'namespace', namespace)
  })
})
