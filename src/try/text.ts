import { printable } from '../admission/words/printable.ts'
import { findingLines } from '../check/report.ts'
import { drawChart, legend } from '../terminal/chart.ts'
import { type Look, styled } from '../terminal/look.ts'
import { seconds, timelineBars } from '../timeline/draw.ts'
import type { Tried } from './try.ts'
import { trialText } from './words.ts'

/** Some of it was written by a pod's author, who must not control the terminal. */
const shown = (text: string) => printable(text, 4096)

/** The verdict, the lines to add, and the last start beside the one that would have been. */
export function tryText({ kind, namespace, name, told, lines, last, foreseen }: Tried, look: Look): string {
  const add = lines.map(({ key, value, why, conditional }) => {
    const note = conditional ? `only if it is configured for it: ${why}` : why
    return `  ${styled(look, 'green', shown(`${key}: ${value}`))}  ${styled(look, 'dim', shown(`# ${note}`))}\n`
  })
  const place = "\nadd to the pod template's annotations:\n"
  const bars = [
    ...(last ? [{ label: `${last.name} started`, segments: [] }, ...timelineBars(last)] : []),
    ...(foreseen ? [{ label: 'it would have started', segments: [] }, ...foreseen.bars] : []),
  ]
  const chart = bars.length === 0 ? '' : `\n${drawChart(bars, look, (ms) => seconds(ms))}${legend(bars, look)}`
  return [
    `${styled(look, 'bold', `${namespace}/${name}`)}  ${kind}; nothing is changed\n`,
    findingLines([{ name, findings: told.map(trialText) }], look),
    ...(add.length > 0 ? [place, ...add] : []),
    chart,
  ].join('')
}

/** The same for programs. */
export function tryJson({ kind, namespace, name, told, lines, last, foreseen }: Tried): string {
  const findings = told.map(trialText)
  const cost = foreseen?.cost
  return `${JSON.stringify({ kind, namespace, name, findings, lines, last: last?.name, cost }, null, 2)}\n`
}
