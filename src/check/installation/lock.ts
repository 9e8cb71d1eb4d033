import type { V1MutatingWebhookConfiguration, V1Node, V1Pod } from '@kubernetes/client-node'
import { lockKey, lockVariable } from '../../admission/hook/lock-names.ts'
import type { Configuration } from '../../admission/intent/configuration.ts'
import { knowsLock, lockSince } from '../../admission/plan/lock.ts'
import type { Json } from '../../admission/words/json.ts'
import type { Coded } from '../../admission/words/values.ts'
import { abilityOf, isOlder } from '../../install/nodes.ts'
import { trialPod } from '../../install/trial-pod.ts'
import { ClusterError, failureKind } from '../../kubernetes/failure.ts'
import type { Objects } from '../../kubernetes/objects.ts'
import { callsForLocks } from '../../webhooks/path.ts'
import type { AutoIdle } from '../findings/webhooks.ts'
import { type Finding, told } from '../findings.ts'
import type { Check } from '../site.ts'

/** Whether pods are locked by themselves, and can be, where the configuration does so: the feature can be off, whatever the version is. */
export const lock: Check = {
  name: 'lock',
  async run({ objects, installed, namespace }) {
    // Without a valid one, other checks say so.
    const found = installed.configuration
    const read = found.ok ? found.value?.read : undefined
    if (!read?.ok) return []
    const { mutating } = installed
    const idle = idleAuto(read.configuration, mutating.ok ? mutating.value : undefined)
    const auto = idle === undefined ? ({ kind: 'auto-locks' } as const) : await judgeIdle(idle, objects, namespace)
    if (idle !== undefined && !locksPods(read.configuration)) return [auto]
    return [auto, { kind: (await storesLock(objects, namespace)) ? 'lock-stored' : 'lock-dropped' }]
  },
}

/** A choice is fine; what only nobody has told the configuration isn't. Nodes that can't be looked at are another check's. */
async function judgeIdle(idle: AutoIdle, objects: Objects, namespace: string): Promise<Finding> {
  if (idle.kind === 'default') return { kind: 'auto-idle', idle }
  const nodes = await objects.list<V1Node>({ apiVersion: 'v1', kind: 'Node' }).catch(unseen)
  const version = lockableFrom(nodes ?? [])
  const stores = version === undefined ? undefined : await storesLock(objects, namespace).catch(unseen)
  if (stores === false) return { kind: 'auto-idle', idle: { kind: 'dropped' } }
  return version === undefined || stores === undefined
    ? { kind: 'auto-idle', idle }
    : { kind: 'auto-could', idle, version }
}

function unseen(error: unknown): undefined {
  if (!(error instanceof ClusterError)) throw error
}

/** The oldest node's version, if every node knows the lock. */
function lockableFrom(nodes: readonly V1Node[]): string | undefined {
  const linux = nodes
    .flatMap(({ status }) => status?.nodeInfo ?? [])
    .filter((each) => each.operatingSystem !== 'windows')
  const [first] = linux
  if (first === undefined) return undefined
  const { kubernetesVersion } = abilityOf(first.kubeletVersion, linux)
  return isOlder(kubernetesVersion, [lockSince.major, lockSince.minor]) ? undefined : kubernetesVersion
}

/** Why `auto` locks no pod; undefined if it does. */
export function idleAuto(
  configuration: Configuration,
  webhooks: V1MutatingWebhookConfiguration | undefined,
): AutoIdle | undefined {
  const { defaults, kubernetesVersion } = configuration
  if (defaults.lock !== 'auto') return { kind: 'default', lock: defaults.lock }
  if (kubernetesVersion === undefined) return { kind: 'no-version' }
  if (knowsLock(configuration) !== true) {
    return { kind: 'old-version', version: `${kubernetesVersion.major}.${kubernetesVersion.minor}` }
  }
  return callsForLocks(webhooks) ? undefined : { kind: 'old-webhooks' }
}

/** Whether its rules or its defaults lock pods. */
function locksPods({ defaults, rules }: Configuration): boolean {
  return defaults.lock === 'on' || rules.rules.some((rule) => rule.lock === 'on')
}

/**
 * Asks the API server in a dry run whether it keeps a variable that comes from a file.
 * @param namespace whose pods the webhook never sees
 * @throws ClusterError if it can't be asked
 */
export async function storesLock(objects: Objects, namespace: string): Promise<boolean> {
  const { metadata, spec, ...rest } = trialPod(namespace)
  const [app, ...others] = spec?.containers ?? []
  const volumes = [{ name: 'sidecar-first-lock', emptyDir: { medium: 'Memory' } }]
  const tryOut = async (env: readonly Json[]) => {
    const pod = {
      ...rest,
      metadata: { generateName: metadata?.generateName, namespace },
      spec: { ...spec, volumes, containers: [{ ...app, env }, ...others] },
    }
    return await objects.create(pod as unknown as V1Pod, { dryRun: true })
  }
  try {
    const stored = await tryOut([lockVariable(lockKey(1))])
    return stored.spec?.containers[0]?.env?.[0]?.valueFrom?.fileKeyRef !== undefined
  } catch (error) {
    if (failureKind(error) !== 'invalid') throw error
    // Without the field, the variable has no source. A policy of somebody's would refuse the pod without it, too.
    await tryOut([])
    return false
  }
}

/**
 * Whether an API server drops the lock, though every version knows it. Where it can't be asked, `check` says so later.
 * @param kubernetesVersion the oldest node's
 */
export async function dropsLock(objects: Objects, kubernetesVersion: string): Promise<boolean> {
  if (isOlder(kubernetesVersion, [lockSince.major, lockSince.minor])) return false
  // It is there before anything is installed.
  return !(await storesLock(objects, 'kube-system').catch(() => true))
}

/** What that means for pods with a configuration. */
export function droppedLock(configuration: Configuration): Coded {
  const finding: Finding =
    configuration.defaults.lock === 'off' && !locksPods(configuration)
      ? { kind: 'auto-idle', idle: { kind: 'dropped' } }
      : { kind: 'lock-dropped' }
  const { code, text, next } = told(finding)
  return { code, text: next === undefined ? text : `${text}; ${next}` }
}
