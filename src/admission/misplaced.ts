import { isOurs } from './keys.ts'
import { readMetadata } from './pod.ts'
import type { Warning } from './warning.ts'

/** Our keys on a workload that its `pod` doesn't have: no admission ever sees them. `way`: to the pod template; empty for a pod itself. */
export function misplacedKeys(
  kind: string,
  workload: unknown,
  pod: unknown,
  way: readonly string[],
): readonly Warning[] {
  if (way.length === 0) return []
  const there = annotationsOf(pod)
  return annotationsOf(workload)
    .filter((key) => isOurs(key) && !there.includes(key))
    .map((key) => ({
      severity: 'has-no-effect',
      text: `${key} has no effect on the ${kind} itself: write it in ${way.join('.')}.metadata.annotations`,
    }))
}

function annotationsOf(object: unknown): readonly string[] {
  const metadata = readMetadata(object)
  return metadata.ok ? [...metadata.value.annotations.keys()] : []
}
