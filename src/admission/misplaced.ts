import { isOurs, keys } from './keys.ts'
import { type Metadata, readMetadata } from './pod.ts'
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
  const { annotations, labels } = metadataOf(pod)
  const outside = way.length === 0 ? [] : [...metadataOf(workload).annotations.keys()].filter(isOurs)
  const wrong = [
    ...outside.map((key) => ({ key, where: `on the ${kind} itself` })),
    ...(labels.has(keys.sidecars) ? [{ key: keys.sidecars, where: 'as a label' }] : []),
  ]
  return wrong
    .filter(({ key }) => !annotations.has(key))
    .map(({ key, where }) => ({
      severity: 'has-no-effect',
      text: `${key} has no effect ${where}: write it in ${place}`,
    }))
}

function metadataOf(object: unknown): Pick<Metadata, 'annotations' | 'labels'> {
  const metadata = readMetadata(object)
  return metadata.ok ? metadata.value : { annotations: new Map(), labels: new Map() }
}
