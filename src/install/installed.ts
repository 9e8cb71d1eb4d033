import { failureKind } from '../kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../kubernetes/objects.ts'
import type { Manifest } from './apply.ts'

/** All that an installation may consist of, in the order in which it is taken away: what calls the pods, the pods, what they need. */
const kinds: readonly (readonly [apiVersion: string, kind: string, scope: 'cluster' | 'namespace'])[] = [
  ['admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'cluster'],
  ['admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'cluster'],
  ['monitoring.coreos.com/v1', 'PodMonitor', 'namespace'],
  ['monitoring.coreos.com/v1', 'ServiceMonitor', 'namespace'],
  ['monitoring.coreos.com/v1', 'PrometheusRule', 'namespace'],
  ['cert-manager.io/v1', 'Certificate', 'namespace'],
  ['cert-manager.io/v1', 'Issuer', 'namespace'],
  ['policy/v1', 'PodDisruptionBudget', 'namespace'],
  ['apps/v1', 'Deployment', 'namespace'],
  ['v1', 'Service', 'namespace'],
  ['networking.k8s.io/v1', 'NetworkPolicy', 'namespace'],
  ['v1', 'ConfigMap', 'namespace'],
  ['v1', 'Secret', 'namespace'],
  ['coordination.k8s.io/v1', 'Lease', 'namespace'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding', 'namespace'],
  ['rbac.authorization.k8s.io/v1', 'Role', 'namespace'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'cluster'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRole', 'cluster'],
  ['v1', 'ServiceAccount', 'namespace'],
  ['v1', 'ResourceQuota', 'namespace'],
  ['v1', 'Namespace', 'cluster'],
]

export const labelSelector = 'app.kubernetes.io/name=sidecar-first'

/** What carries our label, in the order in which to take it away. Kinds that the cluster doesn't have are passed over. */
export async function labelled(objects: Objects): Promise<Manifest[]> {
  const lists = await Promise.all(
    kinds.map(async ([apiVersion, kind]) => {
      const found = await objects.list<ClusterObject>({ apiVersion, kind }, { labelSelector }).catch((error: Error) => {
        if (failureKind(error) === 'missing' || error.message.includes('Unrecognized API version and kind')) return []
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
    return ours && deletionTimestamp === undefined && !kept.has(identity(each))
  })
}
