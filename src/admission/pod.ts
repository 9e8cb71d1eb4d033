import type { Json } from './operation.ts'

/**
 * The parts of a Pod (core/v1) that admission reads, translated from a manifest that anybody may have written: what has the wrong
 * shape becomes a problem that names its path. Everything else stays in the manifest, which is never written back.
 */
export interface Metadata {
  /** `name`, or `generateName` with `*`, or empty. */
  readonly name: string
  readonly namespace: string
  readonly annotations: ReadonlyMap<string, Json>
  readonly labels: ReadonlyMap<string, Json>
  /** Whether there is a map to add an annotation to. */
  readonly hasAnnotations: boolean
  readonly exists: boolean
  readonly ownedByJob: boolean
}

export interface Spec {
  readonly containers: readonly Container[]
  readonly initContainers: readonly Container[]
  readonly hasInitContainers: boolean
  readonly volumes: readonly Volume[]
  readonly hasVolumes: boolean
  readonly restartPolicy: string
  readonly hostNetwork: boolean
  readonly windows: boolean
  /** Seconds; a Job's pod may carry it. */
  readonly activeDeadlineSeconds: number | undefined
}

export interface Volume {
  readonly name: string
  readonly emptyDir: boolean
  readonly image: boolean
}

export interface Container {
  /** Where it stands: `spec[list][index]`. */
  readonly list: 'containers' | 'initContainers'
  readonly index: number
  readonly name: string
  readonly image: string
  readonly command: readonly string[]
  readonly args: readonly string[]
  /** What `$(NAME)` in an exec probe stands for. */
  readonly env: () => ReadonlyMap<string, string>
  readonly ports: readonly ContainerPort[]
  readonly startupProbe: Probe | undefined
  readonly readinessProbe: Probe | undefined
  readonly hasLifecycle: boolean
  /** Whether `lifecycle` holds anything beside `postStart`. */
  readonly hasOtherLifecycle: boolean
  readonly postStart: Hook | undefined
  readonly terminationMessagePath: string
  /** Of the container itself; `Always` makes an init container a native sidecar. */
  readonly restartPolicy: string
  /** `limits` and `requests` alone. */
  readonly resources: { readonly [key: string]: Json }
  readonly mounts: readonly { readonly name: string; readonly mountPath: string }[]
}

export interface ContainerPort {
  readonly name: string
  readonly number: number
}

export interface Header {
  readonly name: string
  readonly value: string
}

export interface Probe {
  readonly handler: ProbeHandler
  readonly initialDelaySeconds: number
  readonly periodSeconds: number
  readonly timeoutSeconds: number
  readonly successThreshold: number
  readonly failureThreshold: number
}

export type ProbeHandler =
  | ({ readonly kind: 'httpGet' } & HttpGet)
  | { readonly kind: 'tcpSocket'; readonly host: string; readonly port: number | string }
  | { readonly kind: 'grpc'; readonly port: number; readonly service: string }
  | { readonly kind: 'exec'; readonly command: readonly string[] }
  | { readonly kind: 'none' }

export interface HttpGet {
  readonly scheme: 'HTTP' | 'HTTPS'
  readonly host: string
  readonly port: number | string
  readonly path: string
  readonly httpHeaders: readonly Header[]
}

/** A PostStart hook. */
export type Hook =
  | { readonly kind: 'exec'; readonly command: readonly string[] }
  | { readonly kind: 'sleep'; readonly seconds: number }
  | ({ readonly kind: 'httpGet' } & HttpGet)
  | { readonly kind: 'tcpSocket'; readonly host: string; readonly port: number | string }

type Fields = { readonly [key: string]: Json }

/** Reads values of unknown shape, collecting what doesn't fit. Null counts as absent, as in the API. */
class Reader {
  readonly problems: string[] = []

  fields(value: Json | undefined, path: string): Fields | undefined {
    if (value === undefined || value === null) return undefined
    if (typeof value === 'object' && !Array.isArray(value)) return value as Fields
    this.problems.push(`${path}: expected a map`)
    return undefined
  }

  list(value: Json | undefined, path: string): readonly Json[] {
    if (value === undefined || value === null) return []
    if (Array.isArray(value)) return value
    this.problems.push(`${path}: expected a list`)
    return []
  }

  text(value: Json | undefined, path: string): string {
    if (value === undefined || value === null) return ''
    if (typeof value === 'string') return value
    this.problems.push(`${path}: expected text; put quotes around it`)
    return ''
  }

