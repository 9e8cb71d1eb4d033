import type { SeenPod } from '../../rollouts/pod.ts'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { selects } from '../admission/selector.ts'
import type { RolloutCluster } from './cluster.ts'
import { RolloutError } from './error.ts'
import type { StartRequest } from './request.ts'
import { selectorText } from './selector.ts'

/** Applies it, and says in one line what that means. @throws RolloutError, ClusterError */
export async function start(cluster: RolloutCluster, request: StartRequest): Promise<{ name: string; said: string }> {
  const { metadata, spec } = request
  const [there, pods] = [await cluster.list(), await cluster.pods(spec.selector)]
  const before = there.find((one) => one.metadata.name === metadata.name)
  if (before && !claimsTheSame(before, request)) {
    const claimed = `${before.spec.container} of ${selectorText(before.spec.selector)}`
    throw new RolloutError(`there is a rollout ${metadata.name} already, for ${claimed}; give this one another --name`)
  }
  const having = pods?.filter((pod) => pod.containers.some(({ name }) => name === spec.container))
  if (pods && having?.length === 0) throw new RolloutError(nothingTo(request, pods))
  const other = there.find((one) => one !== before && claims(one, request, having ?? []))
  if (other) throw new RolloutError(claimedBy(other, request))

  const after = await cluster.apply(request)
  const what = `sidecarrollout/${metadata.name}`
  const pace = `${having ? `${having.length} pods` : 'its pods'}, maxUnavailable ${after.spec.strategy.maxUnavailable}`
  const staying = after.spec.strategy.partition
  const gray = staying === 0 || staying === '0%' ? '' : `, partition ${staying}`
  if (before === undefined) return { name: metadata.name, said: `${what} created: ${spec.image} for ${pace}${gray}` }
  if (before.metadata.generation === after.metadata.generation)
    return { name: metadata.name, said: `${what} unchanged` }
  const image = before.spec.image === spec.image ? spec.image : `${before.spec.image} becomes ${spec.image}`
  return { name: metadata.name, said: `${what} changed: ${image} for ${pace}${gray}` }
}

function claimsTheSame({ spec }: SidecarRollout, { spec: wanted }: StartRequest): boolean {
  return spec.container === wanted.container && selectorText(spec.selector) === selectorText(wanted.selector)
}

/** Whether it has that container of one of those pods. */
function claims({ spec }: SidecarRollout, request: StartRequest, pods: readonly SeenPod[]): boolean {
  if (spec.container !== request.spec.container) return false
  return (
    selectorText(spec.selector) === selectorText(request.spec.selector) ||
    pods.some(({ labels }) => selects(spec.selector, labels))
  )
}

function claimedBy({ metadata: { name, namespace }, spec }: SidecarRollout, request: StartRequest): string {
  const claim = `${spec.container} of ${selectorText(spec.selector)}`
  const same = selectorText(spec.selector) === selectorText(request.spec.selector)
  const change = same ? `change that one (start --name ${name} …), or remove it` : 'remove that one first'
  return `the rollout ${name} has ${claim} already; ${change} (kubectl delete sidecarrollout -n ${namespace} ${name})`
}

function nothingTo({ metadata, spec }: StartRequest, pods: readonly SeenPod[]): string {
  const selector = selectorText(spec.selector)
  if (pods.length === 0) return `no pod in namespace ${metadata.namespace} matches ${selector}`
  const names = [...new Set(pods.flatMap(({ containers }) => containers.map(({ name }) => name)))]
  return `none of the ${pods.length} pods that match ${selector} has a container ${spec.container}; they have ${names.join(', ')}`
}
