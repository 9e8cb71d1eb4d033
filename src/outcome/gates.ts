import type { Polls } from '../admission/hook/polls.ts'
import type { LockRestarts } from '../admission/words/choices.ts'
import { before, type Moment, mostBetween, surelyBefore } from '../seen/moment.ts'
import { type Container, inVain } from './containers.ts'
import type { Kubelet } from './kubelet.ts'

/** What holds back everything behind a container: its hook, or a native sidecar's startupProbe. */
export interface Gate {
  /** The container that has it. */
  readonly at: string
  /** Whom it waits for. Of a hook that isn't ours nobody knows. */
  readonly for: readonly string[]
  readonly by: 'our-hook' | 'foreign-hook' | 'startup-probe'
  readonly from: Moment
  readonly opening: Opening
  /** It writes a lock, which the app has. */
  readonly locks: boolean
  /** The key of that lock, and how long a later start waits, where the hook asks for a lease on its file: it ends at once then. */
  readonly lease: { readonly lock: string; readonly restarts: LockRestarts } | undefined
  /** Its hook ends early, and nothing behind it is locked. */
  readonly handsOver: boolean
  /** After this time its hook may have failed, in ms; undefined: never. */
  readonly limit: number | undefined
  /** After this time it may have gone on without one of them, in ms; undefined: never. */
  readonly patience: number | undefined
}

/**
 * What opened a gate, and when. Only `ready` says that whom it waits for was ready then; `open`: something behind it began, and why isn't
 * shown.
 */
export type Opening =
  | { readonly how: 'closed' }
  | { readonly how: 'ready' | 'timed-out' | 'crashed' | 'kubelet-restarted'; readonly moment: Moment }
  | { readonly how: 'open'; readonly moment: Moment | undefined; readonly why: Unsure }

/** Why the end of a gate proves nothing. */
export type Unsure =
  /** Its start or its end is known from the status alone, which a restart or a failed hook would look like. */
  | 'events'
  /** The node's events, where a restart of the kubelet shows, aren't to be had. */
  | 'node-events'
  | 'foreign-hook'
  /** A kubelet that restarts may take it for passed. */
  | 'startup-probe'
  /** A kubelet that restarted may have forgotten the hook. */
  | 'hook-lost'
  /** It waits for several, and may have gone on without one of them. */
  | 'continued'
  /** With a lock a hook ends early; what the lock holds back hasn't started. */
  | 'handed-over'
  /** It restarted, and what its status keeps is not enough. */
  | 'runs-lost'

/** All gates whose container has started. */
export function gatesOf(containers: readonly Container[], kubelet: Kubelet): readonly Gate[] {
  const ready = new Set(containers.flatMap((each) => (each.ready ? each.name : [])))
  return containers.flatMap((container, index): Gate[] => {
    const { name: at, hook, kind, started: from, hasStartupProbe } = container
    if (!from || kind === 'init') return []
    const behind = containers.slice(index + 1)
    const next = behind.find(({ begun }) => begun !== undefined)?.begun
    const about = { at, from, container, next, kubelet, ready }
    const plain = {
      at,
      from,
      for: [at],
      locks: false,
      lease: undefined,
      handsOver: false,
      limit: undefined,
      patience: undefined,
    }
    if (hook === 'foreign') return [{ ...plain, by: 'foreign-hook', opening: ofForeign(about) }]
    // Its time isn't known, so a failure is never called one of time.
    if (hook === 'known') {
      const checks = [{ container: at, timeout: Infinity, onTimeout: 'fail' }] as const
      const opening = ofOurs(about, { checks, afterAnother: false, lock: undefined, lease: undefined }, behind)
      return [{ ...plain, by: 'foreign-hook', opening }]
    }
    if (hook) {
      const { lock, checks, lease: restarts } = hook
      const isLocked = lock !== undefined && behind.some(({ locks }) => locks.includes(lock))
      const least = (what: 'fail' | 'continue') => {
        const times = checks.flatMap(({ onTimeout, timeout }) => (onTimeout === what ? [timeout] : []))
        return times.length > 0 ? Math.min(...times) : undefined
      }
      return [
        {
          ...plain,
          for: [...new Set(checks.map((each) => each.container))],
          by: 'our-hook',
          opening: ofOurs(about, hook, behind),
          locks: isLocked,
          lease: isLocked && restarts !== undefined ? { lock, restarts } : undefined,
          handsOver: lock !== undefined && !isLocked,
          limit: least('fail'),
          patience: least('continue'),
        },
      ]
    }
    if (kind === 'native' && hasStartupProbe) return [{ ...plain, by: 'startup-probe', opening: ofProbe(about) }]
    return []
  })
}

interface About {
  readonly container: Container
  readonly from: Moment
  /** When something behind the gate began. */
  readonly next: Moment | undefined
  readonly kubelet: Kubelet
  /** What the kubelet calls ready now. */
  readonly ready: ReadonlySet<string>
}

