import { hunksOf, markedLines } from '../../diff/lines.js'
import { applyEdits, type Edit } from '../edit.ts'

/** The lines of a diff, each with its line break, if it has one. */
type Changes = ReturnType<typeof markedLines>

/**
 * The lines of a text from `start` to `end` (offsets), with what edits change. The edits say where changes are, so that
 * lines are compared within each alone; comparing the texts as a whole takes half a minute for 500 pods in a list.
 */
export function changesOf(text: string, start: number, end: number, edits: readonly Edit[]): Changes {
  const kept = (from: number, to: number): Changes =>
    linesOf(text.slice(from, to)).map((line) => ({ mark: ' ', text: line }))
  let at = start
  const changes = regions(text, start, edits).flatMap((region) => {
    const before = kept(at, region.start)
    at = region.end
    return [...before, ...markedLines(linesOf(text.slice(region.start, region.end)), linesOf(region.text))]
  })
  return [...changes, ...kept(at, end)]
}

/** Edits widened to whole lines; those that then meet are one. */
function regions(text: string, start: number, edits: readonly Edit[]): Edit[] {
  const wide: Edit[] = []
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    const first = Math.max(start, text.lastIndexOf('\n', edit.start - 1) + 1)
    const last = wide.at(-1)
    if (last !== undefined && first <= last.end) {
      wide[wide.length - 1] = { ...last, end: edit.end, text: last.text + text.slice(last.end, edit.start) + edit.text }
    } else wide.push({ start: first, end: edit.end, text: applyEdits(text, [edit], first, edit.end) })
  }
  return wide
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

/** The changed places as the lines of a unified diff. `first` is the number of the first line. */
export function unified(changes: Changes, first: number): string[] {
  let [oldAt, newAt, done] = [first, first, 0]
  return hunksOf(changes).flatMap(({ from, to }) => {
    const shown = changes.slice(from, to)
    const oldCount = shown.filter(({ mark }) => mark !== '+').length
    const newCount = shown.filter(({ mark }) => mark !== '-').length
    // between two hunks nothing changes
    const [oldStart, newStart] = [oldAt + from - done, newAt + from - done]
    oldAt = oldStart + oldCount
    newAt = newStart + newCount
    done = to
    const lines = shown.map(({ mark, text }) => mark + text + (text.endsWith('\n') ? '' : noLineBreak))
    return [`@@ -${oldStart},${oldCount} +${newStart},${newCount} @@\n`, ...lines]
  })
}

const noLineBreak = '\n\\ No newline at end of file\n'
