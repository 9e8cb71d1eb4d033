import type { V1Container, V1Pod } from '@kubernetes/client-node'
import type { Metadata } from '../admission/pod/pod.ts'
import { readMetadata, readSpec } from '../admission/pod/read.ts'
import { type KnownSidecar, knownSidecars, recognise } from '../admission/suggest/known.ts'
import { unknownApps } from '../seen/app.ts'

/** Names of containers that are sidecars, too, though no preset knows them. */
export type Own = ReadonlySet<string>
export const noneOwn: Own = new Set()

/** What of a pod concerns a scan: its well-known sidecars, and the app that should wait for them. */
export interface ScanSubject {
  readonly app: string
  readonly sidecars: readonly KnownSidecar[]
}

/** Undefined for a manifest that can't be read, has no such sidecar, or nothing beside them: a gateway's proxy is the app itself. */
export function subjectOf(manifest: unknown, namespace?: Metadata, own = noneOwn): ScanSubject | undefined {
  const metadata = readMetadata(manifest)
  const spec = readSpec(manifest)
  if (!metadata.ok || !spec.ok) return undefined
  const pod = { metadata: metadata.value, spec: spec.value }
  const sidecars = knownSidecars(pod, namespace, own)
  const [app] = unknownApps(pod, own)
  return app && sidecars.length > 0 ? { app: app.name, sidecars } : undefined
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

/** Most pods of a cluster are alike: each name and image is compared with the presets once. */
const compared = new Map<string, boolean>()
const mostCompared = 10_000
/** An image's name can be as long as a pod; those that anybody uses are shorter than that. */
const mostName = 512

function isKnown({ name, image = '' }: { readonly name: string; readonly image?: string }): boolean {
  const key = `${name} ${image}`
  const before = compared.get(key)
  if (before !== undefined) return before
  const known = recognise({ name, image }) !== undefined
  if (key.length <= mostName && compared.size < mostCompared) compared.set(key, known)
  return known
}
