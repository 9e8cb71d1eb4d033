import type { Json } from '../../../src/admission/words/json.ts'
import type { Rule, Rules } from './rules.ts'
import { type Fields, own, ready } from './tricks.ts'

/** A pod and rules by name; the tests say what becomes of it. */
export interface Case {
  readonly name: string
  readonly rules: Rules
  readonly pod: Json
}

const app: Fields = { name: 'app', image: 'example/app:1' }
const pause: Fields = { name: 'pause', image: 'pause' }
const envoy: Fields = { name: 'envoy', image: 'envoyproxy/envoy:v1', readinessProbe: ready }
const lockVolume: Fields = { name: 'sidecar-first-lock', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }

const rulesOf = (...rules: readonly Omit<Rule, 'name'>[]): Rules => ({
  kubernetesVersion: '1.36',
  rules: rules.map((rule, n) => ({ name: `r${n}`, ...rule })),
})
/** What most cases have: `envoy` before all, with a lock. */
const locked: Omit<Rule, 'name'> = { match: { container: 'envoy' }, tier: 10, enforce: true, lock: 'on' }
const unlocked: Omit<Rule, 'name'> = { match: { container: 'envoy' }, tier: 10, enforce: true }
const native: Omit<Rule, 'name'> = { ...unlocked, gate: 'native' }

function pod(containers: readonly Json[], spec: Fields = {}, annotations: Fields = {}, labels: Fields = {}): Json {
  const full = Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [key.includes('.') ? key : `sidecar-first.dev/${key}`, value]),
  )
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'team', annotations: full, labels },
    spec: { ...spec, containers: containers as Json[] },
  }
}
const lockMount = (mountPath: string, more: Fields = {}): Json => ({ name: 'sidecar-first-lock', mountPath, ...more })
const helper = (more: Fields = {}): Fields => ({ name: 'helper', image: 'evil', restartPolicy: 'Always', ...more })
const hooked = (container: Fields, ...command: string[]): Fields => ({ ...container, lifecycle: own(...command) })
const kuma: Fields = { name: 'kuma-sidecar', image: 'example/kuma-dp:1', readinessProbe: ready }
const readyFile = (volumeName: string, more: Fields = {}): Json => ({
  name: 'SIDECAR_FIRST_READY_1',
  valueFrom: { fileKeyRef: { volumeName, path: 'ready-1', key: 'SIDECAR_FIRST_READY_1', ...more } },
})

/** Seen on Kubernetes 1.36 before there was one predicate: the author's container ran. */
export const walkedAround: readonly Case[] = [
  ...['istio-proxy', 'linkerd-proxy', 'kuma-sidecar', 'consul-dataplane'].map((name) => ({
    name: `an app called ${name} with any hook, and a decoy`,
    rules: rulesOf(locked),
    pod: pod([hooked({ ...app, name }, 'true'), envoy, pause]),
  })),
  {
    name: 'a mesh’s own hook that fails, in place of ours',
    rules: rulesOf({ match: { preset: 'kuma' }, enforce: true, lock: 'on' }),
    pod: pod([app, hooked(kuma, 'kuma-dp', 'wait')]),
  },
  ...['/.sidecar-first-lock', '/l'].map((mountPath) => ({
    name: `a native init container that the pod lists, with the lock’s volume at ${mountPath}`,
    rules: rulesOf(locked),
    pod: pod(
      [app, envoy],
      { initContainers: [helper({ volumeMounts: [lockMount(mountPath)] })], volumes: [lockVolume] },
      { sidecars: 'helper', 'check.sidecar-first.dev/helper': 'none' },
    ),
  })),
  {
    name: 'shareProcessNamespace and a helper',
    rules: rulesOf(locked),
    pod: pod([app, envoy], { shareProcessNamespace: true, initContainers: [helper()] }),
  },
  {
    name: 'hostPID and a helper',
    rules: rulesOf(locked),
    pod: pod([app, envoy], { hostPID: true, initContainers: [helper()] }),
  },
  {
    name: 'an app called like the sidecar of an unenforced rule with a lower tier, and a decoy',
    rules: rulesOf({ match: { container: 'vault-agent' }, tier: 5 }, unlocked),
    pod: pod([{ ...app, name: 'vault-agent' }, envoy, pause]),
  },
  ...[
    '/.sidecar-first-lock/.',
    '/.sidecar-first-lock/ready-1',
    '//.sidecar-first-lock',
    '.sidecar-first-lock',
    '/x/../.sidecar-first-lock',
  ].map((mountPath) => ({
    name: `a native container of the author’s that mounts the lock’s volume at ${mountPath}`,
    rules: rulesOf(native, { match: { container: 'helper' }, tier: 1 }),
    pod: pod(
      [app, envoy],
      { initContainers: [helper({ volumeMounts: [lockMount(mountPath)] })], volumes: [lockVolume] },
      { lock: 'on' },
    ),
  })),
  {
    name: 'a sidecar whose image is too long to be read',
    rules: rulesOf({ ...locked, match: { image: '*/envoy' } }),
    pod: pod([app, { ...envoy, image: `envoyproxy/envoy:${'a'.repeat(600)}` }]),
  },
  {
    name: 'an app as a restartable init container beside a decoy',
    rules: rulesOf(unlocked),
    pod: pod([envoy, pause], { initContainers: [{ ...app, restartPolicy: 'Always' }] }),
  },
  {
    name: 'an app as a restartable init container beside a decoy, with a lock',
    rules: rulesOf(locked),
    pod: pod([envoy, pause], { initContainers: [{ ...app, restartPolicy: 'Always' }] }),
  },
  {
    name: 'a native sidecar of the author’s before one whose position is `last`',
    rules: rulesOf({ ...native, nativePosition: 'last' }),
    pod: pod([app, envoy], { initContainers: [helper()] }),
  },
]

