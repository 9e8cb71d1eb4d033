import { printable } from '../../src/admission/words/printable.ts'
import { countsText, phaseText, timeText } from './render.ts'
import type { PodView, RolloutView } from './view.ts'

const longest = 512

/** What has changed since the previous view, one line each, for a log. */
export function logLines(before: RolloutView | undefined, after: RolloutView): string[] {
  const known = new Map(before?.pods.map((pod) => [pod.name, pod]))
  const told = (pod: PodView) => {
    const was = known.get(pod.name)
    // A pod that was old from the start is not news.
    return (was !== undefined || pod.state !== 'old') && tells(pod) !== tells(was)
  }
  const lines = after.pods.filter(told).reverse().map(podText)
  const whole = `${phaseText(after)} [${countsText(after)}]`
  if (before === undefined || whole !== `${phaseText(before)} [${countsText(before)}]`) lines.push(whole)
  return lines.map((line) => printable(`${after.name}: ${line}`, longest))
}

const tells = (pod: PodView | undefined) => pod && [pod.state, pod.image, pod.detail].join(' ')

function podText({ name, node, state, image, took, detail }: PodView): string {
  const what = state === 'old' ? `back on ${image}` : state
  const after = took === undefined || state === 'in progress' ? '' : ` after ${timeText(took)}`
  return `${name}${node && ` on ${node}`}: ${what}${after}${detail && `, ${detail}`}`
}
