import { isMissingKind } from '../kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../kubernetes/objects.ts'
import type { Manifest } from './apply.ts'

/** All that an installation may consist of, in the order in which it is taken away: what calls the pods, the pods, what they need. */
const kinds: readonly (readonly [apiVersion: string, kind: string])[] = [
  ['admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration'],
  ['admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration'],
  ['monitoring.coreos.com/v1', 'PodMonitor'],
  ['monitoring.coreos.com/v1', 'ServiceMonitor'],
  ['monitoring.coreos.com/v1', 'PrometheusRule'],
  ['cert-manager.io/v1', 'Certificate'],
  ['cert-manager.io/v1', 'Issuer'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['apps/v1', 'Deployment'],
  ['v1', 'Service'],
  ['networking.k8s.io/v1', 'NetworkPolicy'],
  ['v1', 'ConfigMap'],
  ['admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicyBinding'],
  ['admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding'],
  ['rbac.authorization.k8s.io/v1', 'Role'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
  ['v1', 'ServiceAccount'],
  ['v1', 'ResourceQuota'],
  ['v1', 'Namespace'],
  ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
]

export const labelSelector = 'app.kubernetes.io/name=sidecar-first'

/** What carries our label, in the order in which to take it away. Kinds that the cluster doesn't have are passed over. */
export async function labelled(objects: Objects): Promise<Manifest[]> {
  const lists = await Promise.all(
    kinds.map(async ([apiVersion, kind]) => {
      const found = await objects.list<ClusterObject>({ apiVersion, kind }, { labelSelector }).catch((error: Error) => {
        if (isMissingKind(error)) return []
        throw error
      })
      // Items of a list don't say what they are.
      return found.map((each) => ({ ...each, apiVersion, kind }) as Manifest)
    }),
  )
  return lists.flat()
}

const identity = ({ kind, metadata: { name, namespace = '' } }: Manifest) => `${kind} ${namespace}/${name}`

/** What an earlier `install --apply` has made and this one doesn't have, of what is labelled. */
export function leftovers(found: readonly Manifest[], wanted: readonly Manifest[]): Manifest[] {
  const kept = new Set(wanted.map(identity))
  return found.filter((each) => {
    const { managedFields = [], deletionTimestamp } = each.metadata
    const ours = managedFields.some(({ manager, operation }) => manager === 'sidecar-first' && operation === 'Apply')
    // With a definition go all objects of its kind, which are people's own.
    return (
      ours && deletionTimestamp === undefined && each.kind !== 'CustomResourceDefinition' && !kept.has(identity(each))
    )
  })
}
