import { type SeenEvent, timesOf } from '../seen/event.ts'
import { coarse, type Moment, surelyBefore } from '../seen/moment.ts'
import type { LiveContainer, LivePod } from '../seen/pod.ts'
import type { Says } from '../seen/reasons.ts'
import { beginOf, firstRun } from '../seen/runs.ts'
import { type Life, livesOf, tellingTakes } from './lives.ts'

/** A container with the times of its first start, by its status and its events. Unknown times are absent. */
export interface Container extends LiveContainer {
  /** When the kubelet turned to it and looked for its image. */
  readonly begun: Moment | undefined
  readonly started: Moment | undefined
  /** When its last run began. */
  readonly lastStarted: Moment | undefined
  readonly lives: readonly Life[]
  /** When its first run ended, if the status still has that run. */
  readonly ended: Moment | undefined
  /** When its hook failed for the first time. */
  readonly hookFailed: Moment | undefined
  /** It once could not be started at all, for this reason. */
  readonly hadTrouble: { readonly why: 'image' | 'start-failed'; readonly moment: Moment } | undefined
}

/** In the order in which the kubelet starts them. @param events in the order of their time */
export function containersOf({ containers }: LivePod, events: readonly SeenEvent[]): readonly Container[] {
  const happened = Map.groupBy(events, ({ container }) => container)
  return containers.map((container) => {
    const own = happened.get(container.name) ?? []
    const first = (...what: readonly Says[]) => {
      const found = own.find(({ says }) => says && what.includes(says))
      return found && timesOf(found)[0]
    }
    const run = firstRun(container)
    const began = beginOf(run)
    // The kubelet tells no more than 25 things of a pod at once: the first that it told may be of a later run.
    const known = container.runs.flatMap((each) => beginOf(each) ?? []).at(-1)
    const isFirst = (moment: Moment | undefined, spare = 0) =>
      !(moment && known && surelyBefore({ ...known, at: known.at + spare }, moment))
    const told = first('started')
    const started = isFirst(told, tellingTakes) ? (told ?? began) : began
    const turned = first('begun', 'pulled', 'failed')
    const refused = own.findLast(({ says }) => says === 'failed' || says === 'backs-off')
    const isLocked = container.trouble?.why === 'locked'
    return {
      ...container,
      begun: isFirst(turned) ? (turned ?? coarse(run?.began)) : coarse(run?.began),
      started,
      lastStarted: beginOf(container.runs[0]),
      lives: livesOf(container, started, startsTold(own)),
      ended: began && coarse(run?.ended),
      hookFailed: first('hook-failed'),
      hadTrouble: hadTrouble(own),
      waiting: started ? undefined : isLocked ? container.waiting : (refused?.message ?? container.waiting),
    }
  })
}

function startsTold(own: readonly SeenEvent[]) {
  const starts = own.filter(({ says }) => says === 'started')
  const last = starts.flatMap(timesOf).toSorted((a, b) => b.at - a.at)[0]
  return { last, times: starts.reduce((sum, { times = 1 }) => sum + times, 0) }
}

/** What fails once the image is there is the start. */
function hadTrouble(own: readonly SeenEvent[]): Container['hadTrouble'] {
  const failed = own.find(({ says }) => says === 'failed')
  if (!failed) return undefined
  const pulled = own.some(({ says, at }) => says === 'pulled' && at <= failed.at)
  return { why: pulled ? 'start-failed' : 'image', moment: { at: failed.at, exact: failed.exact } }
}
