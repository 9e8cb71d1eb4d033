import { podTemplate } from '../admission/pod/template.ts'
import type { GateToday } from '../admission/suggest/known.ts'
import type { Line, Suggestion } from '../admission/suggest/suggest.ts'
import { todayText, whyText } from '../admission/suggest/words.ts'
import { type Operation, pointer } from '../admission/words/json.ts'
import { textOf } from '../admission/words/messages.ts'
import type { Edit } from './edit.ts'
import { isObject } from './json.ts'
import type { ManifestObject } from './objects.ts'

/** A suggestion as `/preview` shows it. */
export interface SuggestionResult {
  readonly kind: Suggestion['kind']
  readonly sidecars: readonly {
    readonly name: string
    readonly preset: string
    readonly title: string
    readonly by: 'name' | 'image' | 'injector'
    readonly gate: GateToday
    readonly behind: readonly string[]
    readonly holds: boolean
    readonly today: string
  }[]
  readonly lines: readonly LineResult[]
  readonly conditional: readonly LineResult[]
  /** Why nothing is suggested. */
  readonly why: readonly string[]
  /** What adds the lines to the input, in offsets of it. */
  readonly edits?: readonly Edit[]
  /** The same with the conditional lines. */
  readonly conditionalEdits?: readonly Edit[]
}

interface LineResult {
  readonly key: string
  readonly value: string
  readonly why: string
}

export function suggestionResult(
  suggestion: Suggestion,
  edits?: Pick<SuggestionResult, 'edits' | 'conditionalEdits'>,
): SuggestionResult {
  const sidecars = suggestion.sidecars.map((known) => {
    const { name, preset, by, gate, behind, holds } = known
    return { name, preset: preset.name, title: preset.title, by, gate, behind, holds, today: todayText(known) }
  })
  return {
    kind: suggestion.kind,
    sidecars,
    lines: linesOf(suggestion).map(shown),
    conditional: suggestion.kind === 'mend' ? suggestion.conditional.map(shown) : [],
    why: suggestion.kind === 'none' ? suggestion.why.map(textOf) : [],
    ...edits,
  }
}

const shown = ({ key, value, why }: Line): LineResult => ({ key, value, why: whyText(why) })

export const linesOf = (suggestion: Suggestion | undefined): readonly Line[] =>
  suggestion !== undefined && 'lines' in suggestion ? suggestion.lines : []

/** What adds annotations to the pod of an object, from the object's root. */
export function annotating(object: ManifestObject, lines: readonly Pick<Line, 'key' | 'value'>[]): Operation[] {
  const template = podTemplate(object)
  if (template === undefined || lines.length === 0) return []
  const { path, pod } = template
  const { metadata } = pod
  const annotations = isObject(metadata) ? metadata.annotations : undefined
  return [
    ...(isObject(metadata) ? [] : [add(`${path}/metadata`, {})]),
    ...(isObject(annotations) ? [] : [add(`${path}/metadata/annotations`, {})]),
    ...lines.map(({ key, value }) => add(path + pointer('metadata', 'annotations', key), value)),
  ]
}

const add = (path: string, value: string | object): Operation => ({ op: 'add', path, value: value as string })
