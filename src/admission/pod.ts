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

/** None of the fields read here is a property that all objects inherit, so a key like `constructor` in a manifest is only a key. */
type Fields = { readonly [key: string]: Json }

/**
 * Reads fields of unknown shape, collecting what doesn't fit. Null counts as absent, as in the API. Where it stands is kept as a stack of
 * keys: a path is written only for a problem.
 */
class Reader {
  readonly problems: string[] = []
  readonly #place: (string | number)[] = []

  map<T>(fields: Fields, key: string, read: (fields: Fields, reader: Reader) => T): T | undefined {
    const value = fields[key]
    if (value === undefined || value === null) return undefined
    this.#place.push(key)
    const result = isMap(value) ? read(value, this) : this.problem('expected a map')
    this.#place.pop()
    return result
  }

  /** Null stands for an item that is none. */
  maps<T>(fields: Fields, key: string, read: (fields: Fields, reader: Reader, index: number) => T): readonly T[] {
    return this.#list(fields, key, (item, index) => {
      if (!isMap(item) && item !== null) this.problem('expected a map')
      return read(isMap(item) ? item : nothing, this, index)
    })
  }

  texts(fields: Fields, key: string): readonly string[] {
    return this.#list(fields, key, (item) => {
      if (typeof item === 'string') return item
      if (item !== null) this.problem(notText)
      return ''
    })
  }

  text(fields: Fields, key: string): string {
    const value = fields[key]
    if (typeof value === 'string') return value
    if (value !== undefined && value !== null) this.problem(notText, key)
    return ''
  }

  number(fields: Fields, key: string, absent: number): number {
    const value = fields[key]
    if (value === undefined || value === null || value === 0) return absent
    if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 2_147_483_647) return value
    this.problem('expected a whole number', key)
    return absent
  }

  port(fields: Fields, key: string): number | string {
    const value = fields[key]
    if (typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))) return value
    this.problem("expected a port's number or name", key)
    return 0
  }

  /** Whether it can be run is for whom it concerns: of another container it mustn't refuse a pod that the API takes. */
  command(fields: Fields, key: string): readonly string[] {
    const words = this.texts(fields, key)
    if (words.length === 0) this.problem('expected a list of strings, a program first', key)
    return words
  }

  problem(text: string, key?: string): undefined {
    const place = key === undefined ? this.#place : [...this.#place, key]
    const path = place.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`))
    this.problems.push(`${path.join('')}: ${text}`)
  }

  #list<T>(fields: Fields, key: string, read: (item: Json, index: number) => T): readonly T[] {
    const value = fields[key]
    if (value === undefined || value === null) return []
    if (!Array.isArray(value)) {
      this.problem('expected a list', key)
      return []
    }
    const items: T[] = []
    this.#place.push(key)
    for (let index = 0; index < value.length; index++) {
      this.#place.push(index)
      items.push(read(value[index], index))
      this.#place.pop()
    }
    this.#place.pop()
    return items
  }
}

const nothing: Fields = {}
const notText = 'expected text; put quotes around it'

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] }

/** `metadata` of a pod; cheap, so that pods which ask for nothing cost nothing. */
export function readMetadata(pod: unknown): Read<Metadata> {
  const reader = new Reader()
  if (pod !== undefined && pod !== null && !isMap(pod)) return { ok: false, problems: ['pod: expected a map'] }
  const value = reader.map(pod ?? nothing, 'metadata', readPodMetadata)
  return reader.problems.length > 0
    ? { ok: false, problems: reader.problems }
    : { ok: true, value: value ?? noMetadata }
}

const noMetadata: Metadata = {
  name: '',
  namespace: '',
  annotations: new Map(),
  labels: new Map(),
  hasAnnotations: false,
  exists: false,
  ownedByJob: false,
}

function readPodMetadata(metadata: Fields, reader: Reader): Metadata {
  const { name, generateName, namespace, ownerReferences: owners } = metadata
  const annotations = reader.map(metadata, 'annotations', entries)
  return {
    name: typeof name === 'string' && name !== '' ? name : typeof generateName === 'string' ? `${generateName}*` : '',
    namespace: typeof namespace === 'string' ? namespace : '',
    annotations: annotations ?? noMetadata.annotations,
    labels: reader.map(metadata, 'labels', entries) ?? noMetadata.labels,
    hasAnnotations: annotations !== undefined,
    exists: true,
    ownedByJob: Array.isArray(owners) && owners.some((owner) => isMap(owner) && owner.kind === 'Job'),
  }
}

const entries = (fields: Fields): ReadonlyMap<string, Json> => new Map(Object.entries(fields))

/** `spec` of a pod. */
export function readSpec(pod: unknown): Read<Spec> {
  const reader = new Reader()
  const value = reader.map(isMap(pod) ? pod : nothing, 'spec', readPodSpec)
  if (value === undefined) return { ok: false, problems: ['spec: expected a map'] }
  return reader.problems.length > 0 ? { ok: false, problems: reader.problems } : { ok: true, value }
}

function readPodSpec(spec: Fields, reader: Reader): Spec {
  const containers = readContainers(spec, 'containers', reader)
  const initContainers = readContainers(spec, 'initContainers', reader)
  if (containers.length === 0) reader.problem('expected at least one container', 'containers')
  const volumes = reader.maps(spec, 'volumes', readVolume)
  const os = reader.map(spec, 'os', itself)
  const nodeSelector = reader.map(spec, 'nodeSelector', itself)
  return {
    containers,
    initContainers,
    hasInitContainers: isPresent(spec.initContainers),
    volumes,
    restartPolicy: reader.text(spec, 'restartPolicy') || 'Always',
    hostNetwork: spec.hostNetwork === true,
    activeDeadlineSeconds: reader.number(spec, 'activeDeadlineSeconds', 0) || undefined,
    windows: os?.name === 'windows' || nodeSelector?.['kubernetes.io/os'] === 'windows',
  }
}

const itself = (fields: Fields): Fields => fields

function readVolume(volume: Fields, reader: Reader): Volume {
  return {
    name: reader.text(volume, 'name'),
    emptyDir: isPresent(volume.emptyDir),
    image: isPresent(volume.image),
  }
}

function readContainers(spec: Fields, list: Container['list'], reader: Reader): readonly Container[] {
  const names = new Set<string>()
  return reader.maps(spec, list, (fields, _, index) => {
    const container = readContainer(fields, reader, list, index)
    const { name } = container
    if (name !== '' && names.has(name)) reader.problem(`another container is called ${name}`, 'name')
    names.add(name)
    return container
  })
}

function readContainer(container: Fields, reader: Reader, list: Container['list'], index: number): Container {
  const lifecycle = reader.map(container, 'lifecycle', readLifecycle)
  return {
    list,
    index,
    name: reader.text(container, 'name'),
    image: reader.text(container, 'image'),
    command: reader.texts(container, 'command'),
    args: reader.texts(container, 'args'),
    env: () => readEnv(container.env),
    ports: reader.maps(container, 'ports', readPort),
    startupProbe: reader.map(container, 'startupProbe', readProbe),
    readinessProbe: reader.map(container, 'readinessProbe', readProbe),
    hasLifecycle: lifecycle !== undefined,
    hasOtherLifecycle: lifecycle?.others === true,
    postStart: lifecycle?.postStart,
    terminationMessagePath: reader.text(container, 'terminationMessagePath') || '/dev/termination-log',
    restartPolicy: reader.text(container, 'restartPolicy'),
    resources: reader.map(container, 'resources', readResources) ?? nothing,
    mounts: reader.maps(container, 'volumeMounts', readMount),
  }
}

function readLifecycle(lifecycle: Fields, reader: Reader): { others: boolean; postStart: Hook | undefined } {
  return {
    others: Object.keys(lifecycle).some((key) => key !== 'postStart'),
    postStart: reader.map(lifecycle, 'postStart', readHook),
  }
}

function readPort(port: Fields, reader: Reader): ContainerPort {
  return { name: reader.text(port, 'name'), number: reader.number(port, 'containerPort', 0) }
}

function readMount(mount: Fields, reader: Reader): Container['mounts'][number] {
  return { name: reader.text(mount, 'name'), mountPath: reader.text(mount, 'mountPath') }
}

function readResources(resources: Fields, reader: Reader): Fields {
  const limits = reader.map(resources, 'limits', readQuantities)
  const requests = reader.map(resources, 'requests', readQuantities)
  return { ...(limits && { limits }), ...(requests && { requests }) }
}

function readQuantities(amounts: Fields, reader: Reader): Fields | undefined {
  if (Object.values(amounts).every((amount) => typeof amount !== 'object')) return amounts
  return reader.problem('expected quantities')
}

/** As the kubelet has it for exec probes (ExpandContainerCommandOnlyStatic): values as written, empty where they come from elsewhere. */
function readEnv(value: Json | undefined): ReadonlyMap<string, string> {
  const env = new Map<string, string>()
  for (const item of Array.isArray(value) ? value : []) {
    const variable: Json = item
    if (!isMap(variable)) continue
    const { name, value: text } = variable
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

function readProbe(probe: Fields, reader: Reader): Probe {
  // Absent and 0 mean these defaults of the API.
  return {
    handler: readProbeHandler(probe, reader),
    initialDelaySeconds: reader.number(probe, 'initialDelaySeconds', 0),
    periodSeconds: reader.number(probe, 'periodSeconds', 10),
    timeoutSeconds: reader.number(probe, 'timeoutSeconds', 1),
    successThreshold: reader.number(probe, 'successThreshold', 1),
    failureThreshold: reader.number(probe, 'failureThreshold', 3),
  }
}

function readProbeHandler(probe: Fields, reader: Reader): ProbeHandler {
  return (
    reader.map(probe, 'httpGet', readHttpGet) ??
    reader.map(probe, 'tcpSocket', readTcpSocket) ??
    reader.map(probe, 'grpc', readGrpc) ??
    reader.map(probe, 'exec', readExec) ?? { kind: 'none' }
  )
}

function readHook(hook: Fields, reader: Reader): Hook | undefined {
  const read =
    reader.map(hook, 'exec', readExec) ??
    reader.map(hook, 'httpGet', readHttpGet) ??
    reader.map(hook, 'sleep', readSleep) ??
    reader.map(hook, 'tcpSocket', readTcpSocket)
  if (read === undefined && Object.keys(hook).length > 0) {
    reader.problem('expected exec, httpGet, sleep or tcpSocket')
  }
  return read
}

/** A hook from a value of its own, such as `before` of a spec; undefined where it is none. */
export function readHookValue(value: Json): Hook | undefined {
  const reader = new Reader()
  const hook = reader.map({ before: value }, 'before', readHook)
  return reader.problems.length === 0 ? hook : undefined
}

function readHttpGet(httpGet: Fields, reader: Reader): { readonly kind: 'httpGet' } & HttpGet {
  const scheme = reader.text(httpGet, 'scheme') || 'HTTP'
  if (scheme !== 'HTTP' && scheme !== 'HTTPS') reader.problem('expected HTTP or HTTPS', 'scheme')
  return {
    kind: 'httpGet',
    scheme: scheme === 'HTTPS' ? 'HTTPS' : 'HTTP',
    host: reader.text(httpGet, 'host'),
    port: reader.port(httpGet, 'port'),
    path: reader.text(httpGet, 'path'),
    httpHeaders: reader.maps(httpGet, 'httpHeaders', readHeader),
  }
}

function readHeader(header: Fields, reader: Reader): Header {
  return { name: reader.text(header, 'name'), value: reader.text(header, 'value') }
}

function readTcpSocket(tcpSocket: Fields, reader: Reader): Extract<Hook, { kind: 'tcpSocket' }> {
  return { kind: 'tcpSocket', host: reader.text(tcpSocket, 'host'), port: reader.port(tcpSocket, 'port') }
}

function readGrpc(grpc: Fields, reader: Reader): Extract<ProbeHandler, { kind: 'grpc' }> {
  return { kind: 'grpc', port: reader.number(grpc, 'port', 0), service: reader.text(grpc, 'service') }
}

function readExec(exec: Fields, reader: Reader): Extract<Hook, { kind: 'exec' }> {
  return { kind: 'exec', command: reader.command(exec, 'command') }
}

function readSleep(sleep: Fields, reader: Reader): Extract<Hook, { kind: 'sleep' }> {
  return { kind: 'sleep', seconds: reader.number(sleep, 'seconds', 0) }
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPresent(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}
