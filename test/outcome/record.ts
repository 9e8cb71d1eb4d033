import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { create, createNamespace, deleteNamespaces, type KubernetesObject, kubectl, until } from '../cluster/cluster.ts'
import { app, type Container, getPods, type LivePod, pod, sidecar, statusOf } from '../cluster/pod.ts'
import { startWebhook } from '../cluster/webhook.ts'

// Records, on a real node, how pods of every case look to whoever asks the API server: test/cluster/prepared node test/outcome/record.ts
// Each becomes a file in recorded/: `{now, pod, events, node}`, without the fields that nobody reads.

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const folder = join(import.meta.dirname, 'recorded')
const [asked, plain] = ['record', 'record-plain']

const ready = (port = 15_021) => ({ httpGet: { path: '/ready', port } })
const probed = { readinessProbe: ready() }
const one = (env: Record<string, string> = {}, more: Record<string, unknown> = {}) =>
  sidecar('sidecar', { HTTP: ':15021', ...env }, { ...probed, ...more })
const never = one({ NEVER_READY: '1' })
const absent = one({}, { image: 'docker.io/sidecar-first/test-absent:1' })
const shared = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] }
const volumes = [{ name: 'shared', emptyDir: {} }]
/** Ends with an error until it has run so often. */
const crashes = (times: number) =>
  one(
    {},
    {
      image: 'docker.io/sidecar-first/test-shell:1',
      command: [
        'sh',
        '-c',
        `echo >>/shared/runs; [ $(grep -c '' /shared/runs) -gt ${times} ] || { sleep 0.5; exit 1; }; exec /entrypoint`,
      ],
      ...shared,
    },
  )
const annotations = (more: Record<string, string> = {}) => ({
  'sidecar-first.dev/sidecars': 'sidecar',
  'sidecar-first.dev/timeout': '10m',
  ...more,
})
const native = { 'sidecar-first.dev/gate': 'native' }
const soon = { 'sidecar-first.dev/timeout': '2s' }
const on = (name: string, containers: readonly Container[], more: Record<string, string> = {}, spec: object = {}) =>
  pod(asked, name, containers, { annotations: annotations(more), spec: { ...spec } })

const running =
  (...names: readonly string[]) =>
  (live: LivePod) =>
    names.every((name) => statusOf(live, name)?.state.running !== undefined)
const readyNow =
  (...names: readonly string[]) =>
  (live: LivePod) =>
    names.every((name) => (statusOf(live, name) as { ready?: boolean } | undefined)?.ready)
const waits = (name: string, reason: RegExp) => (live: LivePod) =>
  reason.test(statusOf(live, name)?.state.waiting?.reason ?? '')
const both =
  (...all: readonly ((live: LivePod) => boolean)[]) =>
  (live: LivePod) =>
    all.every((holds) => holds(live))
const crashLoop = (name = 'sidecar') => waits(name, /^CrashLoopBackOff$/)

/** By hand, and nobody mounts its volume: nothing can open it. */
const lock = { name: 'sidecar-first-lock', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }
const locked = {
  name: 'SIDECAR_FIRST_READY_1',
  valueFrom: { fileKeyRef: { volumeName: lock.name, path: 'ready-1', key: 'SIDECAR_FIRST_READY_1' } },
}
const lockOn = { 'sidecar-first.dev/lock': 'on' }
const shell = one({ READY_AFTER: '2s' }, { image: 'docker.io/sidecar-first/test-shell:1' })
const often = (env: Record<string, string>, more: Record<string, unknown> = {}) =>
  one(env, { readinessProbe: { ...ready(), periodSeconds: 1 }, ...more })
const script = (what: string) =>
  often({}, { image: 'docker.io/sidecar-first/test-shell:1', command: ['sh', '-c', what], ...shared })
/** It ends once, as soon as that is true; it isn't any more when it starts again. */
const ends = (when: string) =>
  app(`[ -e /shared/again ] && exec sleep 3600; true >/shared/again; until ${when}; do sleep 0.1; done; exit 1`, shared)
/** Its second run never gets ready. */
const twice = script(
  '[ -e /shared/2 ] && NEVER_READY=1 exec /entrypoint; /entrypoint & sleep 4; true >/shared/2; kill -9 $!; exit 1',
)
/** It runs on, and isn't ready any more. */
const falls = script('/entrypoint & sleep 4; kill -9 $!; sleep 2; true >/shared/fallen; exec sleep 3600')
const missing = { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'missing', key: 'token' } } }

