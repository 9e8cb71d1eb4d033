import type { Json } from '../../../src/admission/words/json.ts'

/** Whether an API server would store a pod, as far as the changes of these tests go: it judges a pod before the final check sees it. */
type Map_ = { readonly [key: string]: Json }
const isMap = (value: Json | undefined): value is Map_ =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

export function isAcceptable(pod: Json): boolean {
  if (!isMap(pod) || !isMap(pod.spec) || !isMap(pod.metadata)) return false
  const { metadata, spec } = pod
  if (![metadata.labels, metadata.annotations].every(isTexts)) return false
  const containers = listOf(spec.containers)
  const inits = listOf(spec.initContainers)
  const volumes = listOf(spec.volumes)
  if (containers === undefined || inits === undefined || volumes === undefined || containers.length === 0) return false
  if (!areFlags(spec, 'shareProcessNamespace', 'hostPID', 'hostNetwork')) return false
  if (spec.shareProcessNamespace === true && spec.hostPID === true) return false
  if (!isOneOf(spec.restartPolicy, 'Always', 'Never', 'OnFailure')) return false
  if (!isOptionalText(spec.runtimeClassName) || (spec.nodeSelector !== undefined && !isTexts(spec.nodeSelector)))
    return false
  if (!areUnique([...inits, ...containers].map(({ name }) => name))) return false
  if (!areUnique(volumes.map(({ name }) => name)) || !volumes.every(isVolume)) return false
  const names = new Set(volumes.map(({ name }) => name))
  return (
    inits.every((each) => isContainer(each, names, true)) && containers.every((each) => isContainer(each, names, false))
  )
}

/** `undefined`: not a list of maps. What is null is nothing to an API server. */
function listOf(value: Json | undefined): readonly Map_[] | undefined {
  if (value === undefined || value === null) return []
  return Array.isArray(value) && (value as readonly Json[]).every(isMap) ? (value as readonly Map_[]) : undefined
}
function isTexts(value: Json | undefined): boolean {
  return value === undefined || (isMap(value) && Object.values(value).every((each) => typeof each === 'string'))
}
const areUnique = (names: readonly (Json | undefined)[]) =>
  new Set(names).size === names.length &&
  names.every((name) => isText(name) && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name))
const isOneOf = (value: Json | undefined, ...allowed: string[]) =>
  value === undefined || allowed.includes(value as string)
const isOptionalText = (value: Json | undefined) => value === undefined || isText(value)
const areFlags = (of: Map_, ...keys: string[]) =>
  keys.every((key) => of[key] === undefined || typeof of[key] === 'boolean')

function isVolume({ name: _, ...sources }: Map_): boolean {
  const [source, ...more] = Object.entries(sources)
  if (source === undefined || more.length > 0) return false
  const [kind, its] = source
  if (!isMap(its)) return false
  if (kind === 'emptyDir') {
    if (!Object.keys(its).every((key) => key === 'medium' || key === 'sizeLimit')) return false
    return isOneOf(its.medium, '', 'Memory') && (its.sizeLimit === undefined || /^\d+(Mi)?$/.test(`${its.sizeLimit}`))
  }
  return (kind === 'image' && isText(its.reference)) || (kind === 'configMap' && isText(its.name))
}

function isContainer(container: Map_, volumes: ReadonlySet<Json | undefined>, isInit: boolean): boolean {
  const { image, lifecycle, restartPolicy } = container
  if (!isText(image) || image.trim() !== image) return false
  if (!isOneOf(restartPolicy, 'Always', 'Never', 'OnFailure')) return false
  if (isInit && restartPolicy !== 'Always') {
    if (lifecycle !== undefined || container.readinessProbe !== undefined || container.startupProbe !== undefined)
      return false
  }
  if (!['command', 'args'].every((key) => container[key] === undefined || areWords(container[key]))) return false
  if (!isOptionalText(container.terminationMessagePath)) return false
  const mounts = listOf(container.volumeMounts)
  const env = listOf(container.env)
  if (mounts === undefined || env === undefined) return false
  if (new Set(mounts.map(({ mountPath }) => mountPath)).size !== mounts.length) return false
  if (!mounts.every((each) => isMount(each, volumes)) || !env.every(isVariable)) return false
  if (!isHookable(lifecycle)) return false
  return [container.readinessProbe, container.startupProbe].every((probe) => probe === undefined || isHandler(probe))
}
const areWords = (value: Json | undefined) => Array.isArray(value) && value.every((word) => typeof word === 'string')

function isMount(mount: Map_, volumes: ReadonlySet<Json | undefined>): boolean {
  const { name, mountPath, subPath, subPathExpr } = mount
  if (!volumes.has(name) || !isText(mountPath) || mountPath.includes(':')) return false
  if (!isOptionalText(subPath) || !isOptionalText(subPathExpr)) return false
  if (subPath !== undefined && subPathExpr !== undefined) return false
  return areFlags(mount, 'readOnly') && isOneOf(mount.mountPropagation, 'None')
}

function isVariable({ name, value, valueFrom, ...more }: Map_): boolean {
  if (!isText(name) || Object.keys(more).length > 0) return false
  if (valueFrom === undefined) return value === undefined || typeof value === 'string'
  if (value !== undefined || !isMap(valueFrom)) return false
  const file = valueFrom.fileKeyRef
  if (!isMap(file) || Object.keys(valueFrom).length !== 1) return false
  const { volumeName, path, key, optional } = file
  if (optional !== undefined && typeof optional !== 'boolean') return false
  return isText(volumeName) && isText(key) && isText(path) && !path.startsWith('/') && !path.split('/').includes('..')
}

function isHookable(lifecycle: Json | undefined): boolean {
  if (lifecycle === undefined) return true
  if (!isMap(lifecycle)) return false
  return Object.entries(lifecycle).every(([key, hook]) => (key === 'postStart' || key === 'preStop') && isHandler(hook))
}

const handlers = ['exec', 'httpGet', 'tcpSocket', 'sleep', 'grpc']
function isHandler(handler: Json): boolean {
  if (!isMap(handler)) return false
  const kinds = Object.keys(handler).filter((key) => handlers.includes(key))
  const [kind] = kinds
  const its = kind === undefined ? undefined : handler[kind]
  if (kinds.length !== 1 || !isMap(its)) return false
  if (kind === 'exec') return areWords(its.command) && (its.command as readonly Json[]).length > 0
  if (kind === 'sleep') return Number.isInteger(its.seconds)
  return (
    Number.isInteger(its.port) && (its.port as number) > 0 && (its.path === undefined || typeof its.path === 'string')
  )
}