  number(value: Json | undefined, path: string, absent: number): number {
    if (value === undefined || value === null || value === 0) return absent
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2_147_483_647) return value
    this.problems.push(`${path}: expected a whole number`)
    return absent
  }

  port(value: Json | undefined, path: string): number | string {
    if (typeof value === 'string') return value
    if (typeof value === 'number' && Number.isInteger(value)) return value
    this.problems.push(`${path}: expected a port's number or name`)
    return 0
  }

  /** Whether it can be run is for whom it concerns: of another container it mustn't refuse a pod that the API takes. */
  command(value: Json | undefined, path: string): readonly string[] {
    const words = this.words(value, path)
    if (words.length === 0) this.problems.push(`${path}: expected a list of strings, a program first`)
    return words
  }

  words(value: Json | undefined, path: string): readonly string[] {
    return this.list(value, path).map((word, index) => this.text(word, `${path}[${index}]`))
  }
}

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] }

/** `metadata` of a pod; cheap, so that pods which ask for nothing cost nothing. */
export function readMetadata(pod: unknown): Read<Metadata> {
  const reader = new Reader()
  const root = reader.fields(pod as Json, 'pod') ?? {}
  const metadata = reader.fields(own(root, 'metadata'), 'metadata')
  const annotations = reader.fields(own(metadata, 'annotations'), 'metadata.annotations')
  const labels = reader.fields(own(metadata, 'labels'), 'metadata.labels')
  const name = own(metadata, 'name')
  const generateName = own(metadata, 'generateName')
  const namespace = own(metadata, 'namespace')
  const owners = own(metadata, 'ownerReferences')
  if (reader.problems.length > 0) return { ok: false, problems: reader.problems }
  return {
    ok: true,
    value: {
      name: typeof name === 'string' && name !== '' ? name : typeof generateName === 'string' ? `${generateName}*` : '',
      namespace: typeof namespace === 'string' ? namespace : '',
      annotations: new Map(Object.entries(annotations ?? {})),
      labels: new Map(Object.entries(labels ?? {})),
      hasAnnotations: annotations !== undefined,
      exists: metadata !== undefined,
      ownedByJob: Array.isArray(owners) && owners.some((owner) => isMap(owner) && own(owner, 'kind') === 'Job'),
    },
  }
}

/** `spec` of a pod. */
export function readSpec(pod: unknown): Read<Spec> {
  const reader = new Reader()
  const spec = reader.fields(own(isMap(pod) ? pod : undefined, 'spec'), 'spec')
  if (spec === undefined) return { ok: false, problems: ['spec: expected a map'] }
  const containers = readContainers(reader, spec, 'containers')
  const initContainers = readContainers(reader, spec, 'initContainers')
  if (containers.length === 0) reader.problems.push('spec.containers: expected at least one container')
  const volumes = reader.list(own(spec, 'volumes'), 'spec.volumes').map((value, index) => {
    const volume = reader.fields(value, `spec.volumes[${index}]`)
    return {
      name: reader.text(own(volume, 'name'), `spec.volumes[${index}].name`),
      emptyDir: isPresent(own(volume, 'emptyDir')),
      image: isPresent(own(volume, 'image')),
    }
  })
  const os = reader.fields(own(spec, 'os'), 'spec.os')
  const nodeSelector = reader.fields(own(spec, 'nodeSelector'), 'spec.nodeSelector')
  const value: Spec = {
    containers,
    initContainers,
    hasInitContainers: isPresent(own(spec, 'initContainers')),
    volumes,
    hasVolumes: isPresent(own(spec, 'volumes')),
    restartPolicy: reader.text(own(spec, 'restartPolicy'), 'spec.restartPolicy') || 'Always',
    hostNetwork: own(spec, 'hostNetwork') === true,
    activeDeadlineSeconds:
      reader.number(own(spec, 'activeDeadlineSeconds'), 'spec.activeDeadlineSeconds', 0) || undefined,
    windows: own(os, 'name') === 'windows' || own(nodeSelector, 'kubernetes.io/os') === 'windows',
  }
  return reader.problems.length > 0 ? { ok: false, problems: reader.problems } : { ok: true, value }
}

