/**
 * Measures on a real node the time from "sidecar ready" to the app's first line, and from `kubectl create` to that line, for
 * sidecar-first and its alternatives, in turns within one run. Raw runs: bench/results/start.json
 *
 *   npm run bench:start -- [ROUNDS] [ROWS]   ROWS: only those whose name matches this, such as startupProbe
 */
import { create, createNamespace, deleteNamespaces, kubectl, until } from '../test/cluster/cluster.ts'
import {
  app,
  type Container,
  firstLineOf,
  getPod,
  type Line,
  logOf,
  markOf,
  type PodOptions,
  pod,
  shared,
  sharedVolume,
  sidecar,
  statusOf,
} from '../test/cluster/pod.ts'
import { startSlowRegistry } from '../test/cluster/slow-registry.ts'
import { startWebhook } from '../test/cluster/webhook.ts'
import { keep, median, rounded } from './figures.ts'

const rounds = Number(process.argv[2] ?? 7)
const only = process.argv[3] ?? ''
const wanted = (row: string): boolean => new RegExp(only).test(row)
const readyAfter = 300

/** One way to hold the app back. */
interface Variant {
  readonly containers: readonly Container[]
  readonly options?: PodOptions | undefined
  /** The sidecars' names, to find out when the last of them was ready. */
  readonly sidecars?: readonly string[]
  /** It takes so long that three runs must do. */
  readonly slow?: boolean
  /** With `lock: {lease: off}`. */
  readonly unleased?: boolean
  /** The app's second start is measured, too. */
  readonly again?: boolean
}
interface Run {
  /** All in milliseconds. */
  readonly gap: number
  readonly total: number
  /** From the first sidecar's process to the app's first line. */
  readonly sinceFirst: number
  /** From the app's end to the first line of its second start. */
  readonly again?: number
}

const probe = { httpGet: { path: '/ready', port: 15021 } }
const late = (more: Record<string, unknown> = {}, name = 'late', port = 15_021, ms = readyAfter): Container =>
  sidecar(name, { READY_AFTER: `${ms}ms`, HTTP: `:${port}` }, more)
const shellImage = { image: 'docker.io/sidecar-first/test-shell:1' }
const imageVolume = { 'sidecar-first.dev/waiter': 'image-volume' }
const nativeGate = { 'sidecar-first.dev/gate': 'native', ...imageVolume }
const ours = (more: Record<string, string> = {}): PodOptions => ({
  annotations: {
    'sidecar-first.dev/sidecars': 'late',
    'check.sidecar-first.dev/late': 'http://:15021/ready',
    ...more,
  },
})
const native = (container: Container): PodOptions => ({
  spec: { initContainers: [{ ...container, restartPolicy: 'Always' }] },
})

/** What Istio's own waiter (`pilot-agent wait`) does: sleep first, then ask every 500 ms. */
const sleepsFirst = {
  ...shellImage,
  lifecycle: {
    postStart: {
      exec: { command: ['sh', '-c', 'until sleep 0.5; wget -q -O /dev/null http://127.0.0.1:15021/ready; do :; done'] },
    },
  },
}

/** Those of the lock come after them. */
const unlocked: Record<string, Variant> = {
  'not held back': { containers: [late(), app()] },
  'ours, init container': { containers: [app(), late()], options: ours() },
  'ours, image volume': { containers: [app(), late()], options: ours(imageVolume) },
  'ours, shell': { containers: [app(), late(shellImage)], options: ours({ 'sidecar-first.dev/waiter': 'shell' }) },
  '500 ms waiter that sleeps first': { containers: [late(sleepsFirst), app()] },
  'native sidecar, startupProbe 1 s': {
    containers: [app()],
    options: native(late({ startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 60 } })),
  },
  'ours, native, image volume': { containers: [app(), late()], options: ours(nativeGate) },
}

/** A native sidecar with a startupProbe of 10 s: as it is, and as ours makes it. */
const slowProbe = { startupProbe: { ...probe, periodSeconds: 10, failureThreshold: 60 } }
for (const choice of ['keep', 'eager', 'hook']) {
  const asked = ours({ ...nativeGate, 'sidecar-first.dev/startup-probe': choice })
  unlocked[`ours, startupProbe 10 s, in place, ${choice}`] = {
    containers: [app()],
    options: { ...asked, ...native(late(slowProbe)) },
  }
  unlocked[`ours, startupProbe 10 s, moves in, ${choice}`] = { containers: [app(), late(slowProbe)], options: asked }
}
const rows: Record<string, Variant> = {}
for (const [row, variant] of Object.entries(unlocked)) {
  rows[row] = variant
  // Each with the lock right after the same without it.
  if (/^ours, (init|image|shell|native|startupProbe.*, eager)/.test(row)) rows[`${row}, lock`] = withLock(variant)
}
// The hook is handed over after 30 s: then the kubelet learns from the readinessProbe that the sidecar is ready.
for (const way of ['init container', 'image volume', 'shell', 'native, image volume']) {
  const { options } = unlocked[`ours, ${way}`] ?? {}
  const more = { readinessProbe: { ...probe, periodSeconds: 1 }, ...(way === 'shell' && shellImage) }
  const containers = [app(), late(more, 'late', 15_021, 35_000)]
  rows[`ours, ${way}, lock, ready after 35 s`] = { ...withLock({ containers, options }), slow: true }
}

