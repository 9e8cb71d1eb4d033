/**
 * Pods whose sidecars die at random moments of a start: whether any app's first creation was let through while a sidecar was gone. By
 * hand, as it takes minutes: test/cluster/prepared node test/cluster/moments.ts [PODS]
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockVolume } from '../../src/admission/hook/lock-names.ts'
import { create, createNamespace, deleteNamespaces, kubectl } from './cluster.ts'
import { app, type Container, getPods, pod, shared, sharedVolume, sidecar, statusOf } from './pod.ts'
import { startSlowRegistry } from './slow-registry.ts'
import { startWebhook } from './webhook.ts'

const count = Number(process.argv[2] ?? 100)
const atOnce = 20
const namespace = 'moments'
const between = (least: number, most: number) => Math.round((least + Math.random() * (most - least)) * 10) / 10

/** `new` names the file that a run makes when it is ready, and `died` makes one when it has ended. */
const prelude =
  'new() { read u _ </proc/uptime; export FILE=/shared/up.$N.$u; }; died() { true >/shared/down.$N.$u; }; again() { [ -e /shared/$N ] || ! true >/shared/$N; }'
const run = 'new; /entrypoint'
const behaviours: (() => string)[] = [
  () => {
    const ready = between(0, 3)
    return `again && export READY_AFTER=${between(0, 4)}s || export READY_AFTER=${ready}s EXIT_AFTER=${between(ready + 1, ready + 8)}s; ${run}; died`
  },
  () =>
    `export READY_AFTER=${between(0, 2)}s; ${run} & sleep ${between(3, 8)}; kill -9 $!; new; died; sleep ${between(2, 8)}; ${run}`,
  () => `export READY_AFTER=${between(0, 9)}s; ${run}`,
  () => `again && exit 1; export READY_AFTER=${between(0, 2)}s EXIT_AFTER=${between(3, 8)}s; ${run}; died`,
]
const restless = (index: number, which: number): Container => {
  const port = 15_021 + index
  const probe = { readinessProbe: { httpGet: { path: '/ready', port }, periodSeconds: 1 } }
  const N = `s${index}`
  return {
    ...sidecar(N, { HTTP: `:${port}`, N }, { ...probe, ...shared }),
    image: 'docker.io/sidecar-first/test-shell:1',
    command: ['sh', '-c', `${prelude}; ${behaviours[which % behaviours.length]?.()}; exit 1`],
  }
}

/** A file of a pod's volumes: its name, and when it was written. */
type Mark = { name: string; at: number }
/** The pods' volumes, as the node has them. */
const node = readFileSync(join(dirname(process.env.KUBECONFIG ?? ''), 'pid'), 'utf8').trim()
const pods = `/proc/${node}/root/var/lib/kubelet/pods`
const filesOf = (uid: string, volume: string): string[] => {
  const folder = join(pods, uid, 'volumes/kubernetes.io~empty-dir', volume)
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}
const marksOf = (files: readonly string[]): Mark[] =>
  files.flatMap((file) => {
    const at = statSync(file, { throwIfNoEntry: false })?.mtimeMs
    return at === undefined ? [] : [{ name: file.slice(file.lastIndexOf('/') + 1), at }]
  })

/** When the latest tier was last seen to answer, by the pod's uid. */
const answered = new Map<string, number>()
function look(uids: readonly string[]): void {
  for (const uid of uids) {
    const [latest] = filesOf(uid, lockVolume)
      .filter((file) => /why-\d+$/.test(file))
      .toSorted()
      .reverse()
    try {
      if (latest && readFileSync(latest, 'utf8').startsWith('asked and answered')) {
        answered.set(uid, statSync(latest).mtimeMs)
      }
    } catch {} // it has just been replaced
  }
}

/** How long a sidecar had been gone, in ms, when the app's creation was let through; what it does afterwards doesn't count. */
function goneFor(uid: string, name: string): number {
  const at = answered.get(uid) ?? Number.NaN
  const marks = marksOf(filesOf(uid, 'shared'))
    // It writes that it is ready a moment after it has become so.
    .filter((mark) => mark.name.includes(`.${name}.`) && mark.at <= at + (mark.name.startsWith('up') ? 200 : 0))
    .toSorted((one, other) => one.at - other.at)
  const last = marks.at(-1)
  if (last === undefined) return Number.POSITIVE_INFINITY // it was never ready
  return last.name.startsWith('down') ? at - last.at : 0
}

/** What there is to judge by. */
const told = (uid: string) => ({
  answered: answered.get(uid),
  marks: marksOf(filesOf(uid, 'shared')),
  why: filesOf(uid, lockVolume).map((file) => (file.includes('why') ? readFileSync(file, 'utf8') : '')),
})

const webhook = await startWebhook(namespace)
const registry = await startSlowRegistry()
try {
  await createNamespace(namespace, { test: namespace })
  let started = 0
  const gone: number[] = []
  for (let from = 0; from < count; from += atOnce) {
    const names = Array.from({ length: Math.min(atOnce, count - from) }, (_, index) => `p-${from + index}`)
    const made = names.map((name, index) => {
      const sidecars = [0, 1]
        .slice(0, index % 3 === 0 ? 2 : 1)
        .map((tier) => restless(tier, Math.floor(index / 2) + tier))
      const pulled = index % 5 === 0 ? {} : { image: registry.image(1 + (index % 9), name), imagePullPolicy: 'Always' }
      return pod(namespace, name, [app('exec sleep 3600', pulled), ...sidecars], {
        annotations: {
          'sidecar-first.dev/sidecars': sidecars.map((each) => each.name).join(', '),
          'sidecar-first.dev/lock': 'on',
          'sidecar-first.dev/waiter': 'image-volume',
          'sidecar-first.dev/gate': index % 2 ? 'native' : 'hook',
        },
        spec: { volumes: [sharedVolume] },
      })
    })
    await create(...made)
    const { items } = JSON.parse(await kubectl('get', 'pods', '-n', namespace, '-o', 'json'))
    const uids = new Map<string, string>(
      items.map(({ metadata }: { metadata: { name: string; uid: string } }) => [metadata.name, metadata.uid]),
    )
    const judged = new Set<string>()
    const looking = setInterval(
      () => look(names.filter((name) => !judged.has(name)).map((name) => uids.get(name) ?? '')),
      20,
    )
    const end = Date.now() + 45_000
    for (; Date.now() < end; await sleep(500)) {
      for (const [name, live] of await getPods(namespace)) {
        if (!names.includes(name) || judged.has(name) || !statusOf(live, 'app')?.state.running) continue
        judged.add(name)
        started += 1
        for (const tier of ['s0', 's1'].filter((each) => statusOf(live, each))) {
          const ms = goneFor(uids.get(name) ?? '', tier)
          if (ms > 0) console.log(`${name}: ${tier} was gone for ${ms} ms`, told(uids.get(name) ?? ''))
          gone.push(ms)
        }
      }
    }
    clearInterval(looking)
    console.log(
      `${from + names.length} pods: ${started} apps created, behind ${gone.length} sidecars, of which ${gone.filter((ms) => ms > 0).length} were gone`,
    )
    await kubectl('delete', 'pods', '--all', '-n', namespace, '--force', '--grace-period=0', '--wait=false')
  }
} finally {
  await deleteNamespaces(namespace)
  await webhook.remove()
  await registry[Symbol.asyncDispose]()
}
