import type { KubernetesObject, V1Namespace, V1ValidatingWebhookConfiguration } from '@kubernetes/client-node'
import { keys } from '../../admission/words/keys.ts'
import { workloads } from '../../webhooks/workloads.ts'
import { covering, type Manifest } from './coverage.ts'

/**
 * Whether the API server asks the webhook for workloads about this one, whose warnings whoever applies it then sees. As its condition has it: it is
 * not made by a controller, and names us.
 */
export function authorIsWarned(
  { kind, object, pod }: { readonly kind: string; readonly object: KubernetesObject; readonly pod: Manifest },
  webhooks: V1ValidatingWebhookConfiguration | undefined,
  namespace: Pick<V1Namespace, 'metadata'>,
): boolean {
  const { annotations = {}, ownerReferences = [] } = object.metadata ?? {}
  const looked = workloads.some(({ resources }) => resources?.includes(`${kind.toLowerCase()}s`))
  const own = { ...annotations, ...pod.metadata?.annotations }
  const named =
    Object.keys(own).some((key) => key.includes('sidecar-f')) || pod.metadata?.labels?.[keys.sidecars] !== undefined
  const made = ownerReferences.some(({ controller }) => controller)
  return looked && named && !made && covering(webhooks?.webhooks ?? [], namespace).length > 0
}
