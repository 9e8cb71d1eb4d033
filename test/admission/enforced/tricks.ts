import fc from 'fast-check'
import type { Json } from '../../../src/admission/words/json.ts'

/** What hostile authors do to a pod. Each is tried often enough by itself to be seen in a few hundred pods; hostile.test.ts counts them. */
export type Fields = { [key: string]: Json }
interface Spec extends Fields {
  containers: Fields[]
  initContainers?: Fields[]
  volumes?: Fields[]
}
export interface Pod extends Fields {
  apiVersion: 'v1'
  kind: 'Pod'
  metadata: Fields & { annotations: Fields; labels: Fields }
  spec: Spec
}

export const ready: Json = { httpGet: { port: 8080, path: '/ready' } }
export const own = (...command: string[]): Json => ({ postStart: { exec: { command } } })

const proxies = ['istio-proxy', 'kuma-sidecar', 'linkerd-proxy', 'consul-dataplane']
export const sidecars = [...proxies, 'envoy', 'vault-agent', 'daprd', 'cloud-sql-proxy', 's']
const ownHooks: readonly string[][] = [
  ['pilot-agent', 'wait'],
  ['kuma-dp', 'wait'],
  ['linkerd-await'],
  ['/usr/bin/cloud-sql-proxy', 'wait'],
  ['true'],
  ['sh', '-c', 'true', 'kuma-dp', 'wait'],
]

const all = ({ spec }: Pod): Fields[] => [...(spec.initContainers ?? []), ...spec.containers]
const named = (pod: Pod, name: string) => all(pod).some((each) => each.name === name)
const inits = ({ spec }: Pod): Fields[] => {
  spec.initContainers ??= []
  return spec.initContainers
}
function push(container: Fields, key: 'volumeMounts' | 'env', item: Json): void {
  container[key] = [...((container[key] as Json[] | undefined) ?? []), item]
}
export function volume(pod: Pod, name: string, what: Fields): void {
  const volumes = pod.spec.volumes ?? []
  if (!volumes.some((each) => each.name === name)) pod.spec.volumes = [...volumes, { ...what, name }]
}
const any = <T>(...values: readonly T[]) => fc.constantFrom(...values)

