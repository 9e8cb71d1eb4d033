import { selects } from '../../src/admission/pod/selector.ts'
import { selectorText } from '../../src/kubernetes/selector.ts'
import type { ExitCode } from '../../src/terminal/command.ts'
import { ExpectedError } from '../../src/terminal/command.ts'
import type { SeenPod } from '../seen-pod.ts'
import type { SidecarRollout } from '../types.ts'
import type { RolloutCluster } from './calls.ts'
import type { StartRequest } from './request.ts'
import { type Session, sayNobody } from './session.ts'
import { takenUp, wait } from './status.ts'

/** How long a controller may take to see the rollout before `start` says that none does, in ms. */
const SOON = 5000

/** Creates a rollout, or gives the one with that name another image. @throws ExpectedError, ClusterError */
export async function start(session: Session, request: StartRequest): Promise<ExitCode> {
  const { cluster, namespace, terminal } = session
  const { name } = request.metadata
  terminal.stdout.write(`sidecarrollout/${name} ${await apply(cluster, request)}\n`)
  if (session.wait) return await wait(session, name)
  if (await takenUp(session, name, SOON)) {
    terminal.stdout.write(`Follow it: sidecar-first rollout status -n ${namespace} ${name} --wait\n`)
  } else await sayNobody(session)
  return 0
}

/** @returns what to say after the rollout's name */
async function apply(cluster: RolloutCluster, request: StartRequest): Promise<string> {
  const { metadata, spec } = request
  const [there, pods] = [await cluster.list(), await cluster.pods(spec.selector)]
  const before = there.find((one) => one.metadata.name === metadata.name)
  if (before && claimOf(before) !== claimOf(request)) {
    const claimed = `the rollout ${metadata.name} already exists, for ${claimOf(before)}`
    throw new ExpectedError('would-harm', `${claimed}; choose another --name`)
  }
  const having = pods?.filter((pod) => pod.containers.some(({ name }) => name === spec.container))
  if (pods && having?.length === 0) throw new ExpectedError('not-there', nothingTo(request, pods))
  const other = there.find((one) => one !== before && claims(one, request, having ?? []))
  if (other) throw new ExpectedError('would-harm', claimedBy(other, request))

  const after = await cluster.apply(request)
  if (before?.metadata.generation === after.metadata.generation) return 'is unchanged'
  const { maxUnavailable, partition } = after.spec.strategy
  const pace = `${having ? `${having.length} pods` : 'its pods'}, maxUnavailable ${maxUnavailable}`
  const gray = partition === 0 || partition === '0%' ? '' : `, partition ${partition}`
  const was = before && before.spec.image !== spec.image ? `${before.spec.image} becomes ` : ''
  return `${before ? 'changed' : 'created'}: ${was}${spec.image} for ${pace}${gray}`
}

/** What a rollout upgrades: `envoy of app=shop`. */
const claimOf = ({ spec }: Pick<StartRequest, 'spec'>) => `${spec.container} of ${selectorText(spec.selector)}`

/** Whether an existing rollout claims the same container of one of the pods. */
const claims = (one: SidecarRollout, request: StartRequest, pods: readonly SeenPod[]): boolean =>
  claimOf(one) === claimOf(request) ||
  (one.spec.container === request.spec.container && pods.some(({ labels }) => selects(one.spec.selector, labels)))

function claimedBy(one: SidecarRollout, request: StartRequest): string {
  const { name, namespace } = one.metadata
  const same = claimOf(one) === claimOf(request)
  const change = same ? `change that one (start --name ${name} …), or delete it` : 'delete that one first'
  return `the rollout ${name} already upgrades ${claimOf(one)}; ${change} (kubectl delete sidecarrollout -n ${namespace} ${name})`
}

function nothingTo({ metadata, spec }: StartRequest, pods: readonly SeenPod[]): string {
  const selector = selectorText(spec.selector)
  if (pods.length === 0) return `no pod in namespace ${metadata.namespace} matches ${selector}`
  const names = [...new Set(pods.flatMap(({ containers }) => containers.map(({ name }) => name)))]
  return `none of the ${pods.length} pods that match ${selector} has a container ${spec.container}; they have ${names.join(', ')}`
}
