import fc from 'fast-check'
import type { Json } from '../../../src/admission/words/json.ts'
import { presetNames, presetOf, type Rule, type Rules } from './rules.ts'
import { type Fields, own, type Pod, ready, sidecars, type Trick, tricks, volume } from './tricks.ts'

/** Random rules of every kind together, and pods of authors who try everything. */
const any = <T>(...values: readonly T[]) => fc.constantFrom(...values)
const maybe = <T>(weight: number, ...values: readonly T[]) =>
  fc.oneof({ weight: 10 - weight, arbitrary: fc.constant(undefined) }, { weight, arbitrary: any(...values) })

/** Without keys that have no value, as a parsed file. */
function compact<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T
}

const match: fc.Arbitrary<Rule['match']> = fc.oneof(
  { weight: 6, arbitrary: any(...sidecars, 'app', 'helper').map((container) => ({ container })) },
  { weight: 4, arbitrary: any(...presetNames).map((preset) => ({ preset })) },
  { weight: 1, arbitrary: any('*', '*-proxy', 'e*').map((container) => ({ container })) },
  { weight: 1, arbitrary: any('*/envoy', 'example/s:*', '*/kuma-sidecar:1').map((image) => ({ image })) },
  { weight: 1, arbitrary: any('envoy', 's').map((container) => ({ container, image: `*/${container}` })) },
)
const selector = maybe(2, { matchLabels: { mesh: 'on' } })

const rule: fc.Arbitrary<Omit<Rule, 'name'>> = fc
  .record({
    match: fc.tuple(match, selector).map(([what, podSelector]) => compact({ ...what, podSelector })),
    tier: any(-5, 1, 1, 5, 10, 20, 30),
    check: maybe(
      3,
      'none',
      'probe',
      'probe:readiness',
      'http://:15021/healthz/ready',
      'tcp://:9',
      'exec:["true"]',
      'hook:["/w","x"]',
    ),
    timeout: maybe(2, '30s', '5m'),
    onTimeout: maybe(2, 'fail', 'continue'),
    gate: maybe(4, 'hook', 'native', 'native', 'auto'),
    nativePosition: maybe(4, 'first', 'last'),
    existingHook: maybe(2, 'chain', 'keep', 'refuse'),
    startupProbe: maybe(1, 'keep', 'eager', 'hook'),
    lock: maybe(6, 'on', 'on', 'off', 'auto'),
    lockRestarts: maybe(4, '0s', '1s500ms', '30s', 'always'),
    end: maybe(4, 'last', 'last', 'together'),
    endAppear: maybe(1, '2s'),
    enforce: maybe<boolean | 'audit'>(7, true, true, true, true, true, true, false, 'audit'),
    exempt: maybe(1, ['team/w*'], ['team/other', 'else/web']),
    allowNatives: maybe(
      4,
      ['native'],
      ['helper', 'native-app'],
      ['istio-proxy', 'linkerd-proxy', 'kuma-sidecar'],
      ['sidecar-first-waiter'],
    ),
  })
  .map((each) => {
    // Nothing would be locked by these together.
    const { lock, existingHook, check, ...rest } = each
    const isOpen = existingHook === 'keep' || check === 'none'
    return compact({ ...rest, existingHook, check, lock: isOpen && lock === 'on' ? undefined : lock }) as Omit<
      Rule,
      'name'
    >
  })

export const rules: fc.Arbitrary<Rules> = fc
  .record({
    kubernetesVersion: maybe(8, '1.36', '1.36', '1.34'),
    waiter: maybe(3, { delivery: 'shell' }, { delivery: 'image-volume' }, { mirrors: ['mirror/*/waiter'] }),
    enforced: maybe(
      2,
      { inFront: [{ container: '*-proxy', image: 'example/*' }] },
      { inFront: [{ container: 'istio-proxy', image: '*/proxyv2' }] },
    ),
    lock: maybe<NonNullable<Rules['lock']>>(2, { lease: 'off' }, { lease: 'on' }),
    invalid: maybe(1, 'warn', 'refuse'),
    defaults: maybe(
      2,
      { gate: 'native' },
      { nativePosition: 'first' },
      { timeout: '2m' },
      { gate: 'auto' },
      { startupProbe: 'eager' },
      { lockRestarts: '0s' },
      { lockRestarts: 'always' },
      { end: 'last' },
    ),
    rules: fc
      .array(rule, { minLength: 1, maxLength: 4 })
      .map((list): Rule[] => list.map((each, n) => ({ name: `r${n}`, ...each }))),
  })
  .map((each) => compact(each) as Rules)

