import type { V1Pod } from '@kubernetes/client-node'
import { type Owner, ownerOf } from './owner.ts'

/**
 * What one would edit to change a pod, from its names alone: a call for each owner would be thousands. A CronJob names its Jobs after itself and
 * the minute they are due (pkg/controller/cronjob, getJobName), an Argo Rollout its ReplicaSets as a Deployment does.
 */
export function workloadOf(pod: V1Pod): Owner {
  const owner = ownerOf(pod)
  const { labels = {}, creationTimestamp } = pod.metadata ?? {}
  const cut = (suffix: string, kind: string): Owner | undefined =>
    suffix.length > 1 && owner.name.length > suffix.length && owner.name.endsWith(suffix)
      ? { ...owner, kind, name: owner.name.slice(0, -suffix.length) }
      : undefined
  if (owner.kind === 'ReplicaSet') return cut(`-${labels['rollouts-pod-template-hash'] ?? ''}`, 'Rollout') ?? owner
  if (owner.kind !== 'Job') return owner
  const minute = /-(\d{8,9})$/.exec(owner.name)?.[1]
  if (minute === undefined || !creationTimestamp) return owner
  const late = new Date(creationTimestamp).getTime() - Number(minute) * 60_000
  // Somebody's own number is hardly the minute in which its pod was made.
  return (Math.abs(late) < longest ? cut(`-${minute}`, 'CronJob') : undefined) ?? owner
}

/** How long after its time a CronJob's pod may still be made, in ms. */
const longest = 7 * 86_400_000