function readContainers(reader: Reader, spec: Fields, list: 'containers' | 'initContainers'): Container[] {
  const names = new Set<string>()
  return reader.list(own(spec, list), `spec.${list}`).map((value, index) => {
    const container = readContainer(reader, value, { list, index })
    if (container.name !== '' && names.has(container.name)) {
      reader.problems.push(`spec.${list}[${index}].name: another container is called ${container.name}`)
    }
    names.add(container.name)
    return container
  })
}

function readContainer(reader: Reader, value: Json, place: Pick<Container, 'list' | 'index'>): Container {
  const path = `spec.${place.list}[${place.index}]`
  const at = (field: string) => `${path}.${field}`
  const container = reader.fields(value, path)
  const lifecycle = reader.fields(own(container, 'lifecycle'), at('lifecycle'))
  const resources = reader.fields(own(container, 'resources'), at('resources'))
  return {
    ...place,
    name: reader.text(own(container, 'name'), at('name')),
    image: reader.text(own(container, 'image'), at('image')),
    command: reader.words(own(container, 'command'), at('command')),
    args: reader.words(own(container, 'args'), at('args')),
    env: () => readEnv(own(container, 'env')),
    ports: reader.list(own(container, 'ports'), at('ports')).map((item, i) => {
      const port = reader.fields(item, `${at('ports')}[${i}]`)
      return {
        name: reader.text(own(port, 'name'), `${at('ports')}[${i}].name`),
        number: reader.number(own(port, 'containerPort'), `${at('ports')}[${i}].containerPort`, 0),
      }
    }),
    startupProbe: readProbe(reader, own(container, 'startupProbe'), at('startupProbe')),
    readinessProbe: readProbe(reader, own(container, 'readinessProbe'), at('readinessProbe')),
    hasLifecycle: lifecycle !== undefined,
    hasOtherLifecycle: Object.keys(lifecycle ?? {}).some((key) => key !== 'postStart'),
    postStart: readHook(reader, own(lifecycle, 'postStart'), at('lifecycle.postStart')),
    terminationMessagePath:
      reader.text(own(container, 'terminationMessagePath'), at('terminationMessagePath')) || '/dev/termination-log',
    restartPolicy: reader.text(own(container, 'restartPolicy'), at('restartPolicy')),
    resources: Object.fromEntries(
      (['limits', 'requests'] as const).flatMap((key) => {
        const amounts = reader.fields(own(resources, key), at(`resources.${key}`))
        if (amounts === undefined) return []
        const flat = Object.entries(amounts).every(([, amount]) => typeof amount !== 'object')
        if (!flat) reader.problems.push(`${at(`resources.${key}`)}: expected quantities`)
        return flat ? [[key, amounts]] : []
      }),
    ),
    mounts: reader.list(own(container, 'volumeMounts'), at('volumeMounts')).map((item, i) => {
      const mount = reader.fields(item, `${at('volumeMounts')}[${i}]`)
      return {
        name: reader.text(own(mount, 'name'), `${at('volumeMounts')}[${i}].name`),
        mountPath: reader.text(own(mount, 'mountPath'), `${at('volumeMounts')}[${i}].mountPath`),
      }
    }),
  }
}

/** As the kubelet has it for exec probes (ExpandContainerCommandOnlyStatic): values as written, empty where they come from elsewhere. */
function readEnv(value: Json | undefined): ReadonlyMap<string, string> {
  const env = new Map<string, string>()
  for (const item of Array.isArray(value) ? value : []) {
    const variable: Json = item
    if (!isMap(variable)) continue
    const [name, text] = [own(variable, 'name'), own(variable, 'value')]
    if (typeof name === 'string') env.set(name, typeof text === 'string' ? text : '')
  }
  return env
}

/** `$(NAME)` replaced as Kubernetes does (third_party/forked/golang/expansion): `$$` is a dollar, an unknown name stays as written. */
export function expand(text: string, env: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\$|\$\(([^)]*)\)/g, (written, name: string | undefined) =>
    name === undefined ? '$' : (env.get(name) ?? written),
  )
}

function readProbe(reader: Reader, value: Json | undefined, path: string): Probe | undefined {
  const probe = reader.fields(value, path)
  if (probe === undefined) return undefined
  // Absent and 0 mean these defaults of the API.
  const seconds = (field: string, absent: number) => reader.number(own(probe, field), `${path}.${field}`, absent)
  return {
    handler: readProbeHandler(reader, probe, path),
    initialDelaySeconds: seconds('initialDelaySeconds', 0),
    periodSeconds: seconds('periodSeconds', 10),
    timeoutSeconds: seconds('timeoutSeconds', 1),
    successThreshold: seconds('successThreshold', 1),
    failureThreshold: seconds('failureThreshold', 3),
  }
}

