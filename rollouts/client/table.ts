import { printable } from '../../src/admission/words/printable.ts'
import { phaseText } from './render.ts'
import type { RolloutView } from './view.ts'

const longest = 200
const headings = ['NAME', 'CONTAINER', 'IMAGE', 'NEW', 'IN PROGRESS', 'FAILED', 'OLD', 'PHASE']

/** All rollouts of a namespace, one line each. */
export function rolloutTable(views: readonly RolloutView[]): string {
  const rows = views.map((view) => {
    const { new: done, 'in progress': inProgress, failed, old } = view.counts
    const counts = [done, inProgress, failed, old].map(String)
    const texts = [view.name, view.container, view.image].map((text) => printable(text, longest))
    return [...texts, ...counts, printable(phaseText(view), longest)]
  })
  const widths = headings.map((_, column) => Math.max(...[headings, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [headings, ...rows].map((row) => `${line(row)}\n`).join('')
}
