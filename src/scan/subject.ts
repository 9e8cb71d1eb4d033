import type { V1Container, V1Pod } from '@kubernetes/client-node'
import type { Metadata, Pod } from '../admission/pod/pod.ts'
import { readMetadata, readSpec } from '../admission/pod/read.ts'
import type { Read } from '../admission/pod/reader.ts'
import { type KnownSidecar, knownSidecars } from '../admission/suggest/known.ts'
import { appNames } from '../seen/app.ts'
import { isKnown } from '../seen/known.ts'

/** Names of containers that are sidecars, too, though no preset knows them. */
export type Own = ReadonlySet<string>
export const noneOwn: Own = new Set()

/** What of a pod concerns a scan: its well-known sidecars, and the app that should wait for them. */
export interface ScanSubject {
  readonly app: string
  readonly sidecars: readonly KnownSidecar[]
}

/** A manifest's pod, or why it can't be read. */
export function podOf(manifest: unknown): Read<Pod> {
  const [metadata, spec] = [readMetadata(manifest), readSpec(manifest)]
  if (!metadata.ok) return metadata
  return spec.ok ? { ok: true, value: { metadata: metadata.value, spec: spec.value } } : spec
}

/** Undefined for a manifest that can't be read, has no such sidecar, or nothing beside them: a gateway's proxy is the app itself. */
export function subjectOf(manifest: unknown, namespace?: Metadata, own = noneOwn): ScanSubject | undefined {
  const pod = podOf(manifest)
  if (!pod.ok) return undefined
  const sidecars = knownSidecars(pod.value, namespace, own)
  const [app] = appNames(pod.value, new Set(sidecars.map(({ name }) => name)))
  return app !== undefined && sidecars.length > 0 ? { app, sidecars } : undefined
}

/** Of these names those that none of the containers has. */
export function without(own: Own, containers: readonly { readonly name: string }[]): Own {
  if (own.size === 0) return own
  const there = new Set(containers.map(({ name }) => name))
  return new Set([...own].filter((name) => !there.has(name)))
}

/** The same for a pod of a cluster, in which injectors have done their work. */
export function liveSubjectOf(pod: V1Pod, own = noneOwn): ScanSubject | undefined {
  const { containers = [], initContainers = [] } = pod.spec ?? {}
  const isOne = (container: V1Container) => own.has(container.name) || isKnown(container)
  if (!containers.some(isOne) && !initContainers.some(isOne)) return undefined
  const subject = subjectOf(pod, undefined, own)
  const sidecars = subject?.sidecars.filter(({ container }) => container !== undefined) ?? []
  return subject && sidecars.length > 0 ? { ...subject, sidecars } : undefined
}
