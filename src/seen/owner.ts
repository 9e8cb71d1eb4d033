import type { V1Pod } from '@kubernetes/client-node'

/** What made a pod and would make it again. */
export interface Owner {
  /** `Pod` for one that nothing makes again. */
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** `Deployment shop/web` */
export const ownerText = ({ kind, namespace, name }: Owner): string => `${kind} ${namespace}/${name}`

/** A Deployment's ReplicaSet is named after it and the template's hash. */
export function ownerOf({ metadata }: Pick<V1Pod, 'metadata'>): Owner {
  const { name = '', namespace = '', labels = {}, ownerReferences = [] } = metadata ?? {}
  const owner = ownerReferences.find(({ controller }) => controller) ?? ownerReferences[0]
  // Whoever creates a pod writes its owners, unchecked, and these names go into commands to paste. An object's name has 253 characters at most.
  if (!owner || !/^[a-z0-9.-]{1,253}$/.test(owner.name) || !/^[A-Za-z]{1,63}$/.test(owner.kind))
    return { kind: 'Pod', namespace, name }
  const suffix = `-${labels['pod-template-hash']}`
  if (owner.kind === 'ReplicaSet' && owner.name.endsWith(suffix)) {
    return { kind: 'Deployment', namespace, name: owner.name.slice(0, -suffix.length) }
  }
  return { kind: owner.kind, namespace, name: owner.name }
}

const restartable = ['Deployment', 'StatefulSet', 'DaemonSet']

/** How to create its pods again. `pods`: some of them. */
export function renewal({ kind, namespace, name }: Owner, pods: readonly string[]): string {
  if (restartable.includes(kind)) return `kubectl rollout restart -n ${namespace} ${kind.toLowerCase()}/${name}`
  if (kind === 'Pod')
    return 'create it again from its manifest, since nothing else does (kubectl replace --force -f FILE)'
  if (kind === 'Job') return `delete the Job ${name} and create it again; a CronJob's next run is made right by itself`
  const shown = pods.slice(0, 5).join(' ')
  return `kubectl delete pod -n ${namespace} ${shown}${pods.length > 5 ? ' …' : ''}   (${kind} ${name} makes new ones)`
}
