import type { Preview } from './preview.ts'
import { annotating, linesOf, type SuggestionEdits } from './suggestion.ts'
import { editsOf } from './write.ts'

/** Characters of documents that are looked through for places to write: reading one again, to be sure, takes up to 3 s for a million. */
const mostEdited = 500_000

/** For each preview with lines to add, the edits that add them; without those for which there is too much to do. */
export function suggestionEdits(previews: readonly Preview[]): ReadonlyMap<Preview, SuggestionEdits> {
  const edits = new Map<Preview, SuggestionEdits>()
  let room = mostEdited
  for (const preview of previews) {
    const { object, suggestion } = preview
    const { document } = object
    const lines = linesOf(suggestion)
    const range = document.yaml?.tree.range
    const length = range === undefined ? document.text.length : range[2] - range[0]
    const conditional = suggestion?.kind === 'mend' ? suggestion.conditional : []
    if (lines.length + conditional.length === 0 || length > room) continue
    room -= length
    const adding = (all: typeof lines) => editsOf(document, object.path, annotating(object, all))
    const areWhole = conditional.every(({ why }) => why.kind !== 'if-configured' || why.complete)
    const withAll = conditional.length > 0 && areWhole && length <= room
    if (withAll) room -= length
    edits.set(preview, {
      edits: adding(lines),
      ...(withAll && { conditionalEdits: adding([...lines, ...conditional]) }),
    })
  }
  return edits
}
