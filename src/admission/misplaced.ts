import { isOurs, keys } from './keys.ts'
import { readMetadata } from './pod.ts'
import type { Warning } from './warning.ts'

/**
 * Where our keys stand that no admission ever sees: on a workload and not on its `pod`, or as a label. `way`: to the pod template; empty for
 * a pod itself.
 */
export function misplacedKeys(
  kind: string,
  workload: unknown,
  pod: unknown,
  way: readonly string[],
): readonly Warning[] {
  const place = [...way, 'metadata.annotations'].join('.')
  const there = keysOf(pod, 'annotations')
  const outside = way.length === 0 ? [] : keysOf(workload, 'annotations').filter(isOurs)
  const labels = keysOf(pod, 'labels').filter((key) => key === keys.sidecars)
  const wrong = [
    ...outside.map((key) => ({ key, where: `on the ${kind} itself` })),
    ...labels.map((key) => ({ key, where: 'as a label' })),
  ]
  return wrong
    .filter(({ key }) => !there.includes(key))
    .map(({ key, where }) => ({
      severity: 'has-no-effect',
      text: `${key} has no effect ${where}: write it in ${place}`,
    }))
}

function keysOf(object: unknown, of: 'annotations' | 'labels'): readonly string[] {
  const metadata = readMetadata(object)
  return metadata.ok ? [...metadata.value[of].keys()] : []
}
