import type { V1MutatingWebhookConfiguration, V1Pod } from '@kubernetes/client-node'
import { lockVariable } from '../../admission/hook/lock.ts'
import type { Configuration } from '../../admission/intent/configuration.ts'
import { knowsLock } from '../../admission/plan/lock.ts'
import { trialPod } from '../../install/trial-pod.ts'
import { failureKind } from '../../kubernetes/failure.ts'
import type { Objects } from '../../kubernetes/objects.ts'
import { callsForLocks } from '../../webhooks/path.ts'
import type { AutoIdle, Finding } from '../findings.ts'
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
    const auto: Finding = idle === undefined ? { kind: 'auto-locks' } : { kind: 'auto-idle', idle }
    if (idle !== undefined && !locksPods(read.configuration)) return [auto]
    return [auto, { kind: (await storesLock(objects, namespace)) ? 'lock-stored' : 'lock-dropped' }]
  },
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
export function locksPods({ defaults, rules }: Configuration): boolean {
  return defaults.lock === 'on' || rules.rules.some((rule) => rule.lock === 'on')
}

/**
 * Asks the API server in a dry run whether it keeps a variable that comes from a file.
 * @param namespace whose pods the webhook never sees
 */
export async function storesLock(objects: Objects, namespace: string): Promise<boolean> {
  const { metadata, spec, ...rest } = trialPod(namespace)
  const [app, ...others] = spec?.containers ?? []
  const volumes = [{ name: 'sidecar-first-lock', emptyDir: { medium: 'Memory' } }]
  const locked = { ...app, env: [lockVariable(1)] }
  const pod = {
    ...rest,
    metadata: { generateName: metadata?.generateName, namespace },
    spec: { ...spec, volumes, containers: [locked, ...others] },
  }
  try {
    const stored = await objects.create(pod as unknown as V1Pod, { dryRun: true })
    return stored.spec?.containers[0]?.env?.[0]?.valueFrom?.fileKeyRef !== undefined
  } catch (error) {
    // Without the field, the variable has no source.
    if (failureKind(error) === 'invalid') return false
    throw error
  }
}
