/** A manifest as JSON has it. */
export type Manifest = { readonly [key: string]: unknown }

interface Parts {
  readonly annotations?: Readonly<Record<string, unknown>>
  readonly metadata?: Manifest
  readonly spec?: Manifest
}

const prefix = 'sidecar-first.dev'
const sidecars = `${prefix}/sidecars`

/** A pod in which the sidecar is listed last, with parts of it replaced. */
function pod({ annotations = { [sidecars]: 'proxy' }, metadata = {}, spec = {} }: Parts): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'hostile', namespace: 'default', annotations, ...metadata },
    spec: { containers: [app, proxy({ readinessProbe: { httpGet: { path: '/ready', port: 15021 } } })], ...spec },
  }
}

const app = { name: 'app', image: 'example/app:1' }
const proxy = (more: Manifest): Manifest => ({ name: 'proxy', image: 'example/proxy:1', ...more })
const withProxy = (more: Manifest, annotations?: Parts['annotations']): Manifest =>
  pod({ ...(annotations && { annotations }), spec: { containers: [app, proxy(more)] } })
const execProbe = (command: readonly string[]): Manifest => ({ readinessProbe: { exec: { command } } })

/** So many things of a size make up the bytes; at least one. */
function items<T>(bytes: number, each: number, make: (index: number) => T): T[] {
  return Array.from({ length: Math.max(1, Math.floor(bytes / each)) }, (_, index) => make(index))
}
const numbered = (bytes: number, each: number, name = ''): string[] =>
  items(bytes, each, (index) => `${name}${index.toString(36)}`)

/** An exec probe of `count` words, each of which expands to `length` characters. */
export const expandingProbe = (count: number, length: number): Manifest =>
  withProxy({ env: [{ name: 'A', value: 'x'.repeat(length) }], ...execProbe(Array(count).fill('$(A)')) })

/** What a terminal, a shell, a URL, JSON and a log each have trouble with. */
const nasty = '\u001b]0;x\u0007\u001b[31m\u009b2J\u202e\u2028\ud800"\'\\$(A)`%00\n\r\t<&>\u0000'

/**
 * Pods that somebody wrote to cost more than their size deserves: each puts about so many bytes into one of the fields that an admission reads.
 * Not all would be stored; webhooks are asked before a pod is validated.
 */
