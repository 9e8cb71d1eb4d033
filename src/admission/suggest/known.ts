import { lockOf } from '../hook/lock-names.ts'
import { openedBy, unwrap } from '../hook/unwrap.ts'
import { imageTexts, matchesImage } from '../intent/glob.ts'
import { isCalled, isDeclined, said } from '../intent/injected.ts'
import { runsOwnHook } from '../intent/own-hook.ts'
import { type Preset, presets } from '../intent/presets.ts'
import { isComparable } from '../intent/rule-index.ts'
import { isContainerName } from '../intent/tiers.ts'
import { isNative } from '../pod/kind.ts'
import type { Container, Metadata, Pod, Spec } from '../pod/pod.ts'
import { type Asked, askedOf } from '../words/probe-times.ts'
import { ownPreset } from './own.ts'

/** A well-known sidecar of a pod, and what holds the app back for it today. */
export interface KnownSidecar {
  /** The container's name. */
  readonly name: string
  readonly preset: Preset
  /** Its name, its image, or what the pod asks its injector for. */
  readonly by: 'name' | 'image' | 'injector'
  /** Undefined if an injector is still to add it. */
  readonly container: Container | undefined
  /** The app containers that start before it, or before the hook of ours that waits for it; none before a native sidecar. */
  readonly behind: readonly string[]
  readonly gate: GateToday
  /** Whether the app waits for it today. */
  readonly holds: boolean
}

/** What makes the app wait for a sidecar, or seems to. */
type GateToday =
  | { readonly kind: 'none' }
  /** A native sidecar that nothing asks whether it is ready: the app starts as soon as it runs. */
  | { readonly kind: 'native' }
  /** A native sidecar; the kubelet asks it every so many seconds, so the app starts up to that much late. */
  | ({ readonly kind: 'startup-probe' } & Asked)
  /** A PostStart hook of its own; `waits`: it is known to wait. */
  | { readonly kind: 'own-hook'; readonly waits: boolean }
  | { readonly kind: 'sidecar-first' }
  /** An init container of its injector has already done what there would be to wait for. */
  | { readonly kind: 'init-container'; readonly name: string }
  /** Its injector adds it when the pod is created; `key` asks for it. */
  | { readonly kind: 'not-yet-there'; readonly key: string }

/**
 * The well-known sidecars of a pod, in the order in which they start; those that an injector is still to add come last.
 * @param namespace its namespace's metadata, if they are known
 * @param own names of containers that are sidecars, too, though no preset knows them
 */
export function knownSidecars(
  { metadata, spec }: Pod,
  namespace?: Metadata,
  own: ReadonlySet<string> = none,
): readonly KnownSidecar[] {
  const { sidecars: found, apps } = partsOf({ metadata, spec }, own)
  // The one whose hook waits for it, for each.
  const awaited = new Map(
    [...spec.initContainers, ...spec.containers]
      .toReversed()
      .flatMap((carrier) => (unwrap(carrier.postStart)?.waitsFor ?? []).map((name) => [name, carrier] as const)),
  )
  const there = found.map(({ container, preset, by }): KnownSidecar => {
    const { list, index, postStart } = awaited.get(container.name) ?? container
    const key = openedBy(postStart)
    const isLocked = ({ variables }: Container) => key !== undefined && variables().some((each) => lockOf(each) === key)
    const behind = list === 'initContainers' ? [] : apps.filter((app) => app.index < index && !isLocked(app))
    const gate = gateToday(container, preset, { spec, awaited })
    const names = behind.map(({ name }) => name)
    return { name: container.name, preset, by, container, behind: names, gate, holds: holds(gate, names) }
  })
  return [...there, ...announced({ metadata, spec }, namespace)]
}

/** The containers that are there for the app, and the app's own; a pod of nothing but well-known sidecars has no app. */
interface Parts {
  readonly sidecars: readonly Found[]
  readonly apps: readonly Container[]
}

interface Found {
  readonly container: Container
  readonly preset: Preset
  readonly by: 'name' | 'image'
}

const none: ReadonlySet<string> = new Set()

export function partsOf({ metadata, spec }: Pod, own = none): Parts {
  const natives = spec.initContainers.filter(isNative)
  const found = [...natives, ...spec.containers].flatMap((container): Found[] => {
    const known = recognise(container) ?? ownOf(container, own)
    return known === undefined || isOfItsInstallation(known.preset, container, metadata)
      ? []
      : [{ container, ...known }]
  })
  const helpers = new Set(found.flatMap(({ preset }) => preset.helpers))
  const known = new Set(found.map(({ container }) => container))
  const apps = spec.containers.filter((container) => !known.has(container) && !helpers.has(container.name))
  if (apps.length > 0) return { sidecars: found, apps }
  // A gateway or a collector with a mesh's proxy: what would start last is what the pod is for.
  const tier = Math.max(...found.map(({ preset }) => preset.tier))
  const isLast = ({ container, preset }: Found) => preset.tier === tier && container.list === 'containers'
  const sidecars = found.filter((each) => !isLast(each))
  if (sidecars.length === 0) return { sidecars: found, apps: [] }
  return { sidecars, apps: found.filter(isLast).map(({ container }) => container) }
}

/** One that somebody calls a sidecar; what can't be written into an annotation can't be suggested. */
function ownOf({ name }: Container, own: ReadonlySet<string>): Omit<Found, 'container'> | undefined {
  return own.has(name) && isContainerName(name) ? { preset: ownPreset, by: 'name' } : undefined
}