/** Not seen before; each a way in that the promise closes. */
export const alsoTried: readonly Case[] = [
  ...(['shareProcessNamespace', 'hostPID'] as const).flatMap((key) => [
    {
      name: `${key} and a native sidecar of another rule`,
      rules: rulesOf(locked, { match: { container: 'helper' }, tier: 20 }),
      pod: pod([app, envoy], { [key]: true, initContainers: [helper()] }),
    },
    {
      name: `${key} and a mesh proxy in front`,
      rules: rulesOf(locked),
      pod: pod([hooked({ ...app, name: 'istio-proxy' }, 'true'), envoy, pause], { [key]: true }),
    },
  ]),
  ...(['hook', 'native'] as const).map((gate) => ({
    name: `shared processes, a native that the rule lets by, and a lock by \`auto\`, with the gate ${gate}`,
    rules: rulesOf({ ...unlocked, gate, allowNatives: ['helper'] }),
    pod: pod([app, envoy], { shareProcessNamespace: true, initContainers: [helper()] }),
  })),
  {
    name: 'an ordinary init container that mounts the lock’s volume',
    rules: rulesOf(locked),
    pod: pod([app, envoy], {
      initContainers: [{ name: 'migrate', image: 'm', volumeMounts: [lockMount('/l')] }],
      volumes: [lockVolume],
    }),
  },
  {
    name: 'an ordinary init container that mounts the waiter’s volume',
    rules: rulesOf(unlocked),
    pod: pod([app, envoy], {
      initContainers: [
        { name: 'migrate', image: 'm', volumeMounts: [{ name: 'sidecar-first-waiter', mountPath: '/w' }] },
      ],
      volumes: [{ name: 'sidecar-first-waiter', emptyDir: {} }],
    }),
  },
  {
    name: 'an ordinary init container in a pod of sidecars alone, where the rule’s position is `first`',
    rules: rulesOf({ ...native, nativePosition: 'first' }),
    pod: pod([envoy], { initContainers: [app] }),
  },
  ...(['image-volume', 'shell'] as const).map((delivery) => ({
    name: `an init container of our name, where the delivery is ${delivery} and a startupProbe holds the app`,
    rules: { ...rulesOf({ ...native, nativePosition: 'first', lock: 'off' }), waiter: { delivery } } as const,
    pod: pod([app, { name: 'envoy', image: 'envoyproxy/envoy:v1', startupProbe: ready }], {
      initContainers: [{ name: 'sidecar-first-waiter', image: 'evil', command: ['true'] }],
    }),
  })),
  ...['sidecar-first/waiter:0.0.0', 'evil'].map((image) => ({
    name: `an init container of our name with the image ${image} that opens the lock, where the delivery is shell`,
    rules: { ...rulesOf(locked), waiter: { delivery: 'shell' } },
    pod: pod([app, envoy], {
      initContainers: [
        {
          name: 'sidecar-first-waiter',
          image,
          command: [
            ...['/wait', '--spec'],
            '{"v":1,"checks":[],"message":"/m","lock":{"file":"/.sidecar-first-lock/ready-1","key":"SIDECAR_FIRST_READY_1"}}',
          ],
          volumeMounts: [{ name: 'sidecar-first-waiter', mountPath: '/.sidecar-first' }],
        },
      ],
      volumes: [{ name: 'sidecar-first-waiter', emptyDir: {} }],
    }),
  })),
  {
    name: 'a number that the API takes and few programs do',
    rules: rulesOf(locked),
    pod: pod([{ ...app, lifecycle: { postStart: { sleep: { seconds: 3_000_000_000 } } } }, envoy]),
  },
  {
    name: 'an app of the waiter’s name, where the delivery is shell',
    rules: { ...rulesOf(locked), waiter: { delivery: 'shell' } },
    pod: pod([{ ...app, name: 'sidecar-first-waiter' }, envoy]),
  },
  {
    name: 'a regular container of a native sidecar’s name that the rule lets by',
    rules: rulesOf({ ...locked, allowNatives: ['istio-proxy'] }),
    pod: pod([hooked({ name: 'istio-proxy', image: 'evil' }, 'true'), envoy, app]),
  },
  {
    name: 'the opt-out, as a label and an annotation',
    rules: rulesOf(locked),
    pod: pod([app, envoy], {}, { inject: 'false' }, { 'sidecar-first.dev/inject': 'false' }),
  },
  ...[
    readyFile('sidecar-first-lock', { optional: true }),
    readyFile('evil'),
    { name: 'SIDECAR_FIRST_READY_1', value: 'ready' },
  ].map((variable) => ({
    name: `a variable of the author’s in the lock’s place: ${JSON.stringify(variable)}`,
    rules: rulesOf(locked),
    pod: pod([{ ...app, env: [variable] }, envoy], { volumes: [{ name: 'evil', emptyDir: {} }] }),
  })),
  ...['/.sidecar-first/wait', '.sidecar-first/wait', '/.sidecar-first-lock/ready-1'].map((terminationMessagePath) => ({
    name: `the termination message at ${terminationMessagePath}`,
    rules: rulesOf(unlocked),
    pod: pod([app, { ...envoy, terminationMessagePath }]),
  })),
  {
    name: 'a hook of our form that waits for nothing',
    rules: rulesOf(locked),
    pod: pod([
      app,
      hooked(envoy, '/.sidecar-first/wait', '--spec', '{"v":1,"checks":[],"message":"/dev/termination-log"}'),
    ]),
  },
  {
    name: 'a script of our name that waits for nothing',
    rules: rulesOf(locked),
    pod: pod([app, hooked(envoy, 'sh', '-c', 'exit', 'sidecar-first', '/dev/termination-log', 'none', '0')]),
  },
  {
    name: 'an init container of our name and another image',
    rules: rulesOf(locked),
    pod: pod([app, envoy], {
      initContainers: [
        { name: 'sidecar-first-waiter', image: 'evil', command: ['/wait', 'install', '/.sidecar-first'] },
      ],
    }),
  },
]