const probes: fc.Arbitrary<Fields> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Fields>({ readinessProbe: ready }) },
  {
    weight: 3,
    arbitrary: any<Fields>(
      { startupProbe: { tcpSocket: { port: 9 }, periodSeconds: 5 } },
      { startupProbe: ready, readinessProbe: { tcpSocket: { port: 9 } } },
      { readinessProbe: { exec: { command: ['true'] } } },
      { readinessProbe: { httpGet: { port: 15_021, path: '/healthz/ready' } } },
      { readinessProbe: { grpc: { port: 9 } } },
      {},
    ),
  },
)
const sidecar = (name: string) =>
  fc
    .tuple(probes, maybe(1, own('/entry', 'ready'), own('kuma-dp', 'wait'), own('pilot-agent', 'wait')))
    .map(([probe, lifecycle]): Fields => compact({ name, image: `example/${name}:1`, ...probe, lifecycle }) as Fields)
const init = any<Fields>(
  { name: 'migrate', image: 'migrate' },
  { name: 'istio-init', image: 'example/proxyv2' },
  { name: 'native', image: 'native', restartPolicy: 'Always' },
)

/** The names that the rules are for, so that most pods concern one. */
function namesFor({ rules: list }: Rules): readonly string[] {
  return list.flatMap(({ match: { container, preset } }) => {
    const name = container ?? presetOf(preset)?.names[0] ?? 'envoy'
    return name.includes('*') || name === 'app' ? [] : [name]
  })
}

/** A pod as people write them: the app, sidecars in either list, an init container. */
export const plain = (given: Rules): fc.Arbitrary<Pod> => {
  const wanted = namesFor(given)
  const names = fc.oneof(
    { weight: wanted.length > 0 ? 3 : 0, arbitrary: any(...wanted, 'envoy') },
    { weight: 1, arbitrary: any(...sidecars) },
  )
  return plainWith(names)
}
const plainWith = (names: fc.Arbitrary<string>): fc.Arbitrary<Pod> =>
  fc
    .record({
      own: fc.uniqueArray(names, { minLength: 1, maxLength: 3 }).chain((list) => fc.tuple(...list.map(sidecar))),
      natives: fc.nat(9),
      init: fc.option(init, { freq: 3 }),
      hasApp: fc.nat(9),
      isLabelled: fc.boolean(),
      listed: maybe(3, 'daprd', 's', '*, daprd', 'daprd, *', '*, s'),
      restarts: maybe(3, '0s', '0s', 'always'),
      end: maybe(3, 'together', 'last'),
      grace: maybe(2, 2, 4, 60),
      preStop: maybe<Json>(3, { sleep: { seconds: 3 } }, { exec: { command: ['drain'] } }, { tcpSocket: { port: 1 } }),
      order: fc.nat(5),
    })
    .map(({ own: list, natives, init: first, hasApp, isLabelled, listed, restarts, order, ...how }) => {
      const { end, grace, preStop } = how
      const app: Fields = { name: 'app', image: 'example/app:1', ...(preStop && { lifecycle: { preStop } }) }
      const inside =
        natives < 2 && list.length > 0 ? list.slice(-1).map((each) => ({ ...each, restartPolicy: 'Always' })) : []
      const beside: Fields[] = natives < 2 ? list.slice(0, -1) : [...list]
      if (hasApp > 0 || beside.length === 0) beside.splice(order % (beside.length + 1), 0, app)
      const initContainers = [...(first ? [first] : []), ...inside]
      const said = {
        'sidecar-first.dev/sidecars': listed,
        'sidecar-first.dev/lock-restarts': restarts,
        'sidecar-first.dev/end': end,
      }
      const annotations: Fields = compact(said) as Fields
      const labels: Fields = isLabelled ? { mesh: 'on' } : {}
      const time = grace === undefined ? {} : { terminationGracePeriodSeconds: grace }
      const spec = { ...time, containers: beside, ...(initContainers.length > 0 && { initContainers }) }
      return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'team', annotations, labels }, spec }
    })