function withLock({ containers, options }: Variant): Variant {
  const annotations = { ...options?.annotations, 'sidecar-first.dev/lock': 'on' }
  return { containers, options: { ...options, annotations } }
}

// What ours did before: the hook and the probe wait for the same.
rows['native sidecar, startupProbe 1 s and a hook'] = {
  containers: [app()],
  options: {
    ...ours({ ...imageVolume, 'check.sidecar-first.dev/late': 'http://127.0.0.1:15021/ready' }),
    ...native(late({ startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 60 } })),
  },
}

const tiers = [1, 2, 4, 8].flatMap((count) =>
  ['hook', 'native'].map((gate) => ({ count, gate, row: `tier of ${count}, 1 s each, ${gate}` })),
)
for (const { count, gate, row } of tiers) rows[row] = tier(count, gate)

function tier(count: number, gate: string): Variant {
  const names = Array.from({ length: count }, (_, index) => `late-${index}`)
  const port = (index: number) => 15_021 + index
  const checks = names.map((name, index) => [`check.sidecar-first.dev/${name}`, `http://:${port(index)}/ready`])
  return {
    sidecars: names,
    containers: [app(), ...names.map((name, index) => late({}, name, port(index), 1000))],
    options: {
      annotations: {
        'sidecar-first.dev/sidecars': names.join('+'),
        'sidecar-first.dev/gate': gate,
        ...imageVolume,
        ...Object.fromEntries(checks),
      },
    },
  }
}

// The lock with its lease and without, each behind a sidecar that has a probe, without which there is no lease.
const probed = { readinessProbe: { ...probe, periodSeconds: 1 } }
const endsOnce = app(
  'date; [ -e /shared/again ] && exec sleep 3600; true >/shared/again; sleep 3; echo ends; exit 1',
  shared,
)
const gates = { hook: imageVolume, native: nativeGate }
for (const [gate, annotations] of Object.entries(gates)) {
  const locked = withLock({ containers: [endsOnce, late(probed)], options: ours(annotations) })
  const leased = { ...locked, options: { ...locked.options, spec: { volumes: [sharedVolume] } }, again: true }
  rows[`lease, ${gate}`] = leased
  rows[`lease, ${gate}, off`] = { ...leased, unleased: true }
}

// A node that has to pull the app's image first.
const pull = 8
const registry = await startSlowRegistry()
const coldApp = app(undefined, { image: registry.image(pull, 'cold'), imagePullPolicy: 'Always' })
const cold = [5, 12].flatMap((seconds) => {
  const containers = [coldApp, late(probed, 'late', 15_021, seconds * 1000)]
  const startupProbe = { startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 60 } }
  const variants: Record<string, Variant> = {
    'not held back': { containers: containers.toReversed() },
    hook: { containers, options: ours(imageVolume) },
    'hook, lock without lease': { ...withLock({ containers, options: ours(imageVolume) }), unleased: true },
    'hook, lock': withLock({ containers, options: ours(imageVolume) }),
    native: { containers, options: ours(nativeGate) },
    'native, lock': withLock({ containers, options: ours(nativeGate) }),
    'native sidecar, startupProbe 1 s': {
      containers: [coldApp],
      options: native(late(startupProbe, 'late', 15_021, seconds * 1000)),
    },
  }
  return Object.entries(variants).map(([way, variant]) => ({ seconds, way, variant, row: coldRow(seconds, way) }))
})
function coldRow(seconds: number, way: string): string {
  return `cold, ready after ${seconds} s, ${way}`
}
for (const { row, variant } of cold) rows[row] = { ...variant, slow: true }

const namespaces = { leased: 'bench-start', unleased: 'bench-start-unleased' }

async function measure(name: string, variant: Variant): Promise<Run> {
  const { containers, options, sidecars = ['late'] } = variant
  const namespace = variant.unleased ? namespaces.unleased : namespaces.leased
  const from = Date.now()
  await create(pod(namespace, name, containers, options))
  await logOf(namespace, name)
  let log: Line[] = []
  // If it isn't held back, the app writes before the sidecars are ready.
  for (const sidecarName of sidecars) log = await logOf(namespace, name, sidecarName, 2)
  const first = firstLineOf(log)
  const marks = (mark: string) => sidecars.map((sidecarName) => markOf(log, sidecarName, mark))
  const again = variant.again ? { again: await secondStart(namespace, name) } : {}
  await kubectl('delete', 'pod', name, '-n', namespace, '--wait=true')
  return {
    gap: first - Math.max(...marks('ready')),
    total: first - from,
    sinceFirst: first - Math.min(...marks('started')),
    ...again,
  }
}