/** Rules that lock nothing, which the reader of configurations refuses. */
export const locksNothing: readonly Rules[] = [
  rulesOf({ ...locked, check: 'none' }),
  rulesOf({ ...locked, existingHook: 'keep' }),
  { ...rulesOf({ ...unlocked, check: 'none' }), defaults: { lock: 'on' } },
  { ...rulesOf(locked), defaults: { existingHook: 'keep' } },
]

/** What stays admitted. */
export const legitimate: readonly Case[] = [
  { name: 'an app and the sidecar', rules: rulesOf(locked), pod: pod([app, envoy]) },
  {
    name: 'a listed daprd behind the enforced sidecar, in the lock’s volume by our own patch',
    rules: rulesOf(locked),
    pod: pod([app, { name: 'daprd', image: 'daprio/daprd', readinessProbe: ready }, envoy], {}, { sidecars: 'daprd' }),
  },
  {
    name: 'a locked sidecar of an unenforced rule behind the enforced one',
    rules: rulesOf(locked, { match: { container: 'vault-agent' }, tier: 20, lock: 'on' }),
    pod: pod([app, { name: 'vault-agent', image: 'hashicorp/vault', readinessProbe: ready }, envoy]),
  },
  {
    name: 'Vault’s agent that signals its app, where an enforced rule names it',
    rules: rulesOf({ match: { preset: 'vault-agent' }, enforce: true, lock: 'on' }),
    pod: pod([app, { name: 'vault-agent', image: 'hashicorp/vault', readinessProbe: ready }], {
      shareProcessNamespace: true,
      initContainers: [{ name: 'vault-agent-init', image: 'hashicorp/vault' }],
    }),
  },
  {
    name: 'an ordinary init container',
    rules: rulesOf(locked),
    pod: pod([app, envoy], { initContainers: [{ name: 'migrate', image: 'm' }] }),
  },
  {
    name: 'an ordinary init container behind a native sidecar that comes first',
    rules: rulesOf({ ...native, nativePosition: 'first', lock: 'on' }),
    pod: pod([app, envoy], { initContainers: [{ name: 'migrate', image: 'm' }] }),
  },
  {
    name: 'two enforced sidecars, one of them already native',
    rules: rulesOf(locked, { match: { preset: 'istio' }, enforce: true }),
    pod: pod([app, envoy], {
      initContainers: [{ name: 'istio-proxy', image: 'istio/proxyv2', startupProbe: ready, restartPolicy: 'Always' }],
    }),
  },
  {
    name: 'a mesh proxy in front that the configuration lets by',
    rules: { ...rulesOf(locked), enforced: { inFront: [{ container: 'istio-proxy', image: '*/proxyv2' }] } },
    pod: pod([app, envoy, hooked({ name: 'istio-proxy', image: 'istio/proxyv2:1.27' }, 'pilot-agent', 'wait')]),
  },
  {
    name: 'a native sidecar in front that the rule lets by',
    rules: rulesOf({ ...locked, allowNatives: ['helper'] }),
    pod: pod([app, envoy], { initContainers: [helper()] }),
  },
  {
    name: 'a workload that the rule lets by',
    rules: rulesOf({ ...locked, exempt: ['team/w*'] }),
    pod: pod([app, envoy], { initContainers: [helper()], shareProcessNamespace: true }),
  },
  {
    name: 'a rule that only reports',
    rules: rulesOf({ ...locked, enforce: 'audit' }),
    pod: pod([app, envoy], { initContainers: [helper()], shareProcessNamespace: true }),
  },
  {
    name: 'a mesh whose own hook waits, without a lock',
    rules: rulesOf({ match: { preset: 'kuma' }, enforce: true, lock: 'off' }),
    pod: pod([app, hooked(kuma, 'kuma-dp', 'wait')]),
  },
  {
    name: 'a hook of the sidecar’s own, chained',
    rules: rulesOf(locked),
    pod: pod([app, hooked(envoy, '/entry', 'ready')]),
  },
  {
    name: 'a rule for every container, and an app that another rule names',
    rules: rulesOf(
      { match: { container: 'app' }, tier: 50, check: 'none' },
      { match: { container: '*' }, tier: 10, enforce: true },
    ),
    pod: pod([app, envoy, { ...envoy, name: 'other' }]),
  },
]

