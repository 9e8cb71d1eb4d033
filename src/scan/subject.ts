import type { V1Container, V1Pod } from '@kubernetes/client-node'
import type { Metadata } from '../admission/pod/pod.ts'
import { readMetadata, readSpec } from '../admission/pod/read.ts'
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

/** Undefined for a manifest that can't be read, has no such sidecar, or nothing beside them: a gateway's proxy is the app itself. */
export function subjectOf(manifest: unknown, namespace?: Metadata, own = noneOwn): ScanSubject | undefined {
  const metadata = readMetadata(manifest)
  const spec = readSpec(manifest)
  if (!metadata.ok || !spec.ok) return undefined
  const pod = { metadata: metadata.value, spec: spec.value }
  const sidecars = knownSidecars(pod, namespace, own)
  const [app] = appNames(pod, new Set(sidecars.map(({ name }) => name)))
  return app !== undefined && sidecars.length > 0 ? { app, sidecars } : undefined
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