interface Case {
  readonly object: KubernetesObject
  /** What is recorded: the pod as soon as this holds. */
  readonly when: (live: LivePod) => boolean
  /** And so much later, in ms: the hook of a pod that waits shows in no status. */
  readonly later?: number
}

const cases: readonly Case[] = [
  {
    object: pod(
      asked,
      'held',
      [
        app(),
        sidecar('three', { HTTP: ':15023', READY_AFTER: '500ms' }, { readinessProbe: ready(15_023) }),
        sidecar('two', { HTTP: ':15022', READY_AFTER: '1500ms' }, { readinessProbe: ready(15_022) }),
        sidecar('one', { HTTP: ':15021', READY_AFTER: '1s' }, { readinessProbe: ready() }),
      ],
      {
        annotations: { 'sidecar-first.dev/sidecars': 'one + two, three' },
        spec: { initContainers: [{ ...app('sleep 0.3'), name: 'setup' }] },
      },
    ),
    when: readyNow('app', 'one', 'two', 'three'),
  },
  { object: on('native', [app(), one({ READY_AFTER: '2s' })], native), when: readyNow('app', 'sidecar') },
  {
    object: on(
      'native-startup',
      [app()],
      {},
      {
        initContainers: [
          one(
            { READY_AFTER: '2s' },
            { restartPolicy: 'Always', startupProbe: { ...ready(), periodSeconds: 2 }, lifecycle: undefined },
          ),
        ],
      },
    ),
    when: readyNow('app', 'sidecar'),
  },
  { object: on('native-crashed-first', [app(), crashes(2)], native, { volumes }), when: readyNow('app', 'sidecar') },
  { object: on('waiting', [app(), never]), when: () => true, later: 6000 },
  { object: on('native-waiting', [app(), never], native), when: () => true, later: 6000 },
  { object: on('timed-out', [app(), never], soon), when: both(running('app'), crashLoop()) },
  {
    object: on('timed-out-never', [app(), never], soon, { restartPolicy: 'Never' }),
    when: (live) => running('app')(live) && statusOf(live, 'sidecar')?.state.terminated !== undefined,
  },
  {
    object: on('continued', [app(), never], { ...soon, 'sidecar-first.dev/on-timeout': 'continue' }),
    when: running('app', 'sidecar'),
  },
  {
    object: on('continued-in-time', [app(), one({ READY_AFTER: '1s' })], {
      'sidecar-first.dev/on-timeout': 'continue',
    }),
    when: readyNow('app', 'sidecar'),
  },
  { object: on('crashed-once', [app(), crashes(1)], {}, { volumes }), when: readyNow('app', 'sidecar') },
  {
    object: on('crash-loop', [app(), one({ NEVER_READY: '1', EXIT_AFTER: '500ms' })]),
    when: both(running('app'), crashLoop()),
  },
  {
    object: pod(
      asked,
      'crashed-in-tier',
      [
        app(),
        sidecar('dies', { EXIT_AFTER: '500ms', HTTP: ':15031', NEVER_READY: '1' }),
        sidecar('innocent', { HTTP: ':15032' }),
      ],
      {
        annotations: annotations({
          'sidecar-first.dev/sidecars': 'dies + innocent',
          'check.sidecar-first.dev/dies': 'http://:15031/ready',
          'check.sidecar-first.dev/innocent': 'http://:15032/ready',
          'sidecar-first.dev/timeout': '3s',
        }),
      },
    ),
    when: both(running('app'), crashLoop('dies')),
  },
  { object: on('image', [app(), absent]), when: both(running('app'), waits('sidecar', /^ErrImageNeverPull$/)) },
  { object: on('native-image', [app(), absent], native), when: waits('sidecar', /^ErrImageNeverPull$/) },
  { object: on('start-failed', [app(), one({}, { command: ['/missing'] })]), when: both(running('app'), crashLoop()) },
  {
    object: on('native-crash-loop', [app(), never], { ...native, ...soon }),
    when: (live) =>
      (statusOf(live, 'sidecar')?.restartCount ?? 0) >= 2 && statusOf(live, 'sidecar')?.state.running === undefined,
  },
  { object: on('crash-loop-later', [app(), one({ EXIT_AFTER: '3s' })]), when: both(running('app'), crashLoop()) },
  {
    object: on(
      'own-hook',
      [app(), one({ READY_AFTER: '1s' }, { lifecycle: { postStart: { exec: { command: ['/entrypoint', 'wait'] } } } })],
      { 'sidecar-first.dev/existing-hook': 'keep' },
    ),
    when: readyNow('app', 'sidecar'),
  },
  {
    object: on('not-waited-for', [app(), one({ READY_AFTER: '1s' })], { 'check.sidecar-first.dev/sidecar': 'none' }),
    when: readyNow('app', 'sidecar'),
  },
  {
    object: pod(plain, 'unpatched', [app(), one({ READY_AFTER: '1s' })], { annotations: annotations() }),
    when: readyNow('app', 'sidecar'),
  },
  {
    object: pod(plain, 'unpatched-image', [app(), absent], { annotations: annotations() }),
    when: both(running('app'), waits('sidecar', /^ErrImageNeverPull$/)),
  },
  { object: pod(plain, 'no-sidecars', [app()]), when: readyNow('app') },
  // A kubelet that sleeps on the lock; one whose sidecar's probe fails meanwhile; at a later start, until its sidecar is ready again, and no longer
  // than lock-restarts says.
  { object: on('leased-asleep', [app(), never], lockOn), when: () => true, later: 15_000 },
  {
    object: on('leased-native', [app(), often({ READY_AFTER: '5s' })], { ...lockOn, ...native }),
    when: readyNow('app', 'sidecar'),
  },
  {
    object: on('leased-again', [ends('[ -e /shared/2 ]'), twice], lockOn, { volumes }),
    when: both(
      running('sidecar'),
      waits('app', /^CreateContainerConfigError$/),
      (live) => statusOf(live, 'sidecar')?.restartCount === 1,
    ),
    later: 12_000,
  },
  {
    object: on('leased-went-on', [ends('[ -e /shared/fallen ]'), falls], lockOn, { volumes }),
    when: (live) => running('app')(live) && statusOf(live, 'app')?.restartCount === 1,
    later: 5000,
  },
  // After a round.
  {
    object: on('locked', [app(), never], lockOn),
    when: both(running('sidecar'), waits('app', /^CreateContainerConfigError$/)),
  },
  { object: on('unlocked', [app(), one({ READY_AFTER: '2s' })], lockOn), when: readyNow('app', 'sidecar') },
  {
    object: on('unlocked-shell', [app(), shell], { ...lockOn, 'sidecar-first.dev/waiter': 'shell' }),
    when: readyNow('app', 'sidecar'),
  },
  { object: on('unlocked-after-crash', [app(), crashes(1)], lockOn, { volumes }), when: readyNow('app', 'sidecar') },
  {
    object: on('locked-crash-loop', [app(), one({ NEVER_READY: '1', EXIT_AFTER: '500ms' })], lockOn),
    when: both(crashLoop(), waits('app', /^CreateContainerConfigError$/)),
  },
  {
    object: on('locked-own-error', [app(undefined, { env: [missing] }), one()], lockOn),
    when: both(running('sidecar'), waits('app', /^CreateContainerConfigError$/)),
  },
  {
    object: pod(plain, 'lock-unmounted', [one(), app(undefined, { env: [locked] })], {
      annotations: annotations(),
      spec: { volumes: [lock] },
    }),
    when: both(running('sidecar'), waits('app', /^CreateContainerConfigError$/)),
  },
]