/** What the first pass makes of these, the final check refused. */
export const firstPass: readonly Case[] = [
  {
    name: 'a variable that a client has left without its value, where nothing is locked',
    rules: rulesOf({ match: { container: 's' }, tier: 30, gate: 'native', startupProbe: 'keep', enforce: true }),
    pod: pod([app], {
      initContainers: [
        { name: 'migrate', image: 'm', env: [{ name: 'SIDECAR_FIRST_READY_1' }] },
        { name: 's', image: 's', restartPolicy: 'Always' },
      ],
    }),
  },
  {
    name: 'a native mesh among sidecars of a rule for all, and a listed daprd',
    rules: rulesOf(
      { match: { preset: 'istio' }, gate: 'native', enforce: true },
      { match: { container: '*' }, tier: 20, onTimeout: 'continue' },
    ),
    pod: pod(
      [
        app,
        { name: 'daprd', image: 'daprio/daprd', readinessProbe: ready },
        { name: 'istio-proxy', image: 'istio/proxyv2', readinessProbe: ready },
      ],
      {},
      { sidecars: 'daprd' },
    ),
  },
  {
    name: 'a sidecar whose rule keeps the startupProbe behind a hook, injected after a pass that planned native sidecars',
    rules: {
      kubernetesVersion: '1.36',
      defaults: { gate: 'native' },
      rules: [
        { name: 'mesh', match: { preset: 'istio' }, tier: -5 },
        {
          name: 'r0',
          match: { container: 'envoy' },
          tier: -5,
          gate: 'hook',
          startupProbe: 'keep',
          lock: 'on',
          enforce: true,
        },
      ],
    },
    pod: pod(
      [app, { name: 'envoy', image: 'envoy', startupProbe: ready }],
      { initContainers: [{ name: 'istio-proxy', image: 'p', readinessProbe: ready, restartPolicy: 'Always' }] },
      { status: JSON.stringify({ version: '0.0.0', gate: 'native', tiers: [['istio-proxy']] }) },
    ),
  },
]
