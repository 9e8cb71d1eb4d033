import type { V1Pod } from '@kubernetes/client-node'
import { lockVariable } from '../../admission/hook/lock.ts'
import type { Configuration } from '../../admission/intent/configuration.ts'
import { trialPod } from '../../install/trial-pod.ts'
import { failureKind } from '../../kubernetes/failure.ts'
import type { Objects } from '../../kubernetes/objects.ts'
import type { Check } from '../site.ts'

/** Whether pods can be locked, where the configuration does so: the feature can be off, whatever the version is. */
export const lock: Check = {
  name: 'lock',
  async run({ objects, installed, namespace }) {
    // Without a valid one, other checks say so.
    const found = installed.configuration
    const read = found.ok ? found.value?.read : undefined
    if (!read?.ok || !locksPods(read.configuration)) return []
    return [{ kind: (await storesLock(objects, namespace)) ? 'lock-stored' : 'lock-dropped' }]
  },
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
