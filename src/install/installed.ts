import { isMissingKind } from '../kubernetes/failure.ts'
import { objectNames, selectorOf } from '../kubernetes/names.ts'
import type { ClusterObject, Objects } from '../kubernetes/objects.ts'
import type { Manifest } from './apply.ts'

/** All kinds of objects of an installation, in the order of removal: the webhook configurations, the pods, what they need. */
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
  ['flowcontrol.apiserver.k8s.io/v1', 'FlowSchema'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding'],
  ['rbac.authorization.k8s.io/v1', 'Role'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
  ['v1', 'ServiceAccount'],
  ['v1', 'ResourceQuota'],
  ['v1', 'Namespace'],
  ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
]

/** What has our label, in the order of removal. Kinds that the cluster doesn't have are skipped. */
export async function labelled(objects: Objects): Promise<Manifest[]> {
  const lists = await Promise.all(
    kinds.map(async ([apiVersion, kind]) => {
      const found = await objects
        .list<ClusterObject>({ apiVersion, kind }, { labelSelector: selectorOf() })
        .catch((error: Error) => {
          if (isMissingKind(error)) return []
          throw error
        })
      // The items of a list have no kind.
      return found.map((each) => ({ ...each, apiVersion, kind }) as Manifest)
    }),
  )
  return lists.flat()
}

const identity = ({ kind, metadata: { name, namespace = '' } }: Manifest) => `${kind} ${namespace}/${name}`

/** Of the labelled objects, those that an earlier `install --apply` created and this one doesn't contain. */
export function leftovers(found: readonly Manifest[], wanted: readonly Manifest[]): Manifest[] {
  const kept = new Set(wanted.map(identity))
  return found.filter((each) => {
    const { managedFields = [], deletionTimestamp } = each.metadata
    const ours = managedFields.some(
      ({ manager, operation }) => manager === objectNames.fieldManager && operation === 'Apply',
    )
    // Removing a definition removes all objects of its kind, which belong to users.
    return (
      ours && deletionTimestamp === undefined && each.kind !== 'CustomResourceDefinition' && !kept.has(identity(each))
    )
  })
}
