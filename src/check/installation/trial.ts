import type { V1Namespace, V1Pod } from '@kubernetes/client-node'
import { keys } from '../../admission/words/keys.ts'
import { trialPod } from '../../install/trial-pod.ts'
import { ClusterError } from '../../kubernetes/failure.ts'
import type { Finding } from '../findings.ts'
import { covering } from '../pod/coverage.ts'
import { type Check, liveMutating, needed, validConfiguration } from '../site.ts'

/** Whether a pod that asks is patched, in a dry run: the API server calls the webhook and stores nothing. */
export const trial: Check = {
  name: 'dry run',
  async run({ objects, installed }) {
    const { version, mode } = validConfiguration(installed).configuration
    const { webhooks = [] } = liveMutating(installed)
    const covered = needed(installed.namespaces).filter(
      (each) => each.status?.phase !== 'Terminating' && covering(webhooks, each).length > 0,
    )
    const namespace = nameOf(covered.find((each) => nameOf(each) === 'default') ?? covered[0])
    if (namespace === undefined) return [{ kind: 'no-namespace-covered' }]
    try {
      return judgeTrial(await objects.create(trialPod(namespace), { dryRun: true }), { namespace, version, mode })
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error
      return [judgeRefusal(error, namespace)]
    }
  },
}

const nameOf = (namespace: V1Namespace | undefined) => namespace?.metadata?.name

export function judgeTrial(
  { metadata }: V1Pod,
  { namespace, version, mode }: { namespace: string; version: string; mode: 'enforce' | 'observe' },
): readonly Finding[] {
  const status = metadata?.annotations?.[keys.status]
  if (status === undefined) return [{ kind: mode === 'observe' ? 'trial-observed' : 'trial-unpatched', namespace }]
  const theirs = /"version":"([^"]*)"/.exec(status)?.[1]
  const other =
    theirs === undefined || theirs === version ? [] : [{ kind: 'other-version', theirs, ours: version } as const]
  return [{ kind: 'trial-patched', namespace }, ...other]
}

export function judgeRefusal({ message }: { readonly message: string }, namespace: string): Finding {
  // The API server's words are all that tells our webhook's failure from another's refusal.
  const ours = /failed calling webhook "[^"]*sidecar-first\.dev"/.test(message)
  return { kind: ours ? 'trial-blocked' : 'trial-impossible', namespace, message }
}
