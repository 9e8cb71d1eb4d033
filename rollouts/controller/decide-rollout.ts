/**
 * What to do next about a rollout, decided from what the cluster shows and the time alone. What is remembered besides (when a container was
 * first seen ready) only ever makes it wait longer, so a successor of a process that was killed, at any point, goes on from there. Times are
 * in ms since 1970, by the API server's clock.
 */

import { sameName } from '../image.ts'
import {
  countsOf,
  type Member,
  type Members,
  membersOf,
  reachedKeys,
  SILENT,
  withBaked,
  withContainer,
} from '../members.ts'
import { type Memory, pulledFor, remember } from '../memory.ts'
import { allowedFailures } from '../share.ts'
import { isRewritten, type Patience, patienceOf } from '../sidecar-state.ts'
import { completedIn, type FailureReason, type RolloutFailure, type SidecarRollout } from '../types.ts'
import type { Decision, Shown, Step } from './decision.ts'
import type { Denial } from './denials.ts'
import { type Look, type PhaseRule, phaseRules, updating } from './phase-rules.ts'
import { desiredIn, movesOf } from './targets.ts'
import { walk } from './walk.ts'

export function next(shown: Shown): Decision {
  const judged = judge(shown)
  const look = move(judged)
  const rule: PhaseRule = phaseRules.find(({ holds }) => holds(look)) ?? updating
  const { phase, reason, message, but, rests } = rule
  const said = reason === 'held' ? (look.held?.reason ?? updating.reason) : reason
  const decision = rests ? judged.decision : look.decision
  const isFirst = shown.rollout.status?.revisions?.at(-1)?.bakedUntil === undefined
  const rested = isFirst || phase === 'Complete' ? look.members.filter(({ justBaked }) => justBaked) : []
  const unconfirmed = rested.map(({ pod }) => pod.name)
  const ruled = { ...decision, ...but?.(look), phase, reason: said, message: message(look), unconfirmed }
  if (phase !== 'Progressing' && phase !== 'RollingBack') return ruled
  const until = progressUntil(look)
  if (until <= shown.now) return { ...ruled, stuck: true }
  return { ...ruled, again: earliest([ruled.again, until]) }
}

/** Until when one on its way must touch another pod, or it needs somebody. What is waited for may never come: a registry, an app, a budget. */
function progressUntil({ shown: { rollout, now }, members, decision }: Look): number {
  const { metadata, spec, status } = rollout
  const moving = status?.conditions.find(({ type }) => type === 'Progressing')
  const began = moving?.status === 'True' ? Date.parse(moving.lastTransitionTime) : now
  const touches = members.flatMap(({ note }) => (note?.rollout === metadata.uid ? note.at : []))
  const { progressDeadlineSeconds, minReadySeconds, bakeSeconds = 0 } = spec.strategy
  const last = touches.reduce((latest, at) => Math.max(latest, at), Math.max(began, decision.since))
  return last + (2 * (progressDeadlineSeconds + bakeSeconds) + minReadySeconds) * 1000
}

type Judged = Pick<Look, 'shown' | 'members' | 'decision'> & Pick<Members, 'proven'>

/** All but the moves. */
function judge(shown: Shown): Judged {
  const { rollout, isKnown, claimedBy } = shown
  const patience = patienceOf(rollout, shown.now, shown.lifeOf)
  const pods = withContainer(rollout, shown.pods)
  const remembered = remember(rollout, pods, shown.bornAs)
  const found = membersOf(rollout, pods, remembered, { patience, isKnown })
  const { all, proven } = found
  const known = withBaked(withEffective(remembered, all), found)
  // While it waits, another changes the images: what it may replace is fixed when its turn comes.
  const memory = claimedBy === undefined ? known : { ...known, origins: rollout.status?.origins }
  const completed = completedIn(rollout) !== undefined
  const namesOf = (of: (one: Member) => boolean) => all.filter(of).map(({ pod }) => pod.name)
  const failing = failingOf(shown, all)
  const decision = {
    counts: countsOf(all, desiredIn(rollout, all)),
    since: patience.since,
    leftAlone: {
      superseded: namesOf((one) => one.standing === 'superseded'),
      refused: namesOf((one) => one.standing === 'refused'),
      silent: namesOf(({ silent }) => silent),
      tooOld: namesOf((one) => one.standing === 'too old'),
    },
    denied: [],
    excused: all.flatMap(({ pod, state }) =>
      state.is === 'starting' && state.held !== undefined ? [`${pod.name} (${state.held})`] : [],
    ),
    stuck: false,
    behind: shown.behind,
    unneeded: false,
    failing,
    unconfirmed: [],
    known: reachedKeys(all),
    memory,
    failure: claimedBy === undefined ? failureOf(shown, all, { failing, completed, memory }) : undefined,
    completed,
    steps: notesOf(all).filter(({ pod, note }) => !rests(shown.denialOf(pod, note.wanted), shown)),
    wanted: [],
    unfetchable: undefined,
    unfetched: undefined,
    awaited: awaitedOf(all),
    again: soonest(all, patience),
  }
  return { shown, members: all, proven, decision }
}

