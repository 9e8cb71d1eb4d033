import type { Metadata } from '../pod/pod.ts'
import { readMetadata } from '../pod/read.ts'
import { isOurs, keys } from '../words/keys.ts'
import { told } from '../words/limits.ts'
import { heard, type Warning } from '../words/messages.ts'
import { ignoredBy } from './ignored.ts'

/**
 * Our keys in places where no admission sees them: on a workload and not on its `pod`, or as a label. `way` leads to the pod template; it
 * is empty for a pod itself.
 */
export function misplacedKeys(
  workload: string,
  object: unknown,
  pod: unknown,
  way: readonly string[],
): readonly Warning[] {
  const place = [...way, 'metadata.annotations'].join('.')
  const { annotations, labels } = metadataOf(pod)
  const isMissed = (key: string) => isOurs(key) && !annotations.has(key)
  // The API bounds what a workload has of them, but a manifest hasn't been there yet.
  const outside = way.length === 0 ? [] : told(metadataOf(object).annotations.keys(), isMissed)
  const misplaced: readonly Warning[] = [
    ...outside.map((key) => ({ kind: 'key-on-workload', key, workload, place }) as const),
    ...(labels.has(keys.sidecars) && isMissed(keys.sidecars)
      ? [{ kind: 'key-as-label', key: keys.sidecars, place } as const]
      : []),
  ]
  return heard(misplaced, ignoredBy({ annotations }))
}

function metadataOf(object: unknown): Pick<Metadata, 'annotations' | 'labels'> {
  const metadata = readMetadata(object)
  return metadata.ok ? metadata.value : { annotations: new Map(), labels: new Map() }
}
