import { askedText, latest } from '../admission/words/asked.ts'
import type { Code, Grade } from '../admission/words/values.ts'
import { earlyText, lackingText, stuckText } from '../outcome/words.ts'
import type { Evidence } from './evidence.ts'
import type { Mend } from './mend.ts'
import type { Today } from './today.ts'

/** How much what was seen proves. */
export type Certainty = 'sure' | 'probable' | 'unknown'

/** Of how many pods it was seen. */
export interface Amount {
  readonly some: number
  readonly all: number
}

/** What was seen of the pods of one workload. */
export type Sighting = { readonly [K in Evidence['kind']]: Extract<Evidence, { kind: K }> & Amount }[Evidence['kind']]

/** What limits a scan as a whole. */
export type Limit =
  | { readonly kind: 'no-events' }
  | { readonly kind: 'warnings-cut'; readonly most: number }
  | { readonly kind: 'clock-behind'; readonly node: string; readonly seconds: number; readonly others: number }
  | { readonly kind: 'list-expired' }
  | { readonly kind: 'nothing-known'; readonly workloads: number }
  | { readonly kind: 'manifests-only' }
  | { readonly kind: 'pods-too-large'; readonly pods: number; readonly most: number }

/** Why there is no line that would mend a workload. */
export type Unmended = Exclude<Mend, { kind: 'lines' | 'nothing-to-mend' }>

export type Said = Today | Sighting | Limit | Unmended

/** Something that a scan says, as it is shown. */
export interface Told {
  readonly code: Code
  readonly grade: Grade
  /** One sentence, without a full stop. */
  readonly text: string
}

type Words = {
  readonly [K in Said['kind']]: {
    readonly code: Code
    readonly grade: Exclude<Grade, 'refusal'>
    readonly text: (data: Extract<Said, { kind: K }>) => string
  }
}

const seconds = (ms: number) => `${Math.max(1, Math.round(ms / 1000))} s`
const apps = ({ some, all }: Amount) => (all === 1 ? 'the app' : `${some} of ${all} apps`)
const pods = ({ some, all }: Amount) => (all === 1 ? 'its pod' : `${some} of ${all} pods`)
const order = ({ order, app, sidecar }: Extract<Today, { kind: 'unguarded' }>) =>
  order === 'app-first' ? `${app}, then ${sidecar}` : `${sidecar}${order === 'native' ? ' (native)' : ''}, then ${app}`

