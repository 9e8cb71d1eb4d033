import type { Decision } from '../../admission/decision.ts'
import { pollsOf } from '../../admission/hook/polls.ts'
import { readSpec } from '../../admission/pod/read.ts'
import type { Json } from '../../admission/words/json.ts'
import { applyPatch } from '../../preview/patch.ts'
import type { Finding } from '../findings.ts'

/** In bytes. */
const small = 32 * 1024 ** 2

/** The sidecars in which a waiter with a lease stays, where that is a part of their memory worth a word. @param pod plain JSON */
export function memoryFindings(pod: Json, decision: Decision): readonly Finding[] {
  const spec = readSpec(decision.verdict === 'patched' ? applyPatch(pod, decision.patch) : pod)
  if (decision.verdict === 'skipped' || decision.verdict === 'refused' || !spec.ok) return []
  return [...spec.value.initContainers, ...spec.value.containers].flatMap(({ name, postStart, resources }) => {
    const { memory } = (resources.limits ?? {}) as { readonly memory?: Json }
    const isSmall = (typeof memory === 'string' || typeof memory === 'number') && bytesOf(`${memory}`) < small
    return isSmall && pollsOf(postStart)?.lease !== undefined
      ? [{ kind: 'waiter-stays', name, limit: `${memory}` } as const]
      : []
  })
}

const units: ReadonlyMap<string, number> = new Map(
  ['', 'k', 'M', 'G', 'T', 'P', 'E'].flatMap((unit, power) => [
    [unit, 1000 ** power],
    [`${unit === 'k' ? 'K' : unit}i`, 1024 ** power],
  ]),
)

/** Of a quantity; NaN for what isn't one. */
function bytesOf(text: string): number {
  const [, number = '', unit = ''] = /^([0-9.]+(?:[eE][+-]?[0-9]+)?)([kKMGTPEi]*|m)$/.exec(text) ?? []
  return Number(number || Number.NaN) * (unit === 'm' ? 0.001 : (units.get(unit) ?? Number.NaN))
}
