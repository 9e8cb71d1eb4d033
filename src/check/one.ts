import type { KubernetesObject, V1Namespace, V1Pod } from '@kubernetes/client-node'
import { defaultConfiguration } from '../admission/configuration.ts'
import { misplacedKeys } from '../admission/misplaced.ts'
import type { Objects } from '../kubernetes/objects.ts'
import { createdOf } from './coverage.ts'
import { explain } from './explain.ts'
import { type Finding, problem, warning } from './finding.ts'
import { ownerOf, renewal } from './owner.ts'
import type { Installed } from './site.ts'
import { manifestOf, type SubjectKind } from './subject.ts'

/**
 * Reads one pod, or a workload with a template, and says why it was patched or wasn't.
 * @throws ClusterError where it can't be read
 */
export async function examineOne(
  { objects, installed, version }: { objects: Objects; installed: Installed; version: string },
  { kind, name, namespace }: { kind: SubjectKind; name: string; namespace: string },
): Promise<readonly Finding[]> {
  const object = await objects.read<KubernetesObject>({ ...kind, metadata: { name, namespace } })
  if (!object)
    return [problem(`there is no ${kind.kind} ${name} in namespace ${namespace}`, 'name its namespace with -n')]
  const home = await objects.read<V1Namespace>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const remarks: Finding[] = []
  if (object.metadata?.deletionTimestamp !== undefined)
    remarks.push(warning(`this ${kind.kind} is being deleted`, 'name the one that takes its place'))
  const { mutating } = installed
  if (!mutating.ok) remarks.push(warning(`the webhook configuration can't be read: ${mutating.error.message}`))
  const live = installed.configuration.ok ? installed.configuration.value : undefined
  if (!live?.read.ok)
    remarks.push(
      warning(
        `judged by the default configuration: the live one ${live ? 'is not valid' : 'is not there, or may not be read'}`,
      ),
    )
  const isPod = kind.kind === 'Pod'
  const pod = manifestOf(object as unknown as Record<string, unknown>, kind, namespace)
  return [
    ...remarks,
    ...explain({
      pod,
      surroundings: kind.surroundings,
      made: isPod ? { created: createdOf(object), renew: renewal(ownerOf(object as V1Pod), [name]) } : undefined,
      namespace: home ?? { metadata: { name: namespace } },
      configuration: live?.read.ok ? live.read.configuration : defaultConfiguration(version),
      mutating: mutating.ok ? mutating.value : 'unreadable',
    }),
    ...misplacedKeys(kind.kind, object, pod, kind.template).map(({ text }) => warning(text)),
  ]
}