const lockPaths = any(
  ...['/.sidecar-first-lock', '/.sidecar-first-lock/', '/.sidecar-first-lock/.', '//.sidecar-first-lock'],
  ...[
    '.sidecar-first-lock',
    '/x/../.sidecar-first-lock',
    '/.sidecar-first-lock/ready-1',
    '/.sidecar-first-lock//ready-2',
  ],
  ...['/lock', '/tmp/../l', '/'],
)
const waiterPaths = any(
  ...[
    '/.sidecar-first',
    '/.sidecar-first/',
    '/.sidecar-first/.',
    '//.sidecar-first',
    '.sidecar-first',
    '/.sidecar-first/wait',
  ],
  ...['.sidecar-first/wait', '/x/..//.sidecar-first/wait', '/w', '/'],
)
const extent = fc.record(
  {
    subPath: any('ready-1', 'x', '.'),
    subPathExpr: any('$(X)'),
    readOnly: any(true, false),
    mountPropagation: any('None'),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const mounts = fc
  .tuple(
    any('sidecar-first-lock', 'sidecar-first-lock', 'sidecar-first-waiter', 'evil'),
    lockPaths,
    waiterPaths,
    fc.boolean(),
    fc.option(extent, { nil: {} }),
  )
  .map(([name, lock, waiter, isLock, more]): Fields => ({ name, mountPath: isLock ? lock : waiter, ...more }))

/** Behind the number in the lock's key: mostly the name of a sidecar, or none. */
const keyEnd = any(
  '',
  '',
  '_ENVOY',
  ...sidecars.map((name) => `_${name.replaceAll('-', '_').toUpperCase()}`),
  '_APP',
  '_',
  '_envoy',
)

const lockVariable = fc
  .record({
    number: any(1, 1, 2, 3),
    path: any('ready-1', 'ready-2', './ready-1', 'mine'),
    volumeName: any('sidecar-first-lock', 'sidecar-first-lock', 'evil'),
    optional: any(undefined, undefined, true, false),
    kind: any('file', 'file', 'value', 'bare', 'right'),
    name: any(undefined, undefined, 'MINE'),
    end: keyEnd,
  })
  .map(({ number, path, volumeName, optional, kind, name, end }): Fields => {
    const key = `SIDECAR_FIRST_READY_${number}${end}`
    if (kind === 'bare') return { name: key }
    if (kind === 'value') return { name: key, value: 'ready' }
    if (kind === 'right')
      return {
        name: key,
        valueFrom: { fileKeyRef: { volumeName: 'sidecar-first-lock', path: `ready-${number}`, key } },
      }
    return {
      name: name ?? key,
      valueFrom: { fileKeyRef: { volumeName, path, key, ...(optional === undefined ? {} : { optional }) } },
    }
  })

const forgedSpec = fc
  .record({
    name: any(...sidecars),
    check: any('http://:8080/ready', 'tcp://:1', 'http://:15021/healthz/ready', 'exec:["true"]'),
    onTimeout: any('fail', 'continue'),
    timeout: any('1m', '100ms'),
    isEmpty: fc.boolean(),
    gate: any(0, 1, 2),
    end: keyEnd,
    handOver: any(undefined, '0s', '30s'),
    before: any(undefined, { exec: ['true'] }),
  })
  .map(({ name, isEmpty, gate, end, handOver, before, ...check }): Json => {
    const lock = {
      file: `/.sidecar-first-lock/ready-${gate}`,
      key: `SIDECAR_FIRST_READY_${gate}${end}`,
      ...(handOver && { handOver }),
    }
    const spec = {
      v: 1,
      checks: isEmpty ? [] : [{ container: name, ...check }],
      ...(before && { before }),
      message: '/dev/termination-log',
      ...(gate > 0 && { lock }),
    }
    return own('/.sidecar-first/wait', '--spec', JSON.stringify(spec))
  })
const hooks = fc.oneof(
  forgedSpec,
  any(...ownHooks).map((words) => own(...words)),
  any(
    own('sh', '-c', 'exit', 'sidecar-first', '/dev/termination-log', 'none', '0'),
    own('/.sidecar-first/wait', '--version'),
  ),
  any<Json>({ postStart: { sleep: { seconds: 1 } } }, { postStart: { httpGet: { port: 1 } } }),
)

const annotations: readonly (readonly [string, readonly string[]])[] = [
  [
    'sidecar-first.dev/sidecars',
    ['app', 'helper', '*, helper', 'helper, *', 'daprd', 'envoy, app', 'istio-proxy', 'pause, *', 's + envoy'],
  ],
  ['sidecar-first.dev/inject', ['false']],
  ['sidecar-first.dev/gate', ['hook', 'native', 'auto']],
  ['sidecar-first.dev/native-position', ['first', 'last']],
  ['sidecar-first.dev/existing-hook', ['keep', 'chain', 'refuse']],
  ['sidecar-first.dev/lock', ['on', 'off', 'auto']],
  ['sidecar-first.dev/lock-restarts', ['0s', '30s', 'always']],
  ['sidecar-first.dev/end', ['together', 'last']],
  ['sidecar-first.dev/startup-probe', ['keep', 'eager', 'hook']],
  ['sidecar-first.dev/waiter', ['shell', 'image-volume', 'init-container']],
  ['sidecar-first.dev/timeout', ['100ms', '10m']],
  ['sidecar-first.dev/on-timeout', ['continue', 'fail']],
  ['sidecar-first.dev/sets', ['x']],
  ['sidecar-first.dev/status', ['{}', '{"version":"0.0.0"}', '{"version":"0.0.0","gate":"native"}']],
  ['kubectl.kubernetes.io/default-container', ['app']],
  ...['helper', 'app', 'envoy', 'daprd', 'kuma-sidecar', 's'].flatMap((name) => [
    [`check.sidecar-first.dev/${name}`, ['none', 'tcp://:1', 'exec:["true"]', 'hook:["true"]', 'probe']] as const,
    [`timeout.sidecar-first.dev/${name}`, ['100ms']] as const,
    [`on-timeout.sidecar-first.dev/${name}`, ['continue']] as const,
  ]),
]
const annotation = any(...annotations).chain(([key, values]) => any(...values).map((value) => [key, value] as const))

/** A trick: its name, and how it changes a pod that is its own. */
export interface Trick {
  readonly name: string
  readonly play: (pod: Pod) => void
}
const trick = <T>(name: string, what: fc.Arbitrary<T>, play: (pod: Pod, value: T) => void): fc.Arbitrary<Trick> =>
  what.map((value) => ({ name, play: (pod) => play(pod, value) }))

const nth = (items: readonly Fields[], n: number): Fields => items[n % items.length] as Fields
const at = fc.nat(6)
/** Renames a container, where no other has the name. */
function rename(pod: Pod, from: Fields, to: string): void {
  if (!named(pod, to)) from.name = to
}
const app = ({ spec }: Pod): Fields => spec.containers.find(({ name }) => name === 'app') ?? nth(spec.containers, 0)
function addInit(pod: Pod, container: Fields, first: boolean): void {
  if (named(pod, `${container.name}`)) return
  if (first) inits(pod).unshift(container)
  else inits(pod).push(container)
}

export const tricks: readonly fc.Arbitrary<Trick>[] = [
  trick('app called like a mesh proxy', fc.tuple(any(...proxies), any(...ownHooks)), (pod, [name, hook]) => {
    const its = app(pod)
    rename(pod, its, name)
    its.lifecycle = own(...hook)
  }),
  trick('hook that a mesh’s own wait looks like', fc.tuple(at, any(...ownHooks)), (pod, [n, hook]) => {
    nth(
      all(pod)
        .filter((each) => sidecars.includes(`${each.name}`))
        .concat(pod.spec.containers),
      n,
    ).lifecycle = own(...hook)
  }),
  trick(
    'listed native that writes the lock',
    fc.tuple(lockPaths, any('helper, *', '*, helper', 'helper'), any('none', 'tcp://:1'), fc.boolean()),
    (pod, [mountPath, list, check, first]) => {
      addInit(
        pod,
        {
          name: 'helper',
          image: 'evil',
          restartPolicy: 'Always',
          volumeMounts: [{ name: 'sidecar-first-lock', mountPath }],
        },
        first,
      )
      Object.assign(pod.metadata.annotations, {
        'sidecar-first.dev/sidecars': list,
        'check.sidecar-first.dev/helper': check,
      })
      volume(pod, 'sidecar-first-lock', { emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } })
    },
  ),
  trick(
    'shared processes and a helper',
    fc.tuple(any('shareProcessNamespace', 'hostPID'), fc.boolean(), any('Always', undefined), any(true, false)),
    (pod, [key, first, restartPolicy, isListed]) => {
      pod.spec[key] = true
      addInit(pod, { name: 'helper', image: 'evil', ...(restartPolicy && { restartPolicy }) }, first)
      if (isListed) pod.metadata.annotations['sidecar-first.dev/sidecars'] = 'helper'
    },
  ),
  trick('shared processes', any('shareProcessNamespace', 'hostPID'), (pod, key) => {
    pod.spec[key] = true
  }),
  trick(
    'app called like an unenforced sidecar, and a dummy',
    fc.tuple(any(...sidecars), fc.boolean()),
    (pod, [name, hasDummy]) => {
      rename(pod, app(pod), name)
      if (hasDummy && !named(pod, 'pause')) pod.spec.containers.push({ name: 'pause', image: 'pause' })
    },
  ),
  trick('mount of our volumes', fc.tuple(at, mounts), (pod, [n, mount]) => {
    push(nth(all(pod), n), 'volumeMounts', mount)
    volume(pod, `${mount.name}`, { emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } })
  }),
  trick(
    'mount where the end is seen',
    fc.tuple(
      at,
      any('sidecar-first-ends', 'sidecar-first-ends', 'evil'),
      any('/.sidecar-first-ends', '//.sidecar-first-ends/', '.sidecar-first-ends', '/e', '/.sidecar-first-ends/app'),
      fc.option(extent, { nil: {} }),
    ),
    (pod, [n, name, mountPath, more]) => {
      push(nth(all(pod), n), 'volumeMounts', { name, mountPath, ...more })
      volume(pod, name, { emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } })
    },
  ),
  trick('image too long to be read', fc.tuple(at, any(521, 600, 4000)), (pod, [n, length]) => {
    const its = nth(all(pod), n)
    its.image = `${its.image}:${'a'.repeat(length)}`
  }),
  trick(
    'app as a restartable init container beside a decoy',
    fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
    (pod, [first, keepsName, hasHook]) => {
      const its = { ...app(pod), restartPolicy: 'Always', ...(hasHook && { lifecycle: own('true') }) } as Fields
      if (keepsName && pod.spec.containers.length > 1) {
        pod.spec.containers = pod.spec.containers.filter((each) => each.name !== its.name)
      } else if (keepsName) return
      else its.name = 'native-app'
      if (!named(pod, 'pause')) pod.spec.containers.push({ name: 'pause', image: 'pause' })
      addInit(pod, its, first)
    },
  ),
  trick('forged variable', fc.tuple(at, lockVariable, fc.boolean()), (pod, [n, variable, first]) => {
    const its = nth(all(pod), n)
    if (first) its.env = [variable, ...((its.env as Json[] | undefined) ?? [])]
    else push(its, 'env', variable)
    const name = (variable as { valueFrom?: { fileKeyRef: { volumeName: string } } }).valueFrom?.fileKeyRef.volumeName
    if (name !== undefined) volume(pod, name, { emptyDir: { medium: 'Memory' } })
  }),
  trick(
    'init container of our name',
    fc.tuple(
      any('evil', 'sidecar-first/waiter:0.0.0', 'sidecar-first/waiter:9', 'x/sidecar-first/waiter'),
      fc.boolean(),
      any<Fields>(
        {},
        { args: ['x'] },
        { restartPolicy: 'Always' },
        { command: ['true'] },
        { terminationMessagePath: '/.sidecar-first/wait' },
        { volumeMounts: [] },
      ),
    ),
    (pod, [image, first, more]) => {
      const volumeMounts = [{ name: 'sidecar-first-waiter', mountPath: '/.sidecar-first' }]
      addInit(
        pod,
        {
          name: 'sidecar-first-waiter',
          image,
          command: ['/wait', 'install', '/.sidecar-first'],
          volumeMounts,
          ...more,
        },
        first,
      )
      volume(pod, 'sidecar-first-waiter', { emptyDir: {} })
    },
  ),
  trick(
    'volume of our name',
    fc.tuple(
      any('sidecar-first-waiter', 'sidecar-first-lock'),
      any<Fields>(
        { emptyDir: {} },
        { emptyDir: { medium: 'Memory' } },
        { image: { reference: 'evil' } },
        { configMap: { name: 'evil' } },
        { image: { reference: 'sidecar-first/waiter:1' } },
      ),
    ),
    (pod, [name, what]) => {
      volume(pod, name, what)
    },
  ),
  trick('hook', fc.tuple(at, hooks), (pod, [n, lifecycle]) => {
    const its = nth(all(pod), n)
    if (pod.spec.containers.includes(its) || its.restartPolicy === 'Always') its.lifecycle = lifecycle
  }),
  trick('annotations', fc.array(annotation, { minLength: 1, maxLength: 4 }), (pod, pairs) => {
    Object.assign(pod.metadata.annotations, Object.fromEntries(pairs))
  }),
  trick('opt-out label', any('sidecar-first.dev/inject'), (pod, key) => {
    pod.metadata.labels[key] = 'false'
  }),
  trick(
    'termination message over our files',
    fc.tuple(
      at,
      any(
        ...['/.sidecar-first/wait', '.sidecar-first/./wait', '/.sidecar-first-lock/ready-1', '/.sidecar-first'],
        '/.sidecar-first-ends/app',
      ),
    ),
    (pod, [n, path]) => {
      nth(all(pod), n).terminationMessagePath = path
    },
  ),
  trick('sidecar without its probes', at, (pod, n) => {
    const its = nth(all(pod), n)
    delete its.readinessProbe
    delete its.startupProbe
  }),
  trick(
    'containers that restart by rules of their own',
    fc.tuple(at, any('Never', 'OnFailure', 'Always')),
    (pod, [n, policy]) => {
      nth(all(pod), n).restartPolicy = policy
    },
  ),
  trick(
    'pod that the webhook leaves alone',
    any<Fields>(
      { 'kubernetes.io/config.source': 'file' },
      { 'kubernetes.io/config.hash': 'x' },
      { 'tekton.dev/ready': 'READY' },
    ),
    (pod, more) => {
      Object.assign(pod.metadata.annotations, more)
      Object.assign(pod.metadata.labels, { 'tekton.dev/taskRun': 'x' })
    },
  ),
  trick(
    'runtime or node that the lock isn’t for',
    any<Fields>(
      { runtimeClassName: 'kata' },
      { nodeSelector: { type: 'virtual-kubelet' } },
      { restartPolicy: 'Never' },
      { restartPolicy: 'OnFailure' },
    ),
    (pod, more) => {
      Object.assign(pod.spec, more)
    },
  ),
  trick('another order', fc.tuple(fc.nat(), fc.nat()), (pod, [a, b]) => {
    for (const items of [pod.spec.containers, pod.spec.initContainers ?? []]) {
      const [moved] = items.splice(a % Math.max(items.length, 1), 1)
      if (moved) items.splice(b % (items.length + 1), 0, moved)
    }
  }),
  trick('a container moves to the other list', at, (pod, n) => {
    const its = nth(all(pod), n)
    if (pod.spec.containers.includes(its)) {
      if (pod.spec.containers.length === 1) return
      pod.spec.containers = pod.spec.containers.filter((each) => each !== its)
      inits(pod).push({ ...its, restartPolicy: 'Always' })
    } else {
      pod.spec.initContainers = inits(pod).filter((each) => each !== its)
      pod.spec.containers.push(
        Object.fromEntries(Object.entries(its).filter(([key]) => key !== 'restartPolicy')) as Fields,
      )
    }
  }),
  trick(
    'a name of ours',
    fc.tuple(at, any('sidecar-first-waiter', 'sidecar-first-lock', 'sidecar-first', 'helper', 'native', 'envoy')),
    (pod, [n, name]) => {
      rename(pod, nth(all(pod), n), name)
    },
  ),
  trick(
    'a field that the reader might refuse',
    fc.tuple(
      at,
      any<Fields>(
        { lifecycle: { postStart: { sleep: { seconds: 3_000_000_000 } } } },
        { lifecycle: { postStart: { sleep: { seconds: 0 } } } },
        { lifecycle: { preStop: { sleep: { seconds: 3_000_000_000 } } } },
        { lifecycle: { stopSignal: 'SIGTERM' } },
        { volumeDevices: [{ name: 'x', devicePath: '/.sidecar-first-lock' }] },
        {
          env: [
            { name: 'A', value: 'x' },
            { name: 'A', value: 'y' },
          ],
        },
      ),
    ),
    (pod, [n, more]) => {
      const its = nth(all(pod), n)
      if (pod.spec.containers.includes(its) || its.restartPolicy === 'Always') Object.assign(its, more)
    },
  ),
  trick('two names swapped', fc.tuple(at, at), (pod, [a, b]) => {
    const [one, other] = [nth(all(pod), a), nth(all(pod), b)]
    const name = one.name as Json
    one.name = other.name as Json
    other.name = name
  }),
]
