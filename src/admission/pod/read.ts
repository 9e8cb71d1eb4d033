import type { Json } from '../words/json.ts'
import type {
  Container,
  ContainerPort,
  Header,
  Hook,
  HttpGet,
  Metadata,
  MountDetail,
  Probe,
  ProbeHandler,
  RunAs,
  Spec,
  Variable,
  Volume,
} from './pod.ts'
import { type Fields, isMap, isPresent, nothing, type Read, Reader } from './reader.ts'

/** `metadata` of a pod; cheap, so that pods that ask for nothing cost nothing. */
export function readMetadata(pod: unknown): Read<Metadata> {
  const reader = new Reader()
  if (pod !== undefined && pod !== null && !isMap(pod)) return notAMap('pod')
  const value = reader.map(pod ?? nothing, 'metadata', readPodMetadata)
  return reader.problems.length > 0
    ? { ok: false, problems: reader.problems }
    : { ok: true, value: value ?? noMetadata }
}

const notAMap = (path: string): Read<never> => ({
  ok: false,
  problems: [{ kind: 'unexpected-value', expected: 'map', path }],
})

const noMetadata: Metadata = {
  name: '',
  namespace: '',
  annotations: new Map(),
  labels: new Map(),
  hasAnnotations: false,
  exists: false,
  ownedByJob: false,
}

/** The API server cuts a generateName to as many before it adds five of its own (apiserver/pkg/storage/names). */
const mostGenerated = 58

function readPodMetadata(metadata: Fields, reader: Reader): Metadata {
  const { name, generateName, namespace, ownerReferences: owners } = metadata
  const annotations = reader.map(metadata, 'annotations', entries)
  return {
    name:
      typeof name === 'string' && name !== ''
        ? name
        : typeof generateName === 'string'
          ? `${generateName.slice(0, mostGenerated)}*`
          : '',
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
  if (reader.problems.length > 0) return { ok: false, problems: reader.problems }
  return value === undefined ? notAMap('spec') : { ok: true, value }
}

/**
 * In both lists together. A container that is worth having takes 3 KB of the 1.5 MiB that can be stored, and no node runs as many in one pod.
 */
export const mostContainers = 512

/** Undefined, and a problem, if there are more containers than are looked at. */
function readPodSpec(spec: Fields, reader: Reader): Spec | undefined {
  const lists = [spec.containers, spec.initContainers].filter((list) => Array.isArray(list))
  const count = lists.reduce((sum, list) => sum + list.length, 0)
  if (count > mostContainers) return reader.problem({ kind: 'too-many-containers', count, most: mostContainers })
  const containers = readContainers(spec, 'containers', reader)
  const initContainers = readContainers(spec, 'initContainers', reader)
  if (containers.length === 0) reader.expected('containers', 'containers')
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
    sharesProcesses:
      spec.hostPID === true ? 'hostPID' : spec.shareProcessNamespace === true ? 'shareProcessNamespace' : undefined,
    runtimeClassName: textIn(spec, 'runtimeClassName'),
    virtualNode: () => nodeSelector?.type === 'virtual-kubelet' || toleratesVirtual(spec.tolerations),
    gracePeriod: () => readGracePeriod(spec.terminationGracePeriodSeconds),
    activeDeadlineSeconds: reader.number(spec, 'activeDeadlineSeconds', 0) || undefined,
    runAs: () => readRunAs(spec.securityContext),
    windows: os?.name === 'windows' || nodeSelector?.['kubernetes.io/os'] === 'windows',
  }
}

/** As the API server takes it: 30 by default, and what is negative counts as 1. */
function readGracePeriod(value: Json | undefined): number {
  if (typeof value !== 'number') return 30
  return value < 0 ? 1 : value
}

function toleratesVirtual(tolerations: Json | undefined): boolean {
  if (!Array.isArray(tolerations)) return false
  return tolerations.some((each: Json) => isMap(each) && textIn(each, 'key').startsWith('virtual-kubelet.io/'))
}

const itself = (fields: Fields): Fields => fields

