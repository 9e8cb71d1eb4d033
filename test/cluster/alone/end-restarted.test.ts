import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { create, createNamespace, deleteNamespaces, kubectl, until } from '../cluster.ts'
import { hasImageVolumes } from '../kubernetes.ts'
import { type Container, getPods, markOf, pod, sidecar } from '../pod.ts'
import { startWebhook, type Webhook } from '../webhook.ts'

const script = join(import.meta.dirname, '../../../scripts/cluster')

// It kills the hooks that it had begun, and runs them once more.
const describeEnds = hasImageVolumes ? describe : () => {}
describeEnds('a daemon of the node that is restarted while a pod ends', () => {
  const namespace = 'end-restarted'
  const daemons = ['kubelet', 'containerd']
  let webhook: Webhook | undefined
  let folder = ''
  before(async () => {
    webhook = await startWebhook(namespace)
    await createNamespace(namespace, { test: namespace })
    folder = await mkdtemp(join(tmpdir(), 'sidecar-first-end-'))
    await create(
      ...daemons.map((daemon) =>
        pod(namespace, daemon, containers(daemon), {
          annotations: {
            'sidecar-first.dev/sidecars': 'proxy',
            'sidecar-first.dev/waiter': 'image-volume',
            'sidecar-first.dev/end': 'last',
          },
          spec: { terminationGracePeriodSeconds: 60, volumes: [{ name: 'out', hostPath: { path: folder } }] },
        }),
      ),
    )
    await kubectl('wait', '--for=condition=Ready', 'pods', '--all', '-n', namespace, '--timeout=120s')
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await rm(folder, { recursive: true, force: true })
    await webhook?.remove()
  })

  for (const daemon of daemons) {
    test(`${daemon}: no request is lost, and the sidecar ends after its app`, async (t) => {
      const from = Date.now()
      await kubectl('delete', 'pod', daemon, '-n', namespace, '--wait=false')
      await sleep(3000)
      await promisify(execFile)(script, ['restart', daemon])
      await until('it to be gone', async () => !(await getPods(namespace)).has(daemon) || undefined)
      t.diagnostic(`gone by ${Date.now() - from} ms after the deletion`)
      const log = (await Promise.all(['app', 'proxy'].map((name) => linesOf(`${daemon}-${name}`, name)))).flat()
      t.diagnostic(log.map(({ container, text }) => `${container}: ${text}`).join('\n'))
      assert.equal(markOf(log, 'app', 'failed'), 0)
      assert.ok(markOf(log, 'app', 'answered') > 0)
      assert.ok(markOf(log, 'app', 'ended') <= markOf(log, 'proxy', 'SIGTERM'))
    })
  }

  const linesOf = async (file: string, container: string) =>
    (await readFile(join(folder, file), 'utf8')).split('\n').map((text) => ({ container, at: 0, text }))
})

/** The kubelet's own way to their logs is cut. */
const containers = (daemon: string): Container[] =>
  [
    sidecar('app', { DRAIN: 'http://127.0.0.1:15021/ready 12s' }),
    sidecar('proxy', { HTTP: ':15021' }, { readinessProbe: { httpGet: { path: '/ready', port: 15_021 } } }),
  ].map((container) => ({
    ...container,
    image: 'docker.io/sidecar-first/test-shell:1',
    command: ['sh', '-c', `exec /entrypoint >/out/${daemon}-${container.name}`],
    volumeMounts: [{ name: 'out', mountPath: '/out' }],
  }))
