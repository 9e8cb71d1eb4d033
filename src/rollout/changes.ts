import { printable } from '../admission/warning.ts'
import { countsText, phaseText, timeText } from './render.ts'
import type { PodView, RolloutView } from './view.ts'

const longest = 512

/** What is new since the view before, a line each, for a log. */
export function changesOf(before: RolloutView | undefined, after: RolloutView): string[] {
  const known = new Map(before?.pods.map((pod) => [pod.name, pod]))
  const pods = after.pods.filter((pod) => told(pod) && tells(pod) !== tells(known.get(pod.name))).reverse()
  const lines = pods.map((pod) => podText(pod, before === undefined))
  const whole = `${phaseText(after)} [${countsText(after)}]`
  if (before === undefined || whole !== `${phaseText(before)} [${countsText(before)}]`) lines.push(whole)
  return lines.map((line) => printable(`${after.name}: ${line}`, longest))
}

/** Of a pod that has not been touched there is nothing to tell. */
const told = ({ state, took }: PodView) => state !== 'old' || took !== undefined

const tells = (pod: PodView | undefined) => pod && [pod.state, pod.image, pod.detail].join(' ')

function podText({ name, node, state, image, took, detail }: PodView, first: boolean): string {
  const what = state === 'old' ? `has ${image} again` : state
  const settled = took !== undefined && (state === 'new' || state === 'old') && !first
  return `${name}${node && ` on ${node}`}: ${what}${settled ? ` after ${timeText(took)}` : ''}${detail && `, ${detail}`}`
}
