import type { KubernetesObject, V1MutatingWebhook, V1Namespace } from '@kubernetes/client-node'
import { type Configuration, defaultConfiguration } from '../../admission/intent/configuration.ts'
import type { Surroundings } from '../../admission/pod/surroundings.ts'
import { allowed } from '../../kubernetes/failure.ts'
import type { Objects } from '../../kubernetes/objects.ts'
import { type Told, told } from '../findings.ts'
import { type Installed, readInstalled } from '../site.ts'
import { covering, type Manifest, standingOf } from './coverage.ts'
import { sidecarsOf } from './start.ts'
import { manifestOf, type SubjectKind } from './subject.ts'

/** By what a pod or a workload is judged. */
export interface Circumstances {
  /** Plain JSON: a pod, or what a template makes. */
  readonly pod: Manifest
  readonly surroundings: Surroundings
  readonly namespace: Pick<V1Namespace, 'metadata'>
  readonly configuration: Configuration
  /** Those that the API server calls for its namespace. */
  readonly covers: readonly V1MutatingWebhook[]
}

/** @param home its namespace, if that can be read */
export function circumstancesOf(
  { object, kind, namespace }: { object: KubernetesObject; kind: SubjectKind; namespace: string },
  { installed, version, home }: { installed: Installed; version: string; home: V1Namespace | undefined },
): Circumstances {
  const { configuration, mutating } = installed
  const read = configuration.ok ? configuration.value?.read : undefined
  const here = home ?? { metadata: { name: namespace } }
  return {
    pod: manifestOf(object as unknown as Record<string, unknown>, kind, namespace),
    surroundings: kind.surroundings,
    namespace: here,
    configuration: read?.ok ? read.configuration : defaultConfiguration(version),
    covers: covering((mutating.ok && mutating.value?.webhooks) || [], here),
  }
}

/** The same, as the cluster shows it, for what judges by nothing else. `unread`: the configuration is there and doesn't count. @throws ClusterError */
export async function sidecarsFor(
  subject: { object: KubernetesObject; kind: SubjectKind; namespace: string },
  { objects, version }: { objects: Objects; version: string },
): Promise<{ readonly sidecars: readonly string[]; readonly unread: Told | undefined }> {
  const reference = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: subject.namespace } }
  const [home, { installed }] = await Promise.all([
    allowed(objects.read<V1Namespace>(reference)),
    readInstalled(objects, undefined, version),
  ])
  const { configuration } = installed
  const live = !configuration.ok ? 'missing or may not be read' : configuration.value?.read.ok === false && 'invalid'
  return {
    sidecars: sidecarsToday(circumstancesOf(subject, { installed, version, home })),
    unread: live ? told({ kind: 'default-configuration', live }) : undefined,
  }
}

/** The sidecars that annotations and rules name. */
export const sidecarsToday = ({ pod, configuration, covers, surroundings }: Circumstances): readonly string[] =>
  sidecarsOf(standingOf(pod, configuration, covers, surroundings).decision)