/** Everything that a scan says, each kind once. */
const words: Words = {
  unguarded: { code: 'SF901', grade: 'warning', text: (today) => `${order(today)}; nothing waits` },
  'late-hook': {
    code: 'SF902',
    grade: 'warning',
    text: ({ app, sidecar }) => `${app}, then ${sidecar}, whose own hook waits in vain: the app has started by then`,
  },
  'unknown-hook': {
    code: 'SF903',
    grade: 'note',
    text: ({ app, sidecar }) =>
      `${sidecar}, then ${app}; ${sidecar} has a hook of its own, and what it waits for isn't known`,
  },
  'startup-probe': {
    code: 'SF904',
    grade: 'note',
    text: ({ app, sidecar, ...asked }) =>
      `${sidecar} (native), then ${app}; its startupProbe holds the app. It is ${askedText(asked)}, so the app starts up to ${latest(asked)} s late`,
  },
  'not-yet-there': {
    code: 'SF905',
    grade: 'note',
    text: ({ sidecar, key }) => `its injector adds ${sidecar} (${key}), and whether it waits isn't in the manifest`,
  },
  'own-hook': {
    code: 'SF906',
    grade: 'ok',
    text: ({ app, sidecar }) => `${sidecar}, then ${app}; the hook that its injector wrote waits`,
  },
  ours: {
    code: 'SF907',
    grade: 'ok',
    text: ({ app, sidecar }) => `${sidecar}, then ${app}; a hook of sidecar-first waits`,
  },
  prepared: {
    code: 'SF908',
    grade: 'ok',
    text: ({ sidecar, init }) => `${init} has done what an app would wait for before ${sidecar} starts`,
  },
  asked: {
    code: 'SF909',
    grade: 'ok',
    text: ({ app, sidecar }) =>
      `${sidecar}, then ${app}, once the webhook patches it: the manifest or a rule asks for that`,
  },
  'started-later': {
    code: 'SF911',
    grade: 'problem',
    text: ({ sidecar, ms, ...amount }) =>
      `${apps(amount)} started before ${sidecar} did, by up to about ${seconds(ms)}`,
  },
  'probe-failed': {
    code: 'SF912',
    grade: 'problem',
    text: ({ sidecar, ms, ...amount }) =>
      `${apps(amount)} ran while ${sidecar} wasn't ready: its probe failed up to about ${seconds(ms)} after the app's start`,
  },
  'opened-early': {
    code: 'SF913',
    grade: 'problem',
    text: ({ early, ...amount }) => `${apps(amount)} started too early: ${earlyText(early)}`,
  },
  'runs-without': {
    code: 'SF914',
    grade: 'problem',
    text: ({ lacking, ...amount }) =>
      `${apps(amount)} ${amount.all === 1 ? 'runs' : 'run'} without it now: ${lackingText(lacking)}`,
  },
  'held-up': {
    code: 'SF915',
    grade: 'problem',
    text: ({ stuck, ...amount }) =>
      `${apps(amount)} ${amount.all === 1 ? 'has' : 'have'} not started: ${stuckText(stuck)}`,
  },
  'app-failed': {
    code: 'SF921',
    grade: 'warning',
    text: ({ exitCode, ms, ran, sidecars, ...amount }) =>
      `${apps(amount)} ended with code ${exitCode} within ${seconds(ms)}${ran ? ', then ran' : ''} (probably: ${sidecars.join(' or ')} wasn't ready)`,
  },
  'events-gone': {
    code: 'SF931',
    grade: 'note',
    text: (amount) => `${pods(amount)} started over an hour ago: the events of that start are gone`,
  },
  restarted: {
    code: 'SF932',
    grade: 'note',
    text: ({ app, ...amount }) =>
      `${app} of ${pods(amount)} restarted twice or more: the status has lost the first start`,
  },
  'other-clock': {
    code: 'SF933',
    grade: 'note',
    text: (amount) =>
      `${pods(amount)} ${amount.all === 1 ? 'has' : 'have'} warnings by another clock than the node's, which aren't compared`,
  },
  'still-starting': {
    code: 'SF934',
    grade: 'note',
    text: (amount) => `${pods(amount)} ${amount.all === 1 ? 'is' : 'are'} still starting`,
  },
  'asked-in-vain': {
    code: 'SF951',
    grade: 'warning',
    text: () => `nothing more: it asks already, but no webhook has acted on it; sidecar-first check says why`,
  },
  'asked-otherwise': {
    code: 'SF953',
    grade: 'warning',
    text: ({ sidecars, why }) =>
      `the manifest or a rule asks already, but the app still wouldn't wait for ${sidecars.join(' and ')}${why.length === 0 ? '' : `: ${why.join('; ')}`}`,
  },
  'no-line': { code: 'SF952', grade: 'note', text: ({ why }) => `no annotation would mend it: ${why.join('; ')}` },
  'no-events': {
    code: 'SF941',
    grade: 'note',
    text: () => `you may not list events: what was seen is from the pods' status alone`,
  },
  'warnings-cut': {
    code: 'SF942',
    grade: 'note',
    text: ({ most }) => `there are more than ${most} warnings about pods; the others weren't read`,
  },
  'clock-behind': {
    code: 'SF943',
    grade: 'note',
    text: ({ node, seconds, others }) =>
      `the clock of ${node}${others > 0 ? ` and ${others} more` : ''} is at least ${seconds} s behind the API server's; times are only compared within one node`,
  },
  'list-expired': {
    code: 'SF944',
    grade: 'note',
    text: () => `the list of pods expired on the way and went on as of then: a pod may be missing`,
  },
  'nothing-known': {
    code: 'SF945',
    grade: 'ok',
    text: ({ workloads }) =>
      workloads === 0
        ? 'there are no pods to look at'
        : `${workloads === 1 ? 'the workload has no' : `none of ${workloads} workloads has a`} sidecar that a preset knows, so a scan can't tell what waits for what; the webhook works with any container, see docs/annotations.md`,
  },
  'pods-too-large': {
    code: 'SF947',
    grade: 'note',
    text: ({ pods, most }) =>
      `${pods} pod${pods === 1 ? ' has' : 's have'} more than ${most} containers and ${pods === 1 ? "wasn't" : "weren't"} looked at`,
  },
  'manifests-only': {
    code: 'SF946',
    grade: 'note',
    text: () =>
      `these are manifests: what injectors and the webhook do, and what really happens, shows only in a cluster`,
  },
}

export function told<T extends Said>(said: T): Told {
  const { code, grade, text } = words[said.kind] as unknown as { code: Code; grade: Grade; text: (data: T) => string }
  return { code, grade, text: text(said) }
}

export function certaintyOf({ kind }: Sighting): Certainty {
  switch (kind) {
    case 'started-later':
    case 'probe-failed':
    case 'opened-early':
    case 'runs-without':
    case 'held-up':
      return 'sure'
    case 'app-failed':
      return 'probable'
    case 'events-gone':
    case 'restarted':
    case 'other-clock':
    case 'still-starting':
      return 'unknown'
    default:
      return kind satisfies never
  }
}