function move({ proven, ...judged }: Judged): Look {
  const { shown, members, decision } = judged
  const { counts, memory, failure, completed, leftAlone } = decision
  const { moves, limit, back } = movesOf(shown.rollout, members, memory, failure !== undefined)
  const denied = moves.flatMap((one) => {
    const denial = shown.denialOf(one.member.pod, one.to)
    return denial ? [{ ...one, denial }] : []
  })
  // Those that are tried once more come after those that haven't been denied.
  const again = denied.filter(({ denial }) => !rests(denial, shown))
  const free = [...moves.filter(({ member, to }) => !shown.denialOf(member.pod, to)), ...again]
  const { touches, fetches, held, ...images } = walk(shown, { members, proven, moves: free, limit, back, memory })
  const steps = [...decision.steps, ...touches, ...fetches]
  const broken = members.filter(({ inProgress, state }) => inProgress && state.is === 'failed').length
  const idle = limit === 0 && counts.inProgress === broken
  const done = counts.updatedReady >= Math.min(counts.updated, counts.desired) - broken
  const baking = members.filter(({ bakes }) => bakes !== undefined)
  const reached = idle && (completed || (done && baking.length === 0))
  const refused = counts.refused + denied.filter(({ member }) => !member.updated).length
  const withDenied = {
    counts: { ...counts, refused },
    leftAlone: { ...leftAlone, refused: [...leftAlone.refused, ...denied.map(({ member }) => member.pod.name)] },
    denied: denied.map(({ member, denial }) => `${member.pod.name} (${denial.why})`),
    again: earliest([decision.again, ...denied.flatMap(({ denial }) => (rests(denial, shown) ? denial.until : []))]),
  }
  const whole = { ...decision, ...withDenied, ...images, steps }
  return { ...judged, decision: whole, moves, back, touches, held, broken, baking, reached }
}

/** Whether a denied change isn't to be tried again yet. */
const rests = (denial: Denial | undefined, { now }: Shown) => denial !== undefined && denial.until > now

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length > 0 ? Math.min(...known) : undefined
}

/** What admission makes of the present image, as soon as one pod has shown it. */
function withEffective(memory: Memory, members: readonly Member[]): Memory {
  const revisions = memory.revisions.map((revision) => {
    const shown = members.find(
      ({ note, container }) => note?.effective === container.image && sameName(note.wanted, revision.image),
    )
    const image = shown?.container.image
    return image === undefined || sameName(image, revision.image) ? revision : { ...revision, effective: image }
  })
  return { ...memory, revisions }
}

/** Notes that don't yet say what admission has made of the image. */
function notesOf(members: readonly Member[]): readonly Exclude<Step, { do: 'fetch' }>[] {
  return members.flatMap(({ pod, container, note }): Exclude<Step, { do: 'fetch' }>[] => {
    const stored = pod.notes.get(container.name)
    return note && stored && isRewritten(stored, pod, container) ? [{ do: 'note', pod, container, note }] : []
  })
}

/** The pods that fail now. */
function failingOf({ rollout, now }: Shown, members: readonly Member[]): readonly RolloutFailure[] {
  return members.flatMap(({ pod, state, note }): RolloutFailure[] => {
    if (state.is !== 'failed' || !note) return []
    const { reason, message } = state
    return [failed({ reason, message, pod: pod.name, node: pod.node }, rollout, now)]
  })
}

function failed(
  { node, ...rest }: { reason: FailureReason; message: string; pod?: string; node?: string | undefined },
  { metadata }: SidecarRollout,
  now: number,
): RolloutFailure {
  const time = new Date(now).toISOString()
  return { ...rest, ...(node !== undefined && { node }), generation: metadata.generation, time }
}

/** What has failed this generation; otherwise more pods, or nodes that can't pull the image, than may fail. */
function failureOf(
  { rollout, now, fetchOf }: Shown,
  members: readonly Member[],
  { failing, completed, memory }: Pick<Decision, 'failing' | 'completed' | 'memory'>,
): RolloutFailure | undefined {
  const kept = rollout.status?.failure
  if (kept?.generation === rollout.metadata.generation) return kept
  // A new pod that fails after the rollout was complete doesn't put the others back.
  if (completed) return undefined
  const image = pulledFor(rollout.spec.image, memory)
  const allowed = allowedFailures(rollout.spec.strategy.maxFailures, members.length)
  if (failing.length > allowed) return failing[0]
  const nodes = new Set(
    members.flatMap(({ updated, standing: is, pod }) => (updated || is !== 'eligible' ? [] : (pod.node ?? []))),
  )
  const late: RolloutFailure[] = []
  for (const node of nodes) {
    const fetch = fetchOf(node, image, false)
    const found = fetch?.is === 'failed' || (fetch?.is === 'waiting' && fetch.late) ? fetch.why : undefined
    if (found === undefined) continue
    const why = failed({ reason: 'ImageUnavailable', message: found, node }, rollout, now)
    if (fetch?.is === 'failed') return why
    late.push(why)
  }
  return late.length > allowed ? late[0] : undefined
}

function awaitedOf(members: readonly Member[]): readonly string[] {
  const nodes = members.flatMap(({ state }) =>
    state.is === 'silent' || state.is === 'starting' ? (state.awaits?.node ?? []) : [],
  )
  return [...new Set(nodes)]
}

/** When the first of them will have been ready long enough, or not in time. */
function soonest(members: readonly Member[], patience: Patience): number | undefined {
  const times = members.flatMap(({ state, note, bakes }): readonly number[] | number => {
    if (state.is === 'settling') return [state.until]
    if (state.is === 'silent' && note && patience.now - note.at < SILENT) return [note.at + SILENT]
    if (bakes !== undefined) return [bakes]
    return state.is === 'starting' || state.is === 'silent' ? (state.until ?? []) : []
  })
  return earliest(times)
}
