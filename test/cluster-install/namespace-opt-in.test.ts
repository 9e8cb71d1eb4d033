import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readStatus } from '../../src/admission/pod/status.ts'
import { install } from '../../src/cli/install.ts'
import { type Ended, run } from '../cli/inside.ts'
import { create, createNamespace, deleteNamespaces, kubectl, quotaCounts, tryCreate } from '../cluster/cluster.ts'
import { hasImageVolumes, hasLock } from '../cluster/kubernetes.ts'
import { firstLineOf, getPod, logOf, markOf } from '../cluster/pod.ts'
import {
  configurations,
  installed,
  namespace,
  ordered,
  orderOf,
  sample,
  startServe,
  stopServe,
  tryOut,
} from './installation.ts'

const optedIn = { 'sidecar-first.dev/injection': 'enabled' }

describe('install --apply on a real node, failurePolicy Fail for labelled namespaces', () => {
  const labelled = 'install-labelled'
  const unlabelled = 'install-unlabelled'
  const strict = 'install-strict'
  let first: Ended
  before(async () => {
    first = await installed('--preview')
    await createNamespace(labelled, optedIn)
    await createNamespace(unlabelled)
    await createNamespace(strict, { ...optedIn, 'pod-security.kubernetes.io/enforce': 'restricted' })
  })
  after(() => deleteNamespaces(labelled, unlabelled, strict))

  test('ends when a pod has been patched, and leaves nothing of the trial behind', async () => {
    assert.match(first.stdout, /^deployment\/sidecar-first +ready$/m)
    assert.match(first.stdout, /^a pod tried out in sidecar-first-trial-\w+ +patched$/m)
    assert.match(
      first.stdout,
      /^the waiter's image +(docker\.io\/)?sidecar-first\/waiter:\S+ was already on the node .*, and runs$/m,
    )
    assert.equal(first.stderr, '')
    assert.match(
      first.stdout,
      hasImageVolumes
        ? /^the waiter comes by image-volume: every node can mount an image$/m
        : /^the waiter comes by init-container: the oldest kubelet is 1\.34$/m,
    )
    const namespaces = await kubectl(
      'get',
      'namespaces',
      '-o',
      'jsonpath={range .items[?(@.status.phase=="Active")]}{.metadata.name} {end}',
    )
    assert.doesNotMatch(namespaces, /trial/)
  })

  test('changes nothing the second time, nor the caBundle that certs keeps', async () => {
    const state = () =>
      kubectl(
        'get',
        ...configurations,
        '-o',
        'jsonpath={.items[*].metadata.resourceVersion} {.items[*].webhooks[*].clientConfig.caBundle}',
      )
    const before = await state()
    // Two configurations, of which one has six webhooks and the other five.
    assert.equal(before.split(' ').length, 2 + 6 + 5)
    const { stdout } = await installed('--preview', '--trial-namespace', labelled)
    assert.match(stdout, /^a pod tried out in install-labelled +patched$/m)
    assert.doesNotMatch(stdout, / (created|configured|removed)$/m)
    assert.equal(await state(), before)
  })

  test('starts the sidecar first in a labelled namespace, and has the app wait for it', async () => {
    const { code, stderr } = await tryCreate([sample(labelled)])
    assert.equal(code, 0, stderr)
    const log = await logOf(labelled, 'sample', 'app', 2)
    assert.ok(log.some(({ text }) => text === 'first request succeeded'))
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
    const { annotations } = (await getPod(labelled, 'sample')).metadata ?? {}
    assert.equal(
      readStatus(annotations?.['sidecar-first.dev/status']).lock,
      hasLock ? 'on' : undefined,
      'on where every node knows the lock, since the pod asks',
    )
  })

  test('leaves pods of other namespaces as they are: unlabelled, the system’s, its own', async () => {
    assert.deepEqual(await orderOf(unlabelled), ['app', 'sidecar'])
    await kubectl('label', 'namespace', 'kube-system', namespace, 'sidecar-first.dev/injection=enabled')
    assert.deepEqual(await orderOf('kube-system'), ['app', 'sidecar'])
    const own = await tryOut(namespace)
    assert.match(
      own.stderr,
      /violates PodSecurity "restricted/,
      'it was not sent to the webhook, but refused by its namespace',
    )
    await kubectl('label', 'namespace', 'kube-system', namespace, 'sidecar-first.dev/injection-')
  })

  test('keeps to PodSecurity "restricted", a LimitRange and a ResourceQuota, and the pod really starts', async () => {
    await create(...limitsOf(strict))
    await quotaCounts(strict, 'quota')
    const confined = {
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      resources: { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } },
    }
    const object = sample(strict, {
      spec: { securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } } },
    })
    const spec = object.spec as { containers: object[] }
    await create({
      ...object,
      spec: { ...spec, containers: spec.containers.map((each) => ({ ...each, ...confined })) },
    })
    const log = await logOf(strict, 'sample', 'app', 2)
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
    const [volume] =
      (await getPod(strict, 'sample')).spec.volumes?.filter(({ name }) => name === 'sidecar-first-waiter') ?? []
    assert.ok(volume)
    assert.equal('image' in volume, hasImageVolumes, 'the delivery that install chose')
  })

  test('keeps a pod from starting unseen while all replicas are gone, but not its own replicas', async () => {
    await stopServe()
    const { code, stderr } = await tryOut(labelled)
    assert.equal(code, 1)
    assert.match(stderr, /failed calling webhook/)
    assert.deepEqual(await orderOf(unlabelled), ['app', 'sidecar'])
    const metrics = await kubectl('get', '--raw', '/metrics')
    assert.match(
      metrics,
      /^apiserver_admission_webhook_rejection_count\{error_type="calling_webhook_error",name="pods\.sidecar-first\.dev"/m,
    )
    await startServe()
    await ordered(labelled, ['sidecar', 'app']) // the API server hears of the new replicas a moment later
  })

  test('gives serve the leaf and its key alone, no token, and nothing to write to', async () => {
    const script = `
      const fs = require('node:fs')
      const entries = (path) => { try { return fs.readdirSync(path).filter((name) => !name.startsWith('..')) } catch ({ code }) { return code } }
      const write = (path) => { try { fs.writeFileSync(path, ''); return 'written' } catch ({ code }) { return code } }
      console.log(JSON.stringify({
        certificate: entries('/etc/sidecar-first/certificate'),
        secrets: entries('/var/run/secrets'),
        writes: ['/tmp', '/opt/sidecar-first', '/etc/sidecar-first/certificate'].map((folder) => write(folder + '/x')),
      }))`
    const output = await kubectl('exec', '-n', namespace, 'deploy/sidecar-first', '--', '/usr/bin/node', '-e', script)
    const { certificate, secrets, writes } = JSON.parse(output)
    assert.deepEqual(certificate, ['tls.crt', 'tls.key'])
    assert.equal(secrets, 'ENOENT')
    assert.ok(!writes.includes('written'), output)
  })

  test('previews in a pod of its own, with a certificate made in memory', async () => {
    const ask = `
      const options = { method: 'POST', rejectUnauthorized: false, headers: { 'content-type': 'application/json' } }
      const request = require('node:https').request('https://127.0.0.1:8443/preview', options, (answer) => answer.pipe(process.stdout))
      request.end(process.argv[1])`
    const input = JSON.stringify(sample('anywhere'))
    const program = ['/usr/bin/node', '-e', ask, input]
    const output = await kubectl('exec', '-n', namespace, 'deploy/sidecar-first-preview', '--', ...program)
    assert.equal(JSON.parse(output).results[0].verdict, 'patched', output)
  })

  test('says that nodes can’t pull the waiter, and doesn’t go back to the standard image unasked', async () => {
    const image = '127.0.0.1:1/waiter:1'
    const { stdout, stderr } = await installed('--preview', '--waiter-image', image)
    assert.match(stdout, /^the waiter's image +in doubt$/m)
    assert.match(
      stderr,
      /can't run 127\.0\.0\.1:1\/waiter:1: Err.*refused.*\n.*with a --waiter-image that your nodes can pull/,
    )
    const again = await run(install, '--apply', '--preview')
    assert.deepEqual([again.code, again.stderr.includes(`--waiter-image ${image}`)], [1, true])
    await installed('--preview', '--force')
  })
})

/** What two containers of 50m and 32Mi ask for, exactly: no more would fit. */
const limitsOf = (namespace: string) => [
  {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'limits', namespace },
    spec: {
      limits: [{ type: 'Container', min: { cpu: '50m', memory: '32Mi' }, max: { cpu: '200m', memory: '128Mi' } }],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'quota', namespace },
    spec: { hard: { pods: '1', 'requests.cpu': '100m', 'requests.memory': '64Mi', 'limits.memory': '128Mi' } },
  },
]
