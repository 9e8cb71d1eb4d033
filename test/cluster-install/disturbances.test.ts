import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { certs } from '../../src/cli/certs.ts'
import { install } from '../../src/cli/install.ts'
import { run } from '../cli/inside.ts'
import { createNamespace, deleteNamespaces, kubectl, until } from '../cluster/cluster.ts'
import { hurry, installed, namespace, ordered, restart, rolledOut, stopCerts } from './installation.ts'
import { startLoad } from './load.ts'

describe('an installation that is disturbed', () => {
  const labelled = 'install-load'
  before(async () => {
    await installed('--mode', 'namespace-opt-in') // the tests before may have left the other
    await createNamespace(labelled, { 'sidecar-first.dev/injection': 'enabled' })
  })
  after(async () => {
    await installed('--force') // certs' flags, which kubectl has set meanwhile
    await deleteNamespaces(labelled)
  })

  test('is upgraded and rolled anew while pods are created, and none fails or goes by', async () => {
    await using load = await startLoad(labelled)
    const { stdout } = await installed('--image-pull-secret', 'none')
    assert.match(stdout, /^deployment\/sidecar-first +configured$/m)
    await kubectl('rollout', 'restart', '-n', namespace, 'deploy/sidecar-first')
    await rolledOut('sidecar-first')
    const { patched, unpatched, failures } = await load.stop(100)
    assert.deepEqual([unpatched, failures], [0, []])
    assert.ok(patched >= 100, `${patched} pods`)
  })

  test('an image that can’t be pulled: says which pod, ends with 1, and the old replicas go on', async () => {
    await using load = await startLoad(labelled)
    const { code, stdout, stderr } = await run(
      install,
      '--apply',
      '--image',
      'registry.invalid/sf:1',
      '--timeout',
      '15s',
    )
    assert.equal(code, 1, stdout)
    assert.match(
      stderr,
      /^sidecar-first install: SF010 deployment\/sidecar-first-certs: .*sidecar-first-certs-\S+: (ErrImagePull|ImagePullBackOff): .*registry\.invalid/,
    )
    await installed()
    assert.deepEqual((await load.stop(1)).failures, [])
  })

  test('one replica is killed: what fails is a moment’s, and succeeds when it is tried again', async (test) => {
    await using load = await startLoad(labelled)
    const replicas = async (): Promise<Replica[]> => {
      const pods = await kubectl(
        'get',
        'pods',
        '-n',
        namespace,
        '-l',
        'app.kubernetes.io/component=serve',
        '-o',
        'json',
      )
      return JSON.parse(pods).items
    }
    const ready = ({ metadata, status }: Replica) =>
      metadata.deletionTimestamp === undefined && status.containerStatuses?.[0].ready === true
    const first = (await replicas()).find(ready)
    assert.ok(first)
    await kill(first)
    const restarts = ({ status }: Replica) => status.containerStatuses?.[0].restartCount ?? 0
    await until('its container to run again', async () => {
      const found = (await replicas()).find(({ metadata }) => metadata.name === first.metadata.name)
      return found && ready(found) && restarts(found) > restarts(first) ? true : undefined
    })
    await ordered(labelled, ['sidecar', 'app'])
    const { patched, unpatched, failures } = await load.stop((failed) => 10 * failed + 1)
    test.diagnostic(`${failures.length} of ${patched + failures.length} creations failed`)
    assert.equal(unpatched, 0, 'under Fail none goes by')
    assert.ok(patched > 10 * failures.length, `${failures.length} of ${patched}: ${failures[0]}`)
  })

  test('the CA is replaced while pods are created, by certs with its own rights, and none fails', async () => {
    await kubectl('patch', 'deploy', '-n', namespace, 'sidecar-first-certs', '--type=json', '-p', settleSoon)
    await rolledOut('sidecar-first-certs')
    await using load = await startLoad(labelled)
    const authority = () =>
      kubectl('get', 'secret', '-n', namespace, 'sidecar-first', '-o', 'jsonpath={.data.ca\\.crt}')
    const old = await authority()
    assert.equal((await run(certs, 'rotate', 'ca')).code, 0)
    await until('the new CA to sign', async () => ((await authority()) === old ? undefined : true), 120_000)
    await hurry()
    const served = async () => {
      const { code, stdout } = await run(certs, 'status', '--via', 'port-forward')
      return code === 0 && stdout.match(/the Secret's leaf/g)?.length === 2 ? true : undefined
    }
    await until('both replicas to serve its leaf', served, 180_000)
    const { patched, unpatched, failures } = await load.stop(100)
    assert.deepEqual([unpatched, failures], [0, []])
    assert.ok(patched >= 100, `${patched} pods`)
  })

  test('says through the port-forward that all is well, and 1 when it is not', async () => {
    await stopCerts()
    const wipe = JSON.stringify([{ op: 'remove', path: '/webhooks/0/clientConfig/caBundle' }])
    await kubectl('patch', 'validatingwebhookconfiguration', 'sidecar-first', '--type=json', '-p', wipe)
    const broken = await run(certs, 'status', '--via', 'port-forward')
    assert.equal(broken.code, 1, broken.stdout + broken.stderr)
    assert.match(broken.stdout, /serves a leaf that not every caBundle covers/)
    await kubectl('scale', '-n', namespace, 'deploy/sidecar-first-certs', '--replicas=1')
    await until('certs to mend it', async () =>
      (await run(certs, 'status', '--via', 'port-forward')).code === 0 ? true : undefined,
    )
  })

  test('the node goes down with all pods of the webhook, and they come back by themselves', async () => {
    await kubectl('delete', 'pods', '-n', namespace, '--all', '--grace-period=0', '--force', '--wait=false')
    await restart('etcd', 'containerd', 'apiserver', 'controller-manager', 'scheduler')
    await restart('kubelet')
    const up = () => rolledOut('sidecar-first').catch(() => undefined)
    await until('the Deployment', up, 240_000)
    await ordered(labelled, ['sidecar', 'app'])
  })
})

interface Replica {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
  readonly status: {
    readonly containerStatuses?: readonly [{ containerID: string; ready: boolean; restartCount: number }]
  }
}

/** SIGKILL, as the kernel does it for want of memory. The containers' processes are this machine's. */
async function kill({ status }: Replica): Promise<void> {
  const [, id] = /^containerd:\/\/([0-9a-f]{64})$/.exec(status.containerStatuses?.[0].containerID ?? '') ?? []
  assert.ok(id, 'never by an empty name')
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  for (const pid of pids) {
    const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
    if (!cgroup.includes(id)) continue
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {} // it has ended with another one
  }
}

const settleSoon = JSON.stringify([
  { op: 'add', path: '/spec/template/spec/containers/0/args/-', value: '--settle=10s' },
])
