import { printable } from '../admission/warning.ts'
import { countsText, phaseText, timeText } from './render.ts'
import type { PodView, RolloutView } from './view.ts'

const longest = 512

/** What is new since the view before, a line each, for a log. */
export function changesOf(before: RolloutView | undefined, after: RolloutView): string[] {
  const known = new Map(before?.pods.map((pod) => [pod.name, pod]))
  const told = (pod: PodView) => {
    const was = known.get(pod.name)
    // Of a pod that has always been as it is there is nothing to tell.
    return (was !== undefined || pod.state !== 'old') && tells(pod) !== tells(was)
  }
  const lines = after.pods.filter(told).reverse().map(podText)
  const whole = `${phaseText(after)} [${countsText(after)}]`
  if (before === undefined || whole !== `${phaseText(before)} [${countsText(before)}]`) lines.push(whole)
  return lines.map((line) => printable(`${after.name}: ${line}`, longest))
}

const tells = (pod: PodView | undefined) => pod && [pod.state, pod.image, pod.detail].join(' ')

function podText({ name, node, state, image, took, detail }: PodView): string {
  const what = state === 'old' ? `has ${image} again` : state
  const after = took === undefined || state === 'in progress' ? '' : ` after ${timeText(took)}`
  return `${name}${node && ` on ${node}`}: ${what}${after}${detail && `, ${detail}`}`
}
