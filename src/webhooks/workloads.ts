import type { V1RuleWithOperations } from '@kubernetes/client-node'
import { keys } from '../admission/words/keys.ts'

type Operation = 'CREATE' | 'UPDATE'
const kind = (
  apiGroup: string,
  apiVersions: string[],
  resources: string[],
  operations: Operation[] = ['CREATE', 'UPDATE'],
): V1RuleWithOperations => ({ apiGroups: [apiGroup], apiVersions, resources, operations, scope: 'Namespaced' })

export const pods = kind('', ['v1'], ['pods'], ['CREATE'])

/** What makes pods, in Kubernetes and where it is often extended; what a cluster doesn't have matches nothing. Without `scale` and `status`. */
export const workloads: readonly V1RuleWithOperations[] = [
  kind('apps', ['v1'], ['deployments', 'statefulsets', 'daemonsets']),
  kind('batch', ['v1'], ['jobs', 'cronjobs']),
  kind('argoproj.io', ['v1alpha1'], ['rollouts']),
  kind('apps.kruise.io', ['v1alpha1', 'v1beta1'], ['clonesets', 'statefulsets', 'daemonsets']),
]

const template = (object: 'object' | 'oldObject') =>
  `${object}.?spec.?jobTemplate.?spec.?template.or(${object}.?spec.?template).orValue({})`
const annotations = (object: string) => `${object}.?metadata.?annotations.orValue({})`
/** Also in a misspelt domain, such as `sidecar-first.io` or `sidecar-frist.dev`: nothing else would tell its author. */
const isOurs = 'k.contains("sidecar-f")'

/**
 * When a workload is worth a look, in CEL: a pod template with our keys is new or another than before, or one of our keys on the workload
 * itself is. What a controller makes, such as a CronJob's Jobs, has nobody who would read a warning.
 */
export const workloadsCondition = `!object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false)) &&
([${template('object')}].exists(t,
(${annotations('t')}.exists(k, ${isOurs}) ||
"${keys.sidecars}" in t.?metadata.?labels.orValue({})) &&
(request.operation == "CREATE" || t != ${template('oldObject')})) ||
${annotations('object')}.exists(k, ${isOurs} &&
(request.operation == "CREATE" || ${annotations('oldObject')}[?k].orValue("") != object.metadata.annotations[k])))`
