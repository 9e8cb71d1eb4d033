import { marksOf } from '../../page/diff.js'
import { applyEdits, type Edit } from '../edit.ts'

/** A line of a diff, with its line break, if it has one. */
interface Change {
  readonly mark: ' ' | '+' | '-'
  readonly line: string
}

/** Lines above and below a change that are shown too. */
const context = 3

/**
 * The lines of a text from `start` to `end` (offsets), with what edits change. The edits say where changes are, so that
 * lines are compared within each alone; comparing the texts as a whole takes half a minute for 500 pods in a list.
 */
export function changesOf(text: string, start: number, end: number, edits: readonly Edit[]): Change[] {
  const parts: Change[][] = []
  const keep = (from: number, to: number) =>
    parts.push(linesOf(text.slice(from, to)).map((line) => ({ mark: ' ', line })))
  let at = start
  for (const region of regions(text, start, edits)) {
    keep(at, region.start)
    parts.push(compare(linesOf(text.slice(region.start, region.end)), linesOf(region.text)))
    at = region.end
  }
  keep(at, end)
  return parts.flat()
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

function compare(before: readonly string[], after: readonly string[]): Change[] {
  let [a, b] = [0, 0]
  return marksOf(before, after).map((mark): Change => {
    const line = (mark === '+' ? after[b] : before[a]) ?? ''
    if (mark !== '+') a++
    if (mark !== '-') b++
    return { mark, line }
  })
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

/** The changed places as the lines of a unified diff. `first` is the number of the first line. */
export function hunksOf(changes: readonly Change[], first: number): string[] {
  const hunks: { from: number; to: number }[] = []
  for (const [index, { mark }] of changes.entries()) {
    if (mark === ' ') continue
    const [from, to] = [Math.max(index - context, 0), index + context + 1]
    const last = hunks.at(-1)
    if (last !== undefined && from <= last.to) last.to = to
    else hunks.push({ from, to })
  }
  let [oldAt, newAt, done] = [first, first, 0]
  return hunks.flatMap(({ from, to }) => {
    const shown = changes.slice(from, to)
    const oldCount = shown.filter(({ mark }) => mark !== '+').length
    const newCount = shown.filter(({ mark }) => mark !== '-').length
    // between two hunks nothing changes
    const [oldStart, newStart] = [oldAt + from - done, newAt + from - done]
    oldAt = oldStart + oldCount
    newAt = newStart + newCount
    done = to
    const lines = shown.map(({ mark, line }) => mark + line + (line.endsWith('\n') ? '' : noLineBreak))
    return [`@@ -${oldStart},${oldCount} +${newStart},${newCount} @@\n`, ...lines]
  })
}

const noLineBreak = '\n\\ No newline at end of file\n'
