import type { Metadata } from '../pod/pod.ts'
import { keys } from '../words/keys.ts'
import { mostProblems } from '../words/limits.ts'
import { heard, isIgnorable, type Warning } from '../words/messages.ts'

/** The codes that a pod doesn't want to hear of, as it wrote them. */
export function ignoredBy({ annotations }: Pick<Metadata, 'annotations'>): ReadonlySet<string> {
  const value = annotations.get(keys.ignore)
  if (typeof value !== 'string') return new Set()
  const codes = value.split(',', mostProblems).map((code) => code.trim())
  return new Set(codes.filter((code) => code !== ''))
}

/** Without the warnings and notes that a pod doesn't want to hear of, but with what is wrong with its list of them. */
export function audible(warnings: readonly Warning[], metadata: Metadata): readonly Warning[] {
  if (!metadata.annotations.has(keys.ignore)) return warnings
  const ignored = ignoredBy(metadata)
  const wrong = [...ignored].flatMap((code) => {
    const can = isIgnorable(code)
    return can === true ? [] : [{ kind: can === undefined ? 'no-such-code' : 'not-ignorable', code } as const]
  })
  return [...heard(warnings, ignored), ...wrong]
}