/** In mid-hook when the kubelet is restarted. */
const restarted = ['kubelet-restarted', 'kubelet-restarted-native', 'kubelet-restarted-startup'].map((name) =>
  on(
    name,
    [app(), name.endsWith('startup') ? { ...never, startupProbe: { ...ready(), failureThreshold: 60 } } : never],
    name === 'kubelet-restarted' ? {} : native,
  ),
)

async function record({ object: { metadata }, when, later = 0 }: Case): Promise<void> {
  const { name, namespace = '' } = metadata
  await until(`${name} to be as it shall be recorded`, async () => {
    const live = (await getPods(namespace)).get(name)
    return live && when(live) ? live : undefined
  })
  // Events and the last change of a status are written a little later.
  await sleep(1000 + later)
  const found = JSON.parse(await kubectl('get', 'pod', '-n', namespace, name, '-o', 'json'))
  const list = async (where: string, selector: string) =>
    JSON.parse(await kubectl('get', 'events', '-n', where, '-o', 'json', `--field-selector=${selector}`)).items
  const events = await list(namespace, `involvedObject.uid=${found.metadata.uid}`)
  const node = await list(
    'default',
    `involvedObject.kind=Node,involvedObject.name=${found.spec.nodeName},reason=Starting`,
  )
  const recorded = {
    now: new Date().toISOString(),
    pod: slimPod(found),
    events: events.map(slimEvent),
    node: node.map(slimEvent),
  }
  await writeFile(join(folder, `${name}.json`), `${lined(recorded)}\n`)
  console.log(name)
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the API server answers
type Answer = any
const pick = (from: Answer, ...keys: readonly string[]) =>
  Object.fromEntries(keys.flatMap((key) => (from?.[key] === undefined || from[key] === null ? [] : [[key, from[key]]])))
const slimContainer = (container: Answer) => ({
  ...pick(container, 'name', 'image', 'restartPolicy', 'lifecycle', 'startupProbe', 'readinessProbe'),
  ...(container.env?.some(({ valueFrom }: Answer) => valueFrom) && {
    env: container.env.filter(({ valueFrom }: Answer) => valueFrom),
  }),
})
const slimState = (state: Answer) =>
  Object.fromEntries(
    Object.entries(state).map(([key, value]: Answer) => [
      key,
      pick(value, 'reason', 'message', 'exitCode', 'startedAt', 'finishedAt'),
    ]),
  )
const slimStatus = (status: Answer) => ({
  ...pick(status, 'name', 'ready', 'started', 'restartCount'),
  state: slimState(status.state),
  lastState: slimState(status.lastState),
})
function slimPod({ metadata, spec, status }: Answer) {
  const lists = (from: Answer, slim: (each: Answer) => object, ...keys: readonly string[]) =>
    Object.fromEntries(keys.flatMap((key) => (from[key] ? [[key, from[key].map(slim)]] : [])))
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: pick(metadata, 'name', 'namespace', 'uid', 'creationTimestamp', 'annotations'),
    spec: { ...pick(spec, 'restartPolicy', 'nodeName'), ...lists(spec, slimContainer, 'initContainers', 'containers') },
    status: {
      ...pick(status, 'phase', 'startTime'),
      conditions: status.conditions.map((each: Answer) => pick(each, 'type', 'status', 'lastTransitionTime')),
      ...lists(status, slimStatus, 'initContainerStatuses', 'containerStatuses'),
    },
  }
}
const slimEvent = (event: Answer) => ({
  ...pick(event, 'reason', 'message', 'type', 'count', 'firstTimestamp', 'lastTimestamp', 'eventTime'),
  involvedObject: pick(event.involvedObject, 'kind', 'fieldPath'),
  source: pick(event.source, 'component'),
  ...pick(event, 'reportingComponent'),
  metadata: pick(event.metadata, 'name'),
})

