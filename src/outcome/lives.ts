import { before, coarse, type Moment, surelyBefore } from '../seen/moment.ts'
import type { LiveContainer } from '../seen/pod.ts'
import { beginOf } from '../seen/runs.ts'

/** One run of a container of which something is known. A status has the last two, and an event the begin of the first. */
export interface Life {
  /** Counted from 0. */
  readonly nth: number
  readonly began: Moment
  readonly isOver: boolean
  /** Absent while it runs, and where nobody knows. */
  readonly ended: Moment | undefined
  readonly exitCode: number | undefined
}

/** What events tell of a container's starts. */
export interface Told {
  /** The latest of them. */
  readonly last: Moment | undefined
  readonly times: number
}

/** In the order of their time. @param started the first start */
export function livesOf(container: LiveContainer, started: Moment | undefined, told: Told): readonly Life[] {
  const shown = shownBy(container, started)
  const latest = shown.at(-1)
  // A status is written once the kubelet is through with the whole pod, and a hook may keep it for minutes: an event is there at once.
  const isNewer =
    told.last !== undefined &&
    (told.times > container.restarts + 1 || !latest || told.last.at - latest.began.at > tellingTakes + 1000)
  if (!isNewer || !told.last || (latest && !surelyBefore(latest.began, told.last))) return shown
  const nth = container.restarts + (container.runs.length > 0 ? 1 : 0)
  const newest = { nth, began: told.last, isOver: false, ended: undefined, exitCode: undefined }
  return [...shown.map((each) => ({ ...each, isOver: true })), newest]
}

/** So much later than the start itself its event may be, in ms. */
export const tellingTakes = 5000

function shownBy({ runs, restarts }: LiveContainer, started: Moment | undefined): readonly Life[] {
  const shown = runs.flatMap((run, index): Life[] => {
    const nth = restarts - index
    const began = nth === 0 ? (started ?? beginOf(run)) : beginOf(run)
    if (!began || run.how === 'never-ran') return []
    const isOver = run.how !== 'runs'
    const end = coarse(run.ended)
    // An end that is cut to the second doesn't come before its own begin.
    const ended = end && end.at < began.at ? { ...end, at: began.at } : end
    return [{ nth, began, isOver, ended: isOver ? ended : undefined, exitCode: run.exitCode }]
  })
  const isShown = shown.some(({ nth }) => nth === 0)
  const first = started &&
    !isShown && { nth: 0, began: started, isOver: restarts > 0, ended: undefined, exitCode: undefined }
  return [...(first ? [first] : []), ...shown.toReversed()]
}

/** What a container did at a moment. */
export type Presence =
  | { readonly how: 'ran'; readonly life: Life }
  | { readonly how: 'ended'; readonly ended: Moment }
  | { readonly how: 'not-started' }
  /** Something began or ended in the same second, or its runs of that time are lost. */
  | { readonly how: 'unsure'; readonly why: 'same-second' | 'runs-lost'; readonly begun?: Life }

interface Lived extends Pick<LiveContainer, 'restarts' | 'runs'> {
  readonly lives: readonly Life[]
}

export function presenceAt({ lives, restarts, runs }: Lived, at: Moment): Presence {
  const last = lives.findLast(({ began }) => !surelyBefore(at, began))
  if (!last) return restarts > 0 && lives[0]?.nth !== 0 ? lost : { how: 'not-started' }
  const sameSecond = { how: 'unsure', why: 'same-second' } as const
  if (last.nth > 0 && !surelyBefore(last.began, at)) return { ...sameSecond, begun: last }
  if (!last.isOver) return { how: 'ran', life: last }
  if (!last.ended) return lost
  if (surelyBefore(later(at), last.ended)) return { how: 'ran', life: last }
  if (!surelyBefore(later(last.ended), at)) return sameSecond
  const next = lives.find(({ nth }) => nth > last.nth)?.nth ?? Math.max(last.nth, restarts) + 1
  // What couldn't be started was no life either.
  const known = runs.filter(
    ({ how }, index) => how === 'never-ran' && restarts - index > last.nth && restarts - index < next,
  )
  return next - last.nth - 1 === known.length ? { how: 'ended', ended: last.ended } : lost
}

/** A start and an end are each noted by somebody else, late on a busy node, and what has started takes a while until it asks for anything. */
const later = ({ at, exact }: Moment): Moment => ({ at: at + 2000, exact })

const lost = { how: 'unsure', why: 'runs-lost' } as const

/** Whether a life lasted from one moment to another, as far as one can tell. */
export const covers = ({ began, ended }: Life, from: Moment): boolean =>
  before(began, from) && !(ended && surelyBefore(ended, from))