function readVolume(volume: Fields, reader: Reader): Volume {
  return {
    name: reader.text(volume, 'name'),
    emptyDir: isPresent(volume.emptyDir),
    memory: isMap(volume.emptyDir) && volume.emptyDir.medium === 'Memory',
    image: isPresent(volume.image),
    imageReference: isMap(volume.image) ? textIn(volume.image, 'reference') : '',
  }
}

function readContainers(spec: Fields, list: Container['list'], reader: Reader): readonly Container[] {
  const names = new Set<string>()
  return reader.maps(spec, list, (fields, _, index) => {
    const container = readContainer(fields, reader, list, index)
    const { name } = container
    if (name !== '' && names.has(name)) reader.problem({ kind: 'duplicate-container', name }, 'name')
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
    variables: () => readVariables(container.env),
    ports: reader.maps(container, 'ports', readPort),
    startupProbe: reader.map(container, 'startupProbe', readProbe),
    readinessProbe: reader.map(container, 'readinessProbe', readProbe),
    hasLivenessProbe: isPresent(container.livenessProbe),
    liveness: () => readLiveness(container.livenessProbe),
    lifecycleKeys: lifecycle?.keys,
    hasPreStop: lifecycle?.hasPreStop === true,
    preStop: lifecycle?.preStop ?? noHook,
    postStart: lifecycle?.postStart,
    terminationMessagePath: reader.text(container, 'terminationMessagePath') || '/dev/termination-log',
    restartPolicy: reader.text(container, 'restartPolicy'),
    hasRestartRules: isPresent(container.restartPolicyRules),
    runAs: () => readRunAs(container.securityContext),
    dropped: () => readDropped(container.securityContext),
    resources: reader.map(container, 'resources', readResources) ?? nothing,
    mounts: reader.maps(container, 'volumeMounts', readMount),
    mountDetails: () => [...readMountDetails(container.volumeMounts), ...readDevices(container.volumeDevices)],
  }
}

function readLiveness(probe: Json | undefined): ReturnType<Container['liveness']> {
  const httpGet = isMap(probe) && isMap(probe.httpGet) ? probe.httpGet : nothing
  const { port } = httpGet
  return typeof port === 'number' || typeof port === 'string'
    ? { path: textIn(httpGet, 'path'), port, https: httpGet.scheme === 'HTTPS' }
    : undefined
}

function readLifecycle(lifecycle: Fields, reader: Reader) {
  const { preStop } = lifecycle
  return {
    keys: Object.keys(lifecycle),
    hasPreStop: isPresent(preStop),
    preStop: () => (preStop === undefined || preStop === null ? undefined : (readHookValue(preStop) ?? 'unreadable')),
    postStart: reader.map(lifecycle, 'postStart', readHook),
  }
}

const noHook = () => undefined

function readPort(port: Fields, reader: Reader): ContainerPort {
  return {
    name: reader.text(port, 'name'),
    number: reader.number(port, 'containerPort', 0),
    tcp: [undefined, '', 'TCP'].includes(port.protocol as string | undefined),
  }
}

function readMount(mount: Fields, reader: Reader): Container['mounts'][number] {
  return { name: reader.text(mount, 'name'), mountPath: reader.text(mount, 'mountPath') }
}

function readMountDetails(value: Json | undefined): readonly MountDetail[] {
  return (Array.isArray(value) ? value : []).filter(isMap).map((mount) => ({
    name: textIn(mount, 'name'),
    mountPath: textIn(mount, 'mountPath'),
    readOnly: mount.readOnly === true,
    partial: textIn(mount, 'subPath') !== '' || textIn(mount, 'subPathExpr') !== '',
  }))
}

/** A block device lies over a path as a mount does. */
function readDevices(value: Json | undefined): readonly MountDetail[] {
  return (Array.isArray(value) ? value : []).filter(isMap).map((device) => ({
    name: textIn(device, 'name'),
    mountPath: textIn(device, 'devicePath'),
    readOnly: false,
    partial: false,
  }))
}

function textIn(fields: Fields, key: string): string {
  const value = fields[key]
  return typeof value === 'string' ? value : ''
}

/** What isn't a number of the API's is refused by the API server. */
function readRunAs(context: Json | undefined): RunAs {
  const { runAsUser, runAsGroup } = isMap(context) ? context : nothing
  return { user: idOf(runAsUser), group: idOf(runAsGroup) }
}

/** Linux knows 41; what no capability is called is for the API server or the runtime to refuse where it stands. */
const mostDropped = 64
const capability = /^(?!ALL$)[A-Z][A-Z_]{0,31}$/

function readDropped(context: Json | undefined): readonly string[] {
  const { drop } = isMap(context) && isMap(context.capabilities) ? context.capabilities : nothing
  const names = Array.isArray(drop) ? drop.slice(0, mostDropped) : []
  return [...new Set(names.filter((each): each is string => typeof each === 'string' && capability.test(each)))]
}

const idOf = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined

function readResources(resources: Fields, reader: Reader): Fields {
  const limits = reader.map(resources, 'limits', readQuantities)
  const requests = reader.map(resources, 'requests', readQuantities)
  return { ...(limits && { limits }), ...(requests && { requests }) }
}

function readQuantities(amounts: Fields, reader: Reader): Fields | undefined {
  if (Object.values(amounts).every((amount) => typeof amount !== 'object')) return amounts
  return reader.expected('quantities')
}

/** As the kubelet sees it for exec probes (ExpandContainerCommandOnlyStatic): values as written, empty if they come from elsewhere. */
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

function readVariables(value: Json | undefined): readonly Variable[] {
  return (Array.isArray(value) ? value : []).map((item: Json) => {
    const variable = isMap(item) ? item : nothing
    const sources = isMap(variable.valueFrom) ? variable.valueFrom : nothing
    const source = sources.fileKeyRef
    const name = textIn(variable, 'name')
    const isBare = !isPresent(variable.value) && Object.values(sources).every((each) => !isPresent(each))
    if (!isMap(source)) return { name, file: undefined, isBare }
    const [volume, path, key] = [textIn(source, 'volumeName'), textIn(source, 'path'), textIn(source, 'key')]
    return { name, file: { volume, path, key, optional: source.optional === true }, isBare: false }
  })
}

/**
 * The words with `$(NAME)` replaced as Kubernetes does (third_party/forked/golang/expansion): `$$` is a dollar, an unknown name stays as
 * written. Undefined as soon as they are more than `most` characters together: 60 kB can stand for 200 MB.
 */
export function expand(
  words: readonly string[],
  env: ReadonlyMap<string, string>,
  most: number,
): readonly string[] | undefined {
  let room = most
  const expanded: string[] = []
  for (const word of words) {
    // Behind the last parenthesis there are no names; looking for its end from each `$(` would take the square of the length.
    const last = word.lastIndexOf(')') + 1
    let text = ''
    let end = 0
    for (const found of word.slice(0, last).matchAll(/\$\$|\$\(([^)]*)\)/g)) {
      const [written, name] = found
      text += word.slice(end, found.index) + (name === undefined ? '$' : (env.get(name) ?? written))
      if (text.length > room) return undefined
      end = found.index + written.length
    }
    text += word.slice(end, last) + word.slice(last).replaceAll('$$', () => '$')
    room -= text.length
    if (room < 0) return undefined
    expanded.push(text)
  }
  return expanded
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
    reader.expected('hook')
  }
  return read
}

/** A hook that stands alone, such as `before` of a spec; undefined if it isn't one. */
export function readHookValue(value: Json): Hook | undefined {
  const reader = new Reader()
  const hook = reader.map({ before: value }, 'before', readHook)
  return reader.problems.length === 0 ? hook : undefined
}

function readHttpGet(httpGet: Fields, reader: Reader): { readonly kind: 'httpGet' } & HttpGet {
  const scheme = reader.text(httpGet, 'scheme') || 'HTTP'
  if (scheme !== 'HTTP' && scheme !== 'HTTPS') reader.expected('scheme', 'scheme')
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
  return { kind: 'sleep', seconds: reader.long(sleep, 'seconds') }
}