/** JSON to read: what is in a list takes a line each, so that a container's status, or an event, is one. */
function lined(value: Answer, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map((each) => JSON.stringify(each))
    : Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${lined(each, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return lines.length === 0 ? `${open}${close}` : `${open}\n${inner}${lines.join(`,\n${inner}`)}\n${indent}${close}`
}

const webhook = await startWebhook('record')
try {
  await mkdir(folder, { recursive: true })
  await createNamespace(asked, { test: 'record' })
  await createNamespace(plain)
  const wanted = process.argv.slice(2)
  const some = cases.filter(({ object }) => wanted.length === 0 || wanted.includes(object.metadata.name))
  // A few at a time, so that a busy node leaves their times as they would be.
  for (let at = 0; at < some.length; at += 6) {
    const now = some.slice(at, at + 6)
    await create(...now.map(({ object }) => object))
    await Promise.all(now.map(record))
    await Promise.all(
      now.map(({ object: { metadata } }) =>
        kubectl('delete', 'pod', '-n', metadata.namespace ?? '', metadata.name, '--force', '--wait=false'),
      ),
    )
  }
  if (wanted.length === 0 || wanted.includes('kubelet-restarted')) {
    await create(...restarted)
    await sleep(14_000) // a startupProbe of a container that is older than 10 s may be taken for passed
    await run(join(root, 'scripts/cluster'), ['restart', 'kubelet'])
    for (const object of restarted) {
      // A kubelet that sees the probe's worker first leaves this one waiting.
      const when = object.metadata.name.endsWith('startup') ? () => true : running('app')
      await record({ object, when, later: 8000 })
    }
  }
} finally {
  await deleteNamespaces(asked, plain)
  await webhook.remove()
}