export const hostilePods: Readonly<Record<string, (bytes: number) => Manifest>> = {
  'probe words that expand': (bytes) => expandingProbe(Math.floor(bytes / 10), Math.floor(bytes / 4)),
  'a probe word of open parentheses': (bytes) => withProxy(execProbe(['$('.repeat(bytes / 2)])),
  'a probe word of dollars': (bytes) => withProxy(execProbe(['$'.repeat(bytes)])),
  'variables that double one another': (bytes) => {
    const env = items(bytes, 60, (index) => ({ name: `A${index}`, value: `$(A${index - 1})`.repeat(2) }))
    return withProxy({ env: [{ name: 'A-1', value: 'x'.repeat(64) }, ...env], ...execProbe([`$(A${env.length - 1})`]) })
  },
  'many variables': (bytes) =>
    withProxy({ env: items(bytes, 32, (index) => ({ name: `A${index}`, value: 'x' })), ...execProbe(['$(A0)']) }),
  'sidecars that are not there': (bytes) => pod({ annotations: { [sidecars]: numbered(bytes, 5).join(',') } }),
  'one tier of names': (bytes) => pod({ annotations: { [sidecars]: numbered(bytes, 5).join('+') } }),
  'one name over and over': (bytes) => pod({ annotations: { [sidecars]: items(bytes, 4, () => 'app').join('+') } }),
  'one long name': (bytes) => pod({ annotations: { [sidecars]: 'a'.repeat(bytes) } }),
  'separators alone': (bytes) => pod({ annotations: { [sidecars]: ','.repeat(bytes) } }),
  'spaces between names': (bytes) => pod({ annotations: { [sidecars]: `app,${' '.repeat(bytes)}x` } }),
  'empty containers': (bytes) => pod({ spec: { containers: items(bytes, 3, () => ({})) } }),
  'empty containers, nothing asked': (bytes) =>
    pod({ annotations: {}, spec: { containers: items(bytes, 3, () => ({})) } }),
  'containers of one name': (bytes) => pod({ spec: { containers: items(bytes, 15, () => ({ name: 'a' })) } }),
  'containers, all listed': (bytes) => listed(bytes, 22, ',', (name) => ({ name })),
  'containers, all in one tier': (bytes) => listed(bytes, 22, '+', (name) => ({ name })),
  'containers with checks, one tier each': (bytes) =>
    listed(bytes, 75, ',', (name) => ({ name, readinessProbe: { tcpSocket: { port: 1 } } })),
  'containers with checks': (bytes) =>
    listed(bytes, 75, '+', (name) => ({ name, readinessProbe: { tcpSocket: { port: 1 } } })),
  'containers with checks, half of them apps': (bytes) => {
    const names = numbered(bytes, 75)
    const containers = names.map((name) => ({ name, readinessProbe: { tcpSocket: { port: 1 } } }))
    const half = names.slice(names.length / 2).join('+')
    return pod({ annotations: { [sidecars]: half }, spec: { containers } })
  },
  'apps that each wait for the port of every sidecar': (bytes) => {
    const command = ['sh', '-c', 'until nc -z localhost 1; do sleep 1; done']
    const names = numbered(bytes, 100)
    const half = names.length / 2
    const containers = names.map((name, index) =>
      index < half ? { name, command } : { name, readinessProbe: { tcpSocket: { port: 1 } } },
    )
    return pod({ annotations: { [sidecars]: names.slice(half).join('+') }, spec: { containers } })
  },
  'containers that each want the hook': (bytes) =>
    listed(bytes, 90, '+', (name) => ({ name, readinessProbe: { exec: { command: ['true'] } } })),
  'tiers in reverse': (bytes) => {
    const names = numbered(bytes, 75)
    const containers = names.map((name) => ({ name, readinessProbe: { tcpSocket: { port: 1 } } }))
    return pod({ annotations: { [sidecars]: names.toReversed().join(',') }, spec: { containers } })
  },
  'tiers in reverse, native': (bytes) => {
    const names = numbered(bytes, 75)
    const containers = [app, ...names.map((name) => ({ name, startupProbe: { tcpSocket: { port: 1 } } }))]
    return pod({
      annotations: { [sidecars]: names.toReversed().join(','), [`${prefix}/gate`]: 'native' },
      spec: { containers },
    })
  },
  'init containers': (bytes) => {
    const names = numbered(bytes, 90)
    const initContainers = names.map((name) => ({
      name,
      restartPolicy: 'Always',
      startupProbe: { tcpSocket: { port: 1 } },
    }))
    return pod({ annotations: { [sidecars]: names.toReversed().join(',') }, spec: { initContainers } })
  },
  'an exec check of quotes': (bytes) =>
    pod({ annotations: { [sidecars]: 'proxy', [checkOf('proxy')]: `exec:["x${'\\"'.repeat(bytes / 4)}"]` } }),
  'an exec check of words': (bytes) =>
    pod({
      annotations: { [sidecars]: 'proxy', [checkOf('proxy')]: `exec:${JSON.stringify(items(bytes, 6, () => 'x'))}` },
    }),
  'a probe of quotes': (bytes) => withProxy(execProbe(['"'.repeat(bytes / 2)])),
  'a probe of control characters': (bytes) => withProxy(execProbe(['x', '\u0001'.repeat(bytes / 6)])),
  'a probe of empty words': (bytes) => withProxy(execProbe(['x', ...items(bytes, 3, () => '')])),
  'a hook of quotes': (bytes) => withProxy({ ...ready, lifecycle: postStart(['x', '"'.repeat(bytes / 2)]) }),
  'a hook of words, shell': (bytes) =>
    withProxy(
      { ...ready, lifecycle: postStart(items(bytes, 4, () => 'x')) },
      { [sidecars]: 'proxy', [`${prefix}/waiter`]: 'shell' },
    ),
  'a hook that looks like ours': (bytes) =>
    withProxy({ ...ready, lifecycle: postStart(['/.sidecar-first/wait', '--spec', '['.repeat(bytes)]) }),
  'a hook that looks like ours, with a long one before': (bytes) => {
    const spec = { v: 1, checks: [], before: { exec: items(bytes, 8, () => 'x') }, message: '/dev/termination-log' }
    return withProxy({ ...ready, lifecycle: postStart(['/.sidecar-first/wait', '--spec', JSON.stringify(spec)]) })
  },
  'a hook that looks like our shell': (bytes) =>
    withProxy({ ...ready, lifecycle: postStart(['sh', '-c', 'exit', 'sidecar-first', ...items(bytes, 4, () => '1')]) }),
  'ports, and none of them the one': (bytes) =>
    withProxy({
      ports: items(bytes, 38, (index) => ({ name: `p${index}`, containerPort: 1 })),
      readinessProbe: { httpGet: { port: 'missing' } },
    }),
  headers: (bytes) =>
    withProxy({
      readinessProbe: { httpGet: { port: 1, httpHeaders: items(bytes, 26, () => ({ name: 'x', value: 'y' })) } },
    }),
  'a path of characters to escape': (bytes) =>
    withProxy({ readinessProbe: { httpGet: { port: 1, path: `/${'é'.repeat(bytes / 2)}` } } }),
  'unknown keys of ours': (bytes) =>
    pod({
      annotations: {
        [sidecars]: 'proxy',
        ...Object.fromEntries(numbered(bytes, 32, `${prefix}/k`).map((key) => [key, ''])),
      },
    }),
  'unknown keys of ours, nothing asked': (bytes) =>
    pod({ annotations: Object.fromEntries(numbered(bytes, 32, `${prefix}/k`).map((key) => [key, ''])) }),
  'checks of containers that are not there': (bytes) =>
    pod({
      annotations: {
        [sidecars]: 'proxy',
        ...Object.fromEntries(numbered(bytes, 42).map((name) => [checkOf(name), 'none'])),
      },
    }),
  'checks that are none': (bytes) => {
    const names = numbered(bytes, 60)
    return pod({
      annotations: { [sidecars]: names.join(','), ...Object.fromEntries(names.map((name) => [checkOf(name), '%'])) },
      spec: { containers: [app, ...names.map((name) => ({ name }))] },
    })
  },
  'keys of ours at the wrong place': (bytes) =>
    pod({ metadata: { labels: Object.fromEntries(numbered(bytes, 32, `${prefix}/k`).map((key) => [key, ''])) } }),
  "somebody else's annotations": (bytes) =>
    pod({
      annotations: { [sidecars]: 'proxy', ...Object.fromEntries(numbered(bytes, 16, 'x/k').map((key) => [key, ''])) },
    }),
  'a long duration': (bytes) =>
    pod({ annotations: { [sidecars]: 'proxy', [`${prefix}/timeout`]: '1m'.repeat(bytes / 2) } }),
  'a duration of digits': (bytes) =>
    pod({ annotations: { [sidecars]: 'proxy', [`${prefix}/timeout`]: `${'9'.repeat(bytes)}s` } }),
  'a long value for a choice': (bytes) =>
    pod({ annotations: { [sidecars]: 'proxy', [`${prefix}/gate`]: nasty.repeat(bytes / 64) } }),
  'a long URL': (bytes) =>
    pod({
      annotations: {
        [sidecars]: 'proxy',
        [checkOf('proxy')]: `http://${'['.repeat(bytes / 2)}:80/${'?'.repeat(bytes / 2)}`,
      },
    }),
  'a long image': (bytes) =>
    pod({ spec: { containers: [app, { ...ready, name: 'proxy', image: 'a/'.repeat(bytes / 2) }] } }),
  'names that a terminal obeys': (bytes) =>
    pod({
      annotations: { [sidecars]: nasty, [nasty]: nasty },
      spec: { containers: items(bytes, 150, (index) => ({ name: `${index}${nasty}`, image: nasty })) },
    }),
  "names like a prototype's": (bytes) =>
    pod({
      annotations: JSON.parse(`{"__proto__":"x","constructor":"y","${sidecars}":"constructor,toString"}`),
      spec: { containers: items(bytes, 40, (index) => ({ name: index % 2 ? 'constructor' : '__proto__' })) },
    }),
  volumes: (bytes) => pod({ spec: { volumes: items(bytes, 30, (index) => ({ name: `v${index}`, emptyDir: {} })) } }),
  mounts: (bytes) =>
    withProxy({
      ...ready,
      volumeMounts: items(bytes, 40, (index) => ({ name: `v${index}`, mountPath: `/m${index}` })),
    }),
  'resources of a sidecar': (bytes) =>
    withProxy({
      ...ready,
      resources: { limits: Object.fromEntries(numbered(bytes, 20, 'example.com/r').map((key) => [key, 1])) },
    }),
  'number keys': (bytes) =>
    pod({ metadata: { labels: Object.fromEntries(items(bytes, 14, (index) => [String(index * 2654435761), ''])) } }),
  'a field of the future, broad': (bytes) => withProxy({ ...ready, future: items(bytes, 3, () => ({})) }),
  owners: (bytes) => pod({ metadata: { ownerReferences: items(bytes, 14, () => ({ kind: 'Job' })) } }),
}

