import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { create, createNamespace, deleteNamespaces, until } from '../cluster.ts'
import { hasLock } from '../kubernetes.ts'
import { app, firstRequest, getLog, getPod, pod, shared, sharedVolume, sidecar, statusOf } from '../pod.ts'
import { startWebhook, type Webhook } from '../webhook.ts'

const run = promisify(execFile)
const cluster = join(import.meta.dirname, '../../../scripts/cluster')

// Every container ends at once, with kubelet and containerd, and what memory volumes had is gone. The kubelet makes all anew, in order.
const describeLock = hasLock ? describe : () => {}
describeLock('a node that reboots', () => {
  const namespace = 'reboot'
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook(namespace)
    await createNamespace(namespace, { test: namespace })
    const gates = ['hook', 'native']
    await create(
      ...gates.flatMap((gate) => [held(`asleep-${gate}`, gate, 'NEVER_READY=1'), held(`runs-${gate}`, gate, '')]),
    )
    await until('an app to run, and an open to sleep, behind each gate', async () => {
      const isRunning = async (gate: string) => statusOf(await getPod(namespace, `runs-${gate}`), 'app')?.state.running
      const running = await Promise.all(gates.map(isRunning))
      const asleep = (await readFile('/proc/locks', 'utf8')).match(/LEASE +BREAKING/g) ?? []
      return (running.every(Boolean) && asleep.length >= gates.length) || undefined
    })
    await powerCut()
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  for (const name of ['asleep-hook', 'asleep-native', 'runs-hook', 'runs-native']) {
    test(`${name}: its app starts behind a sidecar that is ready`, async () => {
      const log = await until('the app to start after it', async () => {
        const status = statusOf(await getPod(namespace, name), 'app')
        if (!status?.state.running || status.restartCount !== (name.startsWith('runs') ? 1 : 0)) return undefined
        const lines = await getLog(namespace, name).catch(() => [])
        return lines.some(({ text }) => text.startsWith('first request')) ? lines : undefined
      })
      const said = log.filter(({ container }) => container === 'app').map(({ text }) => text)
      assert.ok(said.includes('first request succeeded'), said.join('\n'))
      assert.ok((statusOf(await getPod(namespace, name), 'sidecar')?.restartCount ?? 0) > 0)
    })
  }

  const held = (name: string, gate: string, first: string) =>
    pod(namespace, name, [app(firstRequest('http://127.0.0.1:15021/ready')), rebooted(first)], {
      annotations: {
        'sidecar-first.dev/sidecars': 'sidecar',
        'sidecar-first.dev/lock': 'on',
        'sidecar-first.dev/waiter': 'image-volume',
        'sidecar-first.dev/gate': gate,
      },
      spec: { volumes: [sharedVolume] },
    })
})

/** Its first run has these variables; the next ones are ready after 3 s. */
const rebooted = (first: string) => ({
  ...sidecar(
    'sidecar',
    { HTTP: ':15021' },
    { readinessProbe: { httpGet: { path: '/ready', port: 15_021 }, periodSeconds: 1 }, ...shared },
  ),
  image: 'docker.io/sidecar-first/test-shell:1',
  command: [
    'sh',
    '-c',
    `[ -e /shared/2 ] && READY_AFTER=3s exec /entrypoint; true >/shared/2; ${first} exec /entrypoint`,
  ],
})

/** Of the node's processes only those of the control plane survive, which would be on another machine. */
async function powerCut(): Promise<void> {
  const node = await readFile(join(dirname(process.env.KUBECONFIG ?? ''), 'pid'), 'utf8')
  const inNode = (...command: string[]) =>
    run('nsenter', ['--target', node.trim(), '--mount', '--pid', '--', ...command])
  await inNode('bash', '-c', kills)
  await run(cluster, ['restart', 'containerd'])
  // A kubelet ends where there is no containerd; nothing starts it again here.
  const ctr = join(dirname(process.env.KUBECONFIG ?? ''), 'bin/ctr')
  await until('containerd', () =>
    inNode(ctr, 'version').then(
      () => true,
      () => undefined,
    ),
  )
  await run(cluster, ['restart', 'kubelet'])
}
// The kubelet and containerd first, so that they see nothing of it.
const kills = `
each() { for p in /proc/[0-9]*; do case $(readlink $p/exe) in $1) kill -KILL "\${p#/proc/}" ;; esac; done; }
each '*/kubelet'; each '*/containerd'; each '*/containerd-shim-*'
for p in /proc/[0-9]*; do
  case $(readlink $p/exe) in */etcd | */kube-* | */bash | */sleep | '') ;; *) kill -KILL "\${p#/proc/}" ;; esac
done
while read -r _ path type _; do
  case $type$path in tmpfs*/pods/*/kubernetes.io~empty-dir/*) umount "$path" ;; esac
done </proc/mounts`
