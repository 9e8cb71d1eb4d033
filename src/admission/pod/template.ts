import { pointer } from '../words/json.ts'
import { type Fields, isMap } from './reader.ts'
import type { Surroundings } from './surroundings.ts'

/**
 * Where an object's pod template is, by its form and not by a list of kinds, so that a Rollout works like a Deployment.
 * The path is from the object's root; it is empty for a Pod.
 */
export function podTemplate({
  kind,
  value,
}: {
  readonly kind: string
  readonly value: unknown
}): { path: string; pod: Fields; surroundings: Surroundings } | undefined {
  if (kind === 'Pod') return isMap(value) ? { path: '', pod: value, surroundings: { job: false } } : undefined
  const way = ways[kind] ?? ['spec', 'template']
  const pod = follow(value, way)
  if (!isMap(pod) || !isMap(pod.spec) || !('containers' in pod.spec)) return undefined
  return { path: pointer(...way), pod, surroundings: surroundingsOf(kind, follow(value, way.slice(0, -1))) }
}

const ways: Partial<Record<string, readonly string[]>> = {
  CronJob: ['spec', 'jobTemplate', 'spec', 'template'],
  PodTemplate: ['template'],
}

function follow(value: unknown, way: readonly string[]): unknown {
  return way.reduce<unknown>((at, key) => (isMap(at) ? at[key] : undefined), value)
}

/** How long its pods may take, from the spec around a pod template. */
function surroundingsOf(kind: string, spec: unknown): Surroundings {
  const { progressDeadlineSeconds, activeDeadlineSeconds } = isMap(spec) ? spec : {}
  if (kind === 'Deployment') {
    // The API server's default (pkg/apis/apps/v1/defaults.go).
    return { job: false, progressDeadlineSeconds: seconds(progressDeadlineSeconds) ?? 600 }
  }
  if (kind !== 'Job' && kind !== 'CronJob') return { job: false }
  const limit = seconds(activeDeadlineSeconds)
  return limit === undefined ? { job: true } : { job: true, activeDeadlineSeconds: limit }
}

const seconds = (value: unknown) => (typeof value === 'number' ? value : undefined)