/** Whether it is a gateway of its mesh, or its control plane: the first is an app itself, and the second may be what its proxy waits for. */
function isOfItsInstallation({ name }: Preset, { command, args }: Container, { labels }: Metadata): boolean {
  switch (name) {
    case 'istio':
      return [...command, ...args]
        .slice(0, 4)
        .some((word) => word === 'router' || word === 'waypoint' || word === 'ztunnel')
    case 'linkerd':
      return labels.has('linkerd.io/control-plane-component')
    default:
      return false
  }
}

/** By its name, else by its image: an image also serves containers that are something else. */
export function recognise({
  name,
  image,
}: Pick<Container, 'name' | 'image'>): { preset: Preset; by: 'name' | 'image' } | undefined {
  // What can't be written into an annotation can't be suggested.
  if (!isContainerName(name)) return undefined
  const named = presets.find(({ containers }) => containers.some((each) => isCalled(name, each)))
  if (named !== undefined) return { preset: named, by: 'name' }
  if (!isComparable(image)) return undefined
  const texts = imageTexts(image)
  const preset = presets.find(
    ({ images, imageIsShared }) => !imageIsShared && images.some((glob) => matchesImage(glob, texts)),
  )
  return preset && { preset, by: 'image' }
}

function gateToday(
  container: Container,
  { ownHook, preparedBy }: Preset,
  { spec, awaited }: { readonly spec: Spec; readonly awaited: ReadonlyMap<string, Container> },
): GateToday {
  const { name, list, startupProbe } = container
  if (awaited.has(name)) return { kind: 'sidecar-first' }
  if (preparedBy !== undefined && spec.initContainers.some((each) => each.name === preparedBy)) {
    return { kind: 'init-container', name: preparedBy }
  }
  if (list === 'initContainers' && startupProbe !== undefined) {
    return { kind: 'startup-probe', ...askedOf(startupProbe) }
  }
  const hook = unwrap(container.postStart)?.original
  if (hook !== undefined) {
    const waits = ownHook !== undefined && hook.kind === 'exec' && runsOwnHook(ownHook, hook.command, false)
    return { kind: 'own-hook', waits }
  }
  return { kind: list === 'initContainers' ? 'native' : 'none' }
}

function holds(gate: GateToday, behind: readonly string[]): boolean {
  switch (gate.kind) {
    case 'startup-probe':
    case 'init-container':
      return true
    case 'sidecar-first':
      return behind.length === 0
    case 'own-hook':
      return gate.waits && behind.length === 0
    case 'none':
    case 'native':
    case 'not-yet-there':
      return false
    default:
      return gate satisfies never
  }
}

/** Those that an injector is asked for and that aren't there yet, as sidecars or as gateways. */
function announced({ metadata, spec }: Pod, namespace: Metadata | undefined): readonly KnownSidecar[] {
  const asked = askedFor(metadata, namespace)
  if (asked.length === 0) return []
  const there = new Set([...spec.initContainers, ...spec.containers].map((each) => recognise(each)?.preset))
  return asked.flatMap(({ preset, key }): KnownSidecar[] => {
    const [name] = preset.containers
    if (name === undefined || there.has(preset) || (spec.hostNetwork && sparesHosts.has(preset.name))) return []
    const prepared = preset.preparedBy !== undefined && metadata.annotations.get(prePopulate) !== 'false'
    const gate: GateToday = prepared
      ? { kind: 'init-container', name: preset.preparedBy }
      : { kind: 'not-yet-there', key }
    return [{ name, preset, by: 'injector', container: undefined, behind: [], gate, holds: prepared }]
  })
}

/** The sidecars that injectors add where a namespace asks for them. */
export const byNamespace: readonly string[] = presets.flatMap(({ askedByNamespace, containers: [name] }) =>
  name === undefined || askedByNamespace.length === 0 ? [] : [name],
)

/** Whether its namespace alone may decide that it gets one of those: it has no well-known container, and says nothing to an injector. */
export function mayBeGiven({ metadata, spec }: Pod): boolean {
  const isSilent = presets.every((preset) => preset.askedFor.every((key) => said(metadata, key) === undefined))
  const containers = [...spec.initContainers, ...spec.containers]
  return isSilent && !spec.hostNetwork && !containers.some((each) => recognise(each) !== undefined)
}

/** Their injectors leave out a pod in the network of its node, whose traffic they would redirect. */
const sparesHosts: ReadonlySet<string> = new Set(['istio', 'linkerd'])

/**
 * The well-known sidecars that an injector is asked for, each with the annotation or label that does: the pod's, or its namespace's if the pod has none.
 * One that declines outweighs a revision beside it, as istiod's own pods have.
 */
export function askedFor(pod: Metadata, namespace?: Metadata): readonly { preset: Preset; key: string }[] {
  return presets.flatMap((preset) => {
    const own = preset.askedFor.filter((each) => said(pod, each) !== undefined)
    const { by, keys } = own.length > 0 ? { by: pod, keys: own } : { by: namespace, keys: preset.askedByNamespace }
    if (by === undefined || keys.some((each) => isDeclined(said(by, each)))) return []
    const key = keys.find((each) => isAsked(said(by, each)))
    return key === undefined ? [] : [{ preset, key }]
  })
}

/** Vault's: whether the init container is left out. */
const prePopulate = 'vault.hashicorp.com/agent-pre-populate'

/** `true`, `enabled`, or the name of a revision or a configuration. */
const isAsked = (value: unknown): boolean => typeof value === 'string' && value !== '' && !isDeclined(value)
