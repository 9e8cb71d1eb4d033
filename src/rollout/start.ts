import type { SeenPod } from '../../rollouts/pod.ts'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { selects } from '../admission/selector.ts'
import type { ExitCode } from '../cli/command.ts'
import type { RolloutCluster } from './cluster.ts'
import { RolloutError } from './error.ts'
import { takenUp } from './follow.ts'
import type { StartRequest } from './request.ts'
import { selectorText } from './selector.ts'
import { type Session, sayNobody } from './session.ts'
import { wait } from './wait.ts'

/** How long a controller may take to see it before that is said, in ms. */
const SOON = 5000

/** Makes a rollout, or gives the one of that name another image. @throws RolloutError, ClusterError */
export async function start(session: Session, request: StartRequest): Promise<ExitCode> {
  const { cluster, namespace, terminal } = session
  const { name } = request.metadata
  terminal.stdout.write(`sidecarrollout/${name} ${await apply(cluster, request)}\n`)
  if (session.wait) return await wait(session, name)
  if (await takenUp(cluster, name, SOON)) {
    terminal.stdout.write(`See how it goes: sidecar-first rollout status -n ${namespace} ${name} --wait\n`)
  } else await sayNobody(session)
  return 0
}

/** @returns what that means, behind the rollout's name */
async function apply(cluster: RolloutCluster, request: StartRequest): Promise<string> {
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
  if (before?.metadata.generation === after.metadata.generation) return 'is unchanged'
  const { maxUnavailable, partition } = after.spec.strategy
  const pace = `${having ? `${having.length} pods` : 'its pods'}, maxUnavailable ${maxUnavailable}`
  const gray = partition === 0 || partition === '0%' ? '' : `, partition ${partition}`
  const was = before && before.spec.image !== spec.image ? `${before.spec.image} becomes ` : ''
  return `${before ? 'changed' : 'created'}: ${was}${spec.image} for ${pace}${gray}`
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