function ofOurs(about: About, polls: Polls, behind: readonly Container[]): Opening {
  const { container, from, next, ready } = about
  const { lock } = polls
  if (lock !== undefined) {
    const held = behind.filter(({ locks }) => locks.includes(lock))
    const opened = held.find(({ started }) => started !== undefined)?.started
    if (!opened && held.length === 0) return { how: 'open', moment: next, why: 'handed-over' }
    if (!opened) {
      if (held.some(hasPassed)) return { how: 'open', moment: undefined, why: 'events' }
      // The hook is over, for it's over before anything is called ready; and nobody is seen to wait for the lock.
      const isLocked = held.some(({ trouble }) => trouble?.why === 'locked')
      const isOver = !isLocked && polls.checks.every((each) => ready.has(each.container))
      return isOver ? { how: 'open', moment: undefined, why: 'handed-over' } : { how: 'closed' }
    }
    const late = polls.checks.some(
      ({ onTimeout, timeout }) => onTimeout === 'continue' && mostBetween(from, opened) >= timeout,
    )
    return late ? { how: 'open', moment: opened, why: 'continued' } : { how: 'ready', moment: opened }
  }
  const patience = Math.min(...polls.checks.flatMap((each) => (each.onTimeout === 'fail' ? [each.timeout] : [])))
  // A failure opens the gate of a regular container alone.
  const failed = container.kind === 'native' ? undefined : failureOf(container, next)
  if (failed) return { how: failed.at - from.at >= patience ? 'timed-out' : 'crashed', moment: failed }
  if (!next) return closedOrLast(container)
  const cut = cutOff(about, next)
  if (cut) return cut
  // A regular one that restarted may have failed before, by an event that is lost, unless its first run is known to have gone on.
  const outlived = container.ended && surelyBefore(next, container.ended)
  if (container.kind === 'regular' && container.restarts > 0 && !outlived)
    return { how: 'open', moment: next, why: 'runs-lost' }
  const took = next.at - from.at
  const late = polls.checks.filter(({ onTimeout, timeout }) => onTimeout === 'continue' && took >= timeout)
  if (late.length === 0) return { how: 'ready', moment: next }
  // Its own sidecar may have been ready just before, and the kubelet late.
  const certain = polls.checks.every((each) => each.container === container.name) && inVain(container, next)
  return certain ? { how: 'timed-out', moment: next } : { how: 'open', moment: next, why: 'continued' }
}

/** It has been created, though its first start is lost, and isn't locked out again. */
const hasPassed = ({ state, restarts, trouble }: Container): boolean =>
  state === 'running' || (restarts > 0 && trouble?.why !== 'locked')

function ofForeign({ container, next }: About): Opening {
  const failed = container.kind === 'native' ? undefined : failureOf(container, next)
  if (failed) return { how: 'crashed', moment: failed }
  return next ? { how: 'open', moment: next, why: 'foreign-hook' } : closedOrLast(container)
}

function ofProbe(about: About): Opening {
  const { next, container } = about
  if (!next) return container.up ? { how: 'open', moment: undefined, why: 'events' } : { how: 'closed' }
  return cutOff(about, next) ?? { how: 'ready', moment: next }
}

/** Nothing begins behind the last container; its status is only written once its hook has ended. */
function closedOrLast({ state }: Container): Opening {
  return state === 'running' ? { how: 'open', moment: undefined, why: 'events' } : { how: 'closed' }
}

/** When the hook failed before anything behind it began, by the event, or by a status that still has the run that ended too soon. */
function failureOf({ hookFailed, ended, restarts, state }: Container, next: Moment | undefined): Moment | undefined {
  if (hookFailed && (!next || before(hookFailed, next, 1))) return hookFailed
  if (ended && next && (restarts > 0 || state !== 'running') && surelyBefore(ended, next)) return ended
  return undefined
}

/** What keeps the end of a gate from being a proof: no exact times, or a kubelet that restarted meanwhile, which forgets hooks. */
function cutOff({ container, from, kubelet }: About, next: Moment): Opening | undefined {
  if (!from.exact || !next.exact) return { how: 'open', moment: next, why: 'events' }
  // The hook of the last run is the one that counts.
  const since = container.restarts > 0 && container.lastStarted ? laterOf(container.lastStarted, from, next) : from
  const cut = kubelet.restarted(since, next)
  if (cut === undefined) return { how: 'open', moment: next, why: 'node-events' }
  if (!cut) return undefined
  if (inVain(container, next)) return { how: 'kubelet-restarted', moment: next }
  // A startupProbe is asked on, unless the kubelet takes it for passed.
  const asked = container.kind === 'native' && container.hasStartupProbe
  return { how: 'open', moment: next, why: asked ? 'startup-probe' : 'hook-lost' }
}

/** A run that began after the gate opened is another one. */
const laterOf = (last: Moment, first: Moment, next: Moment): Moment =>
  last.at <= next.at && last.at > first.at ? last : first
