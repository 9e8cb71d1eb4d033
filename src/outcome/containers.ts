import { isNotReady, type SeenEvent, timesOf } from '../seen/event.ts'
import { before, coarse, type Moment, surelyBefore } from '../seen/moment.ts'
import type { LiveContainer, LivePod } from '../seen/pod.ts'
import type { Says } from '../seen/reasons.ts'
import { beginOf, firstRun } from '../seen/runs.ts'
import type { Kubelet } from './kubelet.ts'
import { type Life, livesOf, type Told, tellingTakes } from './lives.ts'

/** A container with the times of its first start, by its status and its events. Unknown times are absent. */
export interface Container extends LiveContainer {
  /** When the kubelet turned to it and looked for its image. */
  readonly begun: Moment | undefined
  /** When its image was there for the first time. */
  readonly pulled: Moment | undefined
  readonly started: Moment | undefined
  /** When its last run began. */
  readonly lastStarted: Moment | undefined
  readonly lives: readonly Life[]
  /** When its first run ended, if the status still has that run. */
  readonly ended: Moment | undefined
  /** Of probes that found it not ready. */
  readonly failures: readonly SeenEvent[]
  /** Since this moment no probe has found it ready: it isn't, and whatever else is the pod's is. */
  readonly neverReady: Moment | undefined
  /** Its lock has a lease, as far as a node can: the kubelet sleeps on it, again and again, and tells of a round when that is over. */
  readonly leased: boolean
  /** When its hook failed for the first time. */
  readonly hookFailed: Moment | undefined
  /** It once could not be started at all, for this reason. */
  readonly hadTrouble: { readonly why: 'image' | 'start-failed'; readonly moment: Moment } | undefined
}

/** In the order in which the kubelet starts them. @param events in the order of their time */
export function containersOf(
  pod: LivePod,
  events: readonly SeenEvent[],
  kubelet: Kubelet,
  now: number,
): readonly Container[] {
  const happened = Map.groupBy(events, ({ container }) => container)
  const unseen = events.length > 0 ? 0 : Math.max(0, ...pod.containers.map(mayWait))
  const leased = new Set(
    pod.containers.flatMap(({ hook }) => (typeof hook === 'object' && hook.lease !== undefined ? hook.lock : [])),
  )
  const unready = pod.containers.filter(({ kind, ready }) => kind !== 'init' && !ready)
  return pod.containers.map((container) => {
    const own = happened.get(container.name) ?? []
    const first = (...what: readonly Says[]) => {
      const found = own.find(({ says }) => says && what.includes(says))
      return found && timesOf(found)[0]
    }
    const run = firstRun(container)
    const starts = startsTold(own)
    const started = firstStart(container, first('started'), starts, (to) => {
      const from = coarse(pod.taken ?? pod.created)
      return from && kubelet.restarted(from, to)
    })
    const turned = first('begun', 'pulled', 'created', 'failed')
    const refused = own.findLast(({ says }) => says === 'failed' || says === 'backs-off')
    const lives = livesOf(container, started, starts)
    const isLeased = container.locks.some((lock) => leased.has(lock))
    const asleep = isLeased && container.state !== 'running' && sleeps(own, lives.at(-1), now)
    const isLocked = asleep || container.trouble?.why === 'locked'
    const shown = isTrouble(container, lives.at(-1), now - unseen) ? container.trouble : undefined
    const failures = own.filter(({ says }) => isNotReady(says))
    const alone = unready.length === 1 && unready[0] === container
    return {
      ...container,
      trouble: asleep ? { why: 'locked', message: shown?.message ?? '' } : shown,
      leased: isLeased,
      begun: started && !(turned && before(turned, started)) ? started : turned,
      pulled: first('pulled'),
      started,
      lastStarted: beginOf(container.runs[0]),
      lives,
      ended: beginOf(run) && coarse(run?.ended),
      failures,
      neverReady: alone && failures.length > 0 ? laterOf(coarse(pod.unready), lives.at(-1)) : undefined,
      hookFailed: first('hook-failed'),
      hadTrouble: hadTrouble(own),
      waiting: started ? undefined : isLocked ? 'locked' : (refused?.message ?? container.waiting),
    }
  })
}

/** Whether what its status shows is one by then. While a hook runs, a kubelet writes nothing; an event tells what has started since. */
const isTrouble = ({ trouble, restarts }: LiveContainer, last: Life | undefined, now: number): boolean =>
  trouble?.why !== 'not-restarted' || ((trouble.from ?? 0) <= now && !(last && last.nth > restarts))

/** Whether its image is there since its last life, and what the kubelet did next isn't told yet: an open may sleep as long as the kernel lets it. */
function sleeps(own: readonly SeenEvent[], last: Life | undefined, now: number): boolean {
  const lastOf = (...what: readonly Says[]) =>
    own
      .flatMap((each) => (each.says && what.includes(each.says) ? timesOf(each) : []))
      .reduce<Moment>((latest, each) => (each.at > latest.at ? each : latest), { at: 0, exact: true })
  const turned = lastOf('pulled')
  const isNext = last === undefined || surelyBefore(last.began, turned)
  return isNext && turned.at > lastOf('created', 'started', 'failed', 'backs-off').at && now - turned.at < longestSleep
}

/** fs.lease-break-time, in ms. */
const longestSleep = 45_000

/** How long the hook of a container that isn't seen to run may wait, in ms. */
function mayWait({ state, hook }: LiveContainer): number {
  if (state === 'running' || !hook) return 0
  return typeof hook === 'object' ? Math.max(...hook.checks.map(({ timeout }) => timeout)) : 60_000
}

/**
 * When a container whose status has lost its first run began, if its events have not. A kubelet tells no more than 25 things of a pod at once, and what it tells again has the first time of all, even of what it didn't tell. The next
 * kubelet begins anew: what that tells first may be of any start.
 * @param restarted whether there was another kubelet before that moment
 */
function firstStart(
  container: LiveContainer,
  told: Moment | undefined,
  { times, last }: Told,
  restarted: (to: Moment) => boolean | undefined,
): Moment | undefined {
  const shown = firstRun(container)
  if (shown) {
    const began = beginOf(shown)
    // What is told later than this is another start. Of two in the same second, if both are told, the first one is told first.
    const again = container.restarts > 0 ? beginOf(container.runs[container.restarts - 1])?.at : undefined
    const next = again === began?.at && times > container.restarts ? undefined : again
    const ends = [began && began.at + tellingTakes + 1000, next, shown.ended && shown.ended + 1000]
    const until = Math.min(...ends.filter((each) => each !== undefined))
    return told && began && told.at < until ? told : began
  }
  const [latest] = container.runs.flatMap((each) => beginOf(each) ?? [])
  const known = container.runs.flatMap((each) => beginOf(each) ?? []).at(-1)
  const isNewer = !latest || !last || last.at > latest.at + 1000 + tellingTakes
  const isAll = (times > container.restarts && !isNewer) || (told && restarted(told) === false)
  return told && isAll && !(known && surelyBefore(known, told)) ? told : undefined
}

function laterOf(unready: Moment | undefined, life: Life | undefined): Moment | undefined {
  if (!unready || !life || life.isOver) return undefined
  return life.began.at > unready.at ? life.began : unready
}

/** Whether it ran at that moment, and was not ready then or at any time since: a probe has failed after it, and none has passed. */
export const inVain = ({ neverReady, failures }: Container, at: Moment): boolean =>
  neverReady !== undefined &&
  !surelyBefore(at, neverReady) &&
  failures.some((each) => timesOf(each).some((time) => surelyBefore(at, time)))

function startsTold(own: readonly SeenEvent[]): Told {
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