export interface Hostile {
  readonly pod: Pod
  readonly tricks: readonly string[]
}

function playedOn(pod: Pod, list: readonly Trick[]): Hostile {
  const copy = structuredClone(pod)
  for (const { play } of list) play(copy)
  if (JSON.stringify(copy.spec).includes('"evil"')) volume(copy, 'evil', { emptyDir: { medium: 'Memory' } })
  return { pod: JSON.parse(JSON.stringify(copy)), tricks: list.map(({ name }) => name) }
}
const someTricks: fc.Arbitrary<readonly Trick[]> = fc.array(fc.oneof(...tricks), { maxLength: 4 })
export const hostile = (given: Rules): fc.Arbitrary<Hostile> =>
  fc.tuple(plain(given), someTricks).map(([pod, list]) => playedOn(pod, list))

/** One random place of a final pod changed, as by a webhook behind ours. */
interface Change {
  readonly kind: 'remove' | 'replace' | 'copy' | 'move' | 'insert'
  readonly at: number
  readonly from: number
  readonly value: Json
}
export const change: fc.Arbitrary<Change> = fc.record({
  kind: any('remove', 'replace', 'copy', 'move', 'insert'),
  at: fc.nat(10_000),
  from: fc.nat(10_000),
  value: any<Json>(
    ...[
      null,
      '',
      'evil',
      'app',
      'envoy',
      true,
      false,
      0,
      'Always',
      'none',
      '/.sidecar-first',
      '/.sidecar-first-lock',
      '/.sidecar-first-ends',
      [],
      {},
    ],
    ...[
      { name: 'sidecar-first-lock', mountPath: '/l' },
      { name: 'sidecar-first-waiter', mountPath: '/w' },
      { name: 'sidecar-first-ends', mountPath: '/e' },
    ],
    ...[{ name: 'late', image: 'late' }, { name: 'late', image: 'late', restartPolicy: 'Always' }, own('true')],
    ...['ready-2', 'sidecar-first-waiter', 'sidecar-first-lock', { emptyDir: {} }, { name: 'X', value: 'y' }],
  ),
})

type Place = { readonly parent: Json; readonly key: string }
function places(parent: Json, found: Place[] = []): Place[] {
  if (typeof parent !== 'object' || parent === null) return found
  for (const [key, child] of Object.entries(parent)) {
    found.push({ parent, key })
    places(child, found)
  }
  return found
}

export function changed(pod: Json, { kind, at, from, value }: Change): Json {
  const copy = structuredClone(pod) as Fields
  const all = places({
    spec: copy.spec ?? null,
    metadata: {
      labels: (copy.metadata as Fields).labels ?? {},
      annotations: (copy.metadata as Fields).annotations ?? {},
    },
  })
  const there = all[2 + (at % (all.length - 2))]
  const other = all[2 + (from % (all.length - 2))]
  if (there === undefined || other === undefined) return copy
  const parent = there.parent as Fields
  const get = ({ parent: its, key }: Place) => (its as Fields)[key] as Json
  if (Array.isArray(parent)) {
    const index = Number(there.key)
    if (kind === 'remove') parent.splice(index, 1)
    else if (kind === 'replace') parent[index] = value
    else if (kind === 'move') parent.push(...parent.splice(index, 1))
    else parent.splice(index, 0, kind === 'copy' ? structuredClone(get(other)) : value)
  } else if (kind === 'remove') delete parent[there.key]
  else if (kind === 'replace' || kind === 'insert') parent[there.key] = value
  else parent[there.key] = structuredClone(get(other))
  return copy
}