async function secondStart(namespace: string, name: string): Promise<number> {
  await until(`${name} to start again`, async () => {
    const { restartCount, state } = statusOf(await getPod(namespace, name), 'app') ?? {}
    return (restartCount === 1 && state?.running) || undefined
  })
  const lines = (...flags: string[]) => kubectl('logs', name, '-n', namespace, '-c', 'app', '--timestamps', ...flags)
  const at = (line: string | undefined) => Date.parse(line?.split(' ')[0] ?? '')
  const [first] = (await lines()).split('\n')
  return at(first) - at((await lines('--previous')).trim().split('\n').at(-1))
}

const runs: Record<string, Run[]> = Object.fromEntries(Object.keys(rows).map((row) => [row, []]))
const webhooks = [await startWebhook(namespaces.leased), await startWebhook(namespaces.unleased, { lease: 'off' })]
try {
  for (const name of Object.values(namespaces)) await createNamespace(name, { test: name })
  // The first round warms the caches and isn't counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, [row, variant]] of Object.entries(rows).entries()) {
      if (!wanted(row) || (variant.slow && (round === 0 || round > 3))) continue
      const run = await measure(`p-${round}-${index}`, variant)
      if (round > 0) runs[row]?.push(run)
    }
    process.stderr.write(`round ${round} of ${rounds}\n`)
  }
} finally {
  await deleteNamespaces(...Object.values(namespaces))
  for (const webhook of webhooks) await webhook.remove()
  await registry[Symbol.asyncDispose]()
}

const of = (row: string, figure: keyof Run): number => median((runs[row] ?? []).map((run) => run[figure] ?? Number.NaN))
/** A container's own create and start: how long after the sidecar's process an app starts that isn't held back. */
const floor = of('not held back', 'sinceFirst')
const istio = of('500 ms waiter that sleeps first', 'gap')
const table = Object.keys(rows).filter((row) => !/^(tier|lease|cold)/.test(row) && wanted(row))
console.log(
  `\nmedians of ${rounds} pods a row; the sidecar is ready ${readyAfter} ms after its start; floor: ${floor} ms`,
)
console.table(
  table.map((row) => {
    const gap = of(row, 'gap')
    const held = row !== 'not held back'
    return {
      row,
      'gap, ms': gap,
      'gap : floor': held ? rounded(gap / floor) : '',
      '500 ms waiter : gap': held ? rounded(istio / gap) : '',
      'total, ms': of(row, 'total'),
      'locked : not': row.endsWith(', lock') ? rounded(gap / of(row.replace(/, lock$/, ''), 'gap')) : '',
    }
  }),
)
console.log(
  'tiers: from the first sidecar’s start to the app, as a ratio to the slowest sidecar (1 s) plus the containers’ own starts',
)
console.table(
  tiers.map(({ count, row }) => {
    const took = of(row, 'sinceFirst')
    return { row, ms: took, ratio: rounded(took / (1000 + count * floor)) }
  }),
)
const ratio = (row: string, figure: keyof Run): number => rounded(of(row, figure) / of(`${row}, off`, figure))
console.log('the lock with its lease, as a ratio to the same without')
console.table(
  Object.keys(gates)
    .filter((gate) => wanted(`lease, ${gate}`))
    .map((gate) => ({
      gate,
      'ready → app, ms': of(`lease, ${gate}`, 'gap'),
      'ready → app': ratio(`lease, ${gate}`, 'gap'),
      'end → app again, ms': of(`lease, ${gate}`, 'again'),
      'end → app again': ratio(`lease, ${gate}`, 'again'),
    })),
)
console.log(
  `a cold node: from the sidecar’s start to the app, as a ratio to the maximum and to the sum of a pull of ${pull} s and the sidecar’s time, with a container’s own start`,
)
console.table(
  cold
    .filter(({ row }) => wanted(row))
    .map(({ seconds, way, row }) => {
      const took = of(row, 'sinceFirst')
      // An app that isn't held back has just been pulled and started.
      const pulled = of(coldRow(seconds, 'not held back'), 'sinceFirst')
      const start = pulled - pull * 1000
      const [most, sum] = [Math.max(pulled, seconds * 1000 + start), pulled + seconds * 1000]
      return {
        ready: seconds,
        way,
        ms: took,
        'maximum, ms': most,
        'sum, ms': sum,
        ': maximum': rounded(took / most),
        ': sum': rounded(took / sum),
      }
    }),
)
keep(only === '' ? 'start' : 'start-some', { rounds, readyAfter, floor, runs })