function readProbeHandler(reader: Reader, probe: Fields, path: string): ProbeHandler {
  const httpGet = reader.fields(own(probe, 'httpGet'), `${path}.httpGet`)
  if (httpGet) return { kind: 'httpGet', ...readHttpGet(reader, httpGet, `${path}.httpGet`) }
  const tcpSocket = reader.fields(own(probe, 'tcpSocket'), `${path}.tcpSocket`)
  if (tcpSocket) return { kind: 'tcpSocket', ...readTcpSocket(reader, tcpSocket, `${path}.tcpSocket`) }
  const grpc = reader.fields(own(probe, 'grpc'), `${path}.grpc`)
  if (grpc) {
    const port = reader.number(own(grpc, 'port'), `${path}.grpc.port`, 0)
    return { kind: 'grpc', port, service: reader.text(own(grpc, 'service'), `${path}.grpc.service`) }
  }
  const exec = reader.fields(own(probe, 'exec'), `${path}.exec`)
  if (exec) return { kind: 'exec', command: reader.command(own(exec, 'command'), `${path}.exec.command`) }
  return { kind: 'none' }
}

function readHook(reader: Reader, value: Json | undefined, path: string): Hook | undefined {
  const hook = reader.fields(value, path)
  if (hook === undefined) return undefined
  const exec = reader.fields(own(hook, 'exec'), `${path}.exec`)
  if (exec) return { kind: 'exec', command: reader.command(own(exec, 'command'), `${path}.exec.command`) }
  const httpGet = reader.fields(own(hook, 'httpGet'), `${path}.httpGet`)
  if (httpGet) return { kind: 'httpGet', ...readHttpGet(reader, httpGet, `${path}.httpGet`) }
  const sleep = reader.fields(own(hook, 'sleep'), `${path}.sleep`)
  if (sleep) return { kind: 'sleep', seconds: reader.number(own(sleep, 'seconds'), `${path}.sleep.seconds`, 0) }
  const tcpSocket = reader.fields(own(hook, 'tcpSocket'), `${path}.tcpSocket`)
  if (tcpSocket) return { kind: 'tcpSocket', ...readTcpSocket(reader, tcpSocket, `${path}.tcpSocket`) }
  if (Object.keys(hook).length > 0) reader.problems.push(`${path}: expected exec, httpGet, sleep or tcpSocket`)
  return undefined
}

/** A hook from a value of its own, such as `before` of a spec; undefined where it is none. */
export function readHookValue(value: Json): Hook | undefined {
  const reader = new Reader()
  const hook = readHook(reader, value, 'before')
  return reader.problems.length === 0 ? hook : undefined
}

function readHttpGet(reader: Reader, httpGet: Fields, path: string): HttpGet {
  const scheme = reader.text(own(httpGet, 'scheme'), `${path}.scheme`) || 'HTTP'
  if (scheme !== 'HTTP' && scheme !== 'HTTPS') reader.problems.push(`${path}.scheme: expected HTTP or HTTPS`)
  return {
    scheme: scheme === 'HTTPS' ? 'HTTPS' : 'HTTP',
    host: reader.text(own(httpGet, 'host'), `${path}.host`),
    port: reader.port(own(httpGet, 'port'), `${path}.port`),
    path: reader.text(own(httpGet, 'path'), `${path}.path`),
    httpHeaders: reader.list(own(httpGet, 'httpHeaders'), `${path}.httpHeaders`).map((item, i) => {
      const header = reader.fields(item, `${path}.httpHeaders[${i}]`)
      return {
        name: reader.text(own(header, 'name'), `${path}.httpHeaders[${i}].name`),
        value: reader.text(own(header, 'value'), `${path}.httpHeaders[${i}].value`),
      }
    }),
  }
}

function readTcpSocket(reader: Reader, tcpSocket: Fields, path: string): { host: string; port: number | string } {
  return {
    host: reader.text(own(tcpSocket, 'host'), `${path}.host`),
    port: reader.port(own(tcpSocket, 'port'), `${path}.port`),
  }
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPresent(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}

/** A field. None of those read here is a property that all objects inherit, so a key like `constructor` in a manifest is only a key. */
function own(fields: Fields | undefined, key: string): Json | undefined {
  return fields?.[key]
}