const ready = { readinessProbe: { httpGet: { path: '/ready', port: 15021 } } }
const checkOf = (name: string): string => `check.${prefix}/${name}`
const postStart = (command: readonly string[]): Manifest => ({ postStart: { exec: { command } } })

/** Containers of which each is a sidecar. */
function listed(bytes: number, each: number, sign: string, container: (name: string) => Manifest): Manifest {
  const names = numbered(bytes, each)
  return pod({ annotations: { [sidecars]: names.join(sign) }, spec: { containers: [app, ...names.map(container)] } })
}

/** A pod of 400 containers of which rules concern none: each is compared with every rule. */
export const manyImages = (count: number): Manifest =>
  pod({
    spec: {
      containers: [
        ...Array.from({ length: count }, (_, index) => ({
          name: `c${index}`,
          image: `registry.example.com/x/c${index}:1`,
        })),
        proxy(ready),
      ],
    },
  })

/** Rules whose globs have no word in common with anything, so that nothing narrows them. */
export function wideRules(count: number): string {
  const lines = Array.from(
    { length: count },
    (_, index) => `- {name: rule-${index}, match: {image: "*${index.toString(36)}?*z*"}, tier: ${index % 100}}\n`,
  )
  return `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules:\n${lines.join('')}`
}

/** What an API server sends when a pod is created, as text. Lone surrogates and deep nesting make it that way. */
export function reviewOf(object: Manifest, request: Manifest = {}): string {
  const empty = JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      namespace: 'default',
      operation: 'CREATE',
      userInfo: { username: 'somebody' },
      ...request,
      object: null,
    },
  })
  return empty.replace(/null\}\}$/, () => `${JSON.stringify(object)}}}`)
}
