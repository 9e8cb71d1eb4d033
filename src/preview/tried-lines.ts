import { parseSidecars } from '../admission/intent/tiers.ts'
import { type Fields, isMap } from '../admission/pod/reader.ts'
import type { Line } from '../admission/suggest/suggest.ts'
import type { Delivery, GateChoice } from '../admission/words/choices.ts'
import { keys } from '../admission/words/keys.ts'

/** What pods are to be previewed with, as if they said it. */
export interface Trial {
  /** In the grammar of the annotation. */
  readonly sidecars?: string | undefined
  readonly gate?: GateChoice | undefined
  readonly delivery?: Delivery | undefined
}

/** Gate and delivery are the configuration's, too, so only a pod that says something else has to say this instead. */
export function triedLines({ sidecars, gate, delivery }: Trial, pod: Fields): readonly Pick<Line, 'key' | 'value'>[] {
  const metadata = isMap(pod.metadata) ? pod.metadata : {}
  const annotations = isMap(metadata.annotations) ? metadata.annotations : {}
  const names = sidecars !== undefined && hasOneOf(sidecars, pod)
  const lines = [
    ...(names ? [{ key: keys.sidecars, value: sidecars }] : []),
    ...(gate !== undefined && (names || keys.gate in annotations) ? [{ key: keys.gate, value: gate }] : []),
    ...(delivery !== undefined && (names || keys.waiter in annotations) ? [{ key: keys.waiter, value: delivery }] : []),
  ]
  return lines.filter(({ key, value }) => annotations[key] !== value)
}

/** Whether a pod has any of them: manifests of other workloads may stand beside it. What can't be read is the preview's to say. */
export function hasOneOf(sidecars: string, { spec }: Fields): boolean {
  const read = parseSidecars(sidecars)
  if (!read.ok) return true
  const names = new Set(read.value.flatMap((tier) => (tier === '*' ? [] : tier)))
  const lists = isMap(spec) ? [spec.containers, spec.initContainers] : []
  return lists.some((list) => Array.isArray(list) && list.some((each) => isMap(each) && names.has(String(each.name))))
}
