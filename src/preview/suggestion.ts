import { podTemplate } from '../admission/pod/template.ts'
import type { Line, Suggestion } from '../admission/suggest/suggest.ts'
import { todayText, whyText } from '../admission/suggest/words.ts'
import { type Operation, pointer } from '../admission/words/json.ts'
import { textOf } from '../admission/words/messages.ts'
import type { Edit } from './edit.ts'
import { isObject } from './json.ts'
import type { ManifestObject } from './objects.ts'

/** What adds the lines of a suggestion, and what adds the conditional ones as well, if there are such and nobody has to fill in a part of them. */
export interface SuggestionEdits {
  readonly edits: readonly Edit[]
  readonly conditionalEdits?: readonly Edit[]
}

/** A suggestion as `/preview` shows it. */
export function suggestionResult(suggestion: Suggestion, edits: SuggestionEdits | undefined) {
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

const shown = ({ key, value, why }: Line) => ({ key, value, why: whyText(why) })

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
