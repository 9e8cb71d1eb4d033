import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { install } from '../../src/cli/install.ts'
import { uninstall } from '../../src/cli/uninstall.ts'
import { run } from '../cli/inside.ts'
import { createNamespace, kubectl } from '../cluster/cluster.ts'
import { configurations, installed, namespace, orderOf, rolledOut } from './installation.ts'

const overlay = join(import.meta.dirname, '../../manifests/overlays/namespace-opt-in')
const ours = 'app.kubernetes.io/name=sidecar-first'

describe('uninstall, and what comes after', () => {
  const labelled = 'install-last'
  const moved = 'install-moved'
  before(async () => {
    await installed('--rollouts', '--starts', '--mode', 'namespace-opt-in')
    await createNamespace(labelled, { 'sidecar-first.dev/injection': 'enabled' })
  })

  test('moves to another namespace, and leaves nothing in the last one', async () => {
    const { stdout } = await installed('--rollouts', '--starts', '--namespace', moved)
    assert.match(stdout, /^namespace\/sidecar-first +removed/m)
    assert.deepEqual(await orderOf(labelled), ['sidecar', 'app'])
  })

  test('says with --dry-run what it would remove, and removes nothing', async () => {
    const { code, stdout } = await run(uninstall, '--dry-run')
    assert.equal(code, 0)
    const order = [...configurations, 'clusterrole/sidecar-first-certs', `namespace/${moved}, with all that is in it`]
    const places = order.map((each) => stdout.indexOf(`  remove  ${each}\n`))
    assert.ok(!places.includes(-1), stdout)
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    )
    assert.match(stdout, /^ {2}keep {4}customresourcedefinition\/sidecarrollouts/m)
    assert.deepEqual(await orderOf(labelled), ['sidecar', 'app'])
  })

  test('removes everything, what calls the pods before the pods, and says who stays labelled', async () => {
    const { code, stdout } = await run(uninstall)
    assert.equal(code, 0)
    const order = [...configurations, 'clusterrole/sidecar-first-certs', `namespace/${moved}`]
    const places = order.map((each) => stdout.search(new RegExp(`^${each} +removed$`, 'm')))
    assert.ok(!places.includes(-1), stdout)
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    )
    assert.match(stdout, /^customresourcedefinition\/sidecarrollouts\.sidecar-first\.dev +stays, .*--crds/m)
    assert.match(stdout, /keep the label sidecar-first\.dev\/injection: .*install-last/)
    const kinds =
      'mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles,clusterrolebindings,namespaces'
    assert.equal(await kubectl('get', kinds, '-l', ours, '-o', 'name'), '')
    assert.deepEqual(await orderOf(labelled), ['app', 'sidecar'])
  })

  test('takes the kind of the rollouts away where that is asked for, and is done at once where nothing is', async () => {
    assert.match((await run(uninstall, '--crds')).stdout, /^customresourcedefinition\/\S+ +removed$/m)
    const { code, stdout } = await run(uninstall)
    assert.deepEqual([code, /sidecar-first is not installed/.test(stdout)], [0, true])
  })

  test('comes back by kubectl apply -k, and install takes it over with --force', async () => {
    await kubectl('apply', '--warnings-as-errors', '-k', overlay)
    await rolledOut('sidecar-first')
    const refused = await run(install, '--apply', '--replicas', '3')
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /conflict with "kubectl-client-side-apply".*\n.*--force/s)
    await installed('--force')
    assert.deepEqual(await orderOf(labelled), ['sidecar', 'app'])
  })

  test('keeps a namespace that others use', async () => {
    await kubectl('create', 'configmap', '-n', namespace, 'theirs')
    const { code } = await run(uninstall, '--keep-namespace')
    assert.equal(code, 0)
    const left = await kubectl(
      'get',
      'all,configmap,secret,lease,role,rolebinding,sa,networkpolicy,quota',
      '-n',
      namespace,
      '-o',
      'name',
    )
    assert.deepEqual(left.trim().split('\n').toSorted(), [
      'configmap/kube-root-ca.crt',
      'configmap/theirs',
      'serviceaccount/default',
    ])
  })
})
