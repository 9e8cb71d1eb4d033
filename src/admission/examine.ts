import { optsOut, readWishes, type Wishes } from './intent/annotations.ts'
import type { Configuration } from './intent/configuration.ts'
import type { Context } from './intent/context.ts'
import { audible } from './intent/ignored.ts'
import { isInjected } from './intent/injected.ts'
import { type Intent, mergeIntent, type Ruled } from './intent/intent.ts'
import type { Rule } from './intent/rule.ts'
import { longestText } from './intent/rule-index.ts'
import { ruledContainers, rulesFor, standingFor, unreadImages } from './intent/rules.ts'
import { type Plan, plan } from './plan/plan.ts'
import { isNative } from './pod/kind.ts'
import type { Metadata, Pod, Spec } from './pod/pod.ts'
import { readMetadata, readSpec } from './pod/read.ts'
import type { Read } from './pod/reader.ts'
import { readStatus } from './pod/status.ts'
import { keys, mirrorKey } from './words/keys.ts'
import { mostProblems, told } from './words/limits.ts'
import type { Problem, Reason, Warning } from './words/messages.ts'
import { slipOf } from './words/nearest.ts'

/** Reads a pod's manifest, merges what it says with the rules, and plans. Never throws. */
export function examine(manifest: unknown, context: Context): Examined {
  const metadata = readMetadata(manifest)
  if (!metadata.ok) return invalid(metadata.problems, [], bindingWhere(true, mayBeEnforced(context)))
  const examined = examinePod(manifest, metadata.value, context)
  return { ...examined, warnings: audible(examined.warnings, metadata.value) }
}

function examinePod(manifest: unknown, metadata: Metadata, context: Context): Examined {
  const claim = claimOf(manifest, metadata, context)
  if (claim.kind === 'left') return claim
  const { spec, ruled, unread, binding } = claim
  const wishes = readWishes(metadata, context.configuration)
  if (!spec.ok) return invalid([...wishes.problems, ...spec.problems], wishes.warnings, binding)

  const pod: Pod = { metadata, spec: spec.value }
  const intent = asPlanned(mergeIntent(wishes, ruled, context.configuration), wishes, pod, context)
  if (!claim.asks && unread.length === 0 && !hasApp(pod.spec, ruled, intent)) return left('only-sidecars')
  const { absent, idle } = withoutEffect(wishes, intent, pod, context)
  const planned = plan(pod, intent, context)
  const missed = missedOf(absent, requires(claim, context.configuration))
  const unused = [...idle, ...(planned.ok ? unusedRestarts(wishes, planned.plan) : [])]
  const warnings = [...claim.exempt, ...missed, ...wishes.warnings, ...intent.warnings, ...unused, ...planned.warnings]
  const problems = [...wishes.problems, ...unread, ...(planned.ok ? [] : planned.problems)]
  if (!planned.ok || problems.length > 0) return invalid(problems, warnings, binding)
  return { kind: 'planned', pod, plan: planned.plan, absent, warnings, binding }
}

/**
 * The final pod may have been patched by a replica with another configuration. What neither the pod nor an enforced rule says is taken from the
 * pod's own status: whoever forges that could as well have said it. Under an enforced rule only the stronger gate is: sidecars that became native
 * before an injector added the rule's would start in front of it.
 */
function asPlanned(intent: Intent, wishes: Wishes, { metadata }: Pod, { surroundings }: Context): Intent {
  const { gate } = readStatus(metadata.annotations.get(keys.status))
  if (intent.enforced) return gate === 'native' && intent.gate === 'hook' ? madeNative(intent) : intent
  if (surroundings.asker !== 'final' || wishes.gate === 'hook' || wishes.gate === 'native') return intent
  return gate === 'hook' || gate === 'native' ? { ...intent, gate } : intent
}

/** Behind a hook, `startup-probe: keep` takes nothing away. A native sidecar with it has no hook of ours, which alone opens a lock. */
function madeNative(intent: Intent): Intent {
  const drops = intent.lock.choice === 'on'
  const tiers = intent.tiers.map((tier) =>
    tier.map((each) => (drops && each.startupProbe === 'keep' ? { ...each, startupProbe: undefined } : each)),
  )
  return { ...intent, gate: 'native', tiers }
}

/** A container that a key of the pod names and that isn't there. */
export interface Absent {
  readonly key: string
  readonly name: string
  /** The container that is probably meant. */
  readonly near?: string
  /** An injector is known to add it, or the configuration says so. */
  readonly expected: boolean
}

/** What is found out about a pod; `decide` makes a decision of it, `validate` a verdict. */
export type Examined =
  | Left
  | {
      readonly kind: 'invalid'
      readonly problems: readonly Problem[]
      readonly warnings: readonly Warning[]
      readonly binding: Binding
    }
  | {
      readonly kind: 'planned'
      readonly pod: Pod
      readonly plan: Plan
      readonly absent: readonly Absent[]
      readonly warnings: readonly Warning[]
      readonly binding: Binding
    }

/**
 * Whether the pod can be refused: `asked` by itself, unless `invalid: warn` says otherwise; `enforced` by a rule that neither the pod nor `invalid`
 * can change. Other rules never get a pod refused.
 */
type Binding = 'no' | 'asked' | 'enforced'

export const mayRefuse = ({ binding }: { readonly binding: Binding }, { invalid }: Configuration): boolean =>
  binding === 'enforced' || (binding === 'asked' && invalid === 'refuse')

const bindingWhere = (asks: boolean, enforced: boolean): Binding => (enforced ? 'enforced' : asks ? 'asked' : 'no')

/** Of a pod that can't be read. */
const mayBeEnforced = ({ configuration, surroundings: { sets } }: Context): boolean =>
  rulesFor(configuration.rules, sets).some(({ enforce }) => enforce)

/** Nothing asked for, opted out, or not ours to touch. */
interface Left {
  readonly kind: 'left'
  readonly reason: Reason
  readonly warnings: readonly Warning[]
}

function left(kind: 'opted-out' | 'mirror-pod' | 'windows-pod' | 'only-sidecars'): Left {
  return { kind: 'left', reason: { kind }, warnings: [] }
}

function invalid(problems: readonly Problem[], warnings: readonly Warning[], binding: Binding): Examined {
  return { kind: 'invalid', problems, warnings, binding }
}

/** Who asks for something: the pod, rules, or both. */
interface Claim {
  readonly kind: 'claim'
  readonly spec: Read<Spec>
  readonly ruled: Ruled
  /** Whether the pod itself asks. */
  readonly asks: boolean
  /** The enforced rules that let this pod by. */
  readonly exempt: readonly Warning[]
  /** The containers that an enforced rule could be about, if their image could be read. */
  readonly unread: readonly Problem[]
  readonly binding: Binding
}

/** Whether anything is asked for this pod. Pods that ask for nothing are most of them, so no more of them is read than is needed. */
function claimOf(manifest: unknown, metadata: Metadata, { configuration, surroundings }: Context): Left | Claim {
  const { annotations, labels } = metadata
  const asks = (annotations.get(keys.sidecars) ?? null) !== null
  const optedOut = optsOut(metadata)
  const { rules } = configuration
  if (!asks && rules.rules.length === 0) return nothingAsked(metadata, optedOut, configuration)
  if (annotations.has(mirrorKey)) return left('mirror-pod')

  const spec = readSpec(manifest)
  const standing = standingFor(metadata, surroundings)
  const found = spec.ok
    ? ruledContainers(rules, spec.value, labels, surroundings.sets, standing)
    : new Map<string, Rule>()
  const ruled: Ruled = new Map([...found].map(([name, rule]) => [name, standing(rule)]))
  const tooMany = !spec.ok && spec.problems.some(({ kind }) => kind === 'too-many-containers')
  const anyEnforced = [...ruled.values()].some(({ enforce }) => enforce)
  const unread = spec.ok
    ? unreadImages(rules, spec.value, metadata, surroundings, (rule) => anyEnforced || standing(rule).enforce)
    : []
  // Which of its containers rules are about can't be seen in a pod that can't be read, so it is any of them: what is wrong with it the API server may
  // well take.
  const enforced = spec.ok
    ? anyEnforced || unread.length > 0
    : rulesFor(rules, surroundings.sets).some((rule) => standing(rule).enforce)
  if (optedOut && !enforced) return left('opted-out')
  if (!asks && !enforced && ruled.size === 0 && !tooMany) return nothingAsked(metadata, optedOut, configuration)
  if (spec.ok && spec.value.windows) return left('windows-pod')
  const exempt = new Set([...found.values()].filter((rule) => rule.enforce && !standing(rule).enforce))
  return {
    kind: 'claim',
    spec,
    asks,
    ruled: enforced && spec.ok ? withoutDisguise(ruled, spec.value) : ruled,
    exempt: [...exempt].map(({ name }) => ({ kind: 'exempt', rule: name })),
    unread: unread.slice(0, mostProblems).map(({ name }) => ({ kind: 'image-unread', name, most: longestText })),
    binding: bindingWhere(asks, enforced),
  }
}

/**
 * Where everything that goes on running is a sidecar by a rule, the app may have the name of one: beside an enforced rule's sidecar, those of other
 * rules count as the app. Which list they stand in doesn't matter, since our own patch moves them.
 */
function withoutDisguise(ruled: Ruled, { containers, initContainers }: Spec): Ruled {
  const running = [...containers, ...initContainers.filter(isNative)]
  if (!running.every(({ name }) => ruled.has(name))) return ruled
  return new Map([...ruled].filter(([, { enforce }]) => enforce))
}

/**
 * Whether there is anything to hold back. Under an enforced rule that is whatever no such rule makes a sidecar of its first tier, among the init containers,
 * too; with `native` and `first` also those that end.
 */
function hasApp(
  { containers, initContainers }: Spec,
  ruled: Ruled,
  { enforced, gate, nativePosition }: Pick<Intent, 'enforced' | 'gate' | 'nativePosition'>,
): boolean {
  if (!enforced) return containers.some(({ name }) => !ruled.has(name))
  const holdsAll = gate === 'native' && nativePosition === 'first'
  const inits = holdsAll ? initContainers : initContainers.filter(isNative)
  // Beside a first enforced tier, those of later ones wait as an app does.
  const first = Math.min(...[...ruled.values()].filter(({ enforce }) => enforce).map(({ tier }) => tier))
  return [...containers, ...inits].some(({ name }) => {
    const rule = ruled.get(name)
    return rule?.enforce !== true || rule.tier > first
  })
}

function nothingAsked(metadata: Metadata, optedOut: boolean, configuration: Context['configuration']): Left {
  if (optedOut) return left('opted-out')
  const wishes = readWishes(metadata, configuration)
  const idle = wishes.keys.slice(0, mostProblems).map((key) => ({ kind: 'idle-key', key }) as const)
  const rules = configuration.rules.rules.length > 0
  return { kind: 'left', reason: { kind: 'nothing-asked', rules }, warnings: [...idle, ...wishes.warnings] }
}

/** Whether the final check refuses a pod in which a named container is missing. */
export const requires = (examined: { readonly binding: Binding }, configuration: Configuration): boolean =>
  configuration.mode === 'enforce' && configuration.invalid === 'refuse' && mayRefuse(examined, configuration)

function missedOf(absent: readonly Absent[], required: boolean): readonly Warning[] {
  const kind = required ? 'container-awaited' : 'container-absent'
  return absent.flatMap(({ expected, ...named }) => (expected ? [] : [{ kind, ...named }]))
}

/** Where a pod says how long later starts wait, and none does. */
function unusedRestarts({ lockRestarts }: Wishes, { tiers }: Plan): readonly Warning[] {
  const leases = tiers.flat().some(({ gate }) => gate?.restarts !== undefined)
  return lockRestarts === undefined || leases || tiers.length === 0 ? [] : [{ kind: 'restarts-unused' }]
}

/** Containers, and names that none has: a pod that somebody wrote to hurt has half a thousand of both. */
const mostCompared = 32

/** The keys that name a container which isn't there, or isn't a sidecar. */
function withoutEffect(
  { named, problems }: Wishes,
  { tiers }: Intent,
  { metadata, spec: { containers, initContainers } }: Pod,
  { configuration }: Context,
) {
  const there = new Set([...containers, ...initContainers].map(({ name }) => name))
  const listed = new Set(named.flatMap(({ key, name }) => (key === keys.sidecars ? [name] : [])))
  const absent = told(named, ({ name }) => !there.has(name)).map(({ key, name }, index): Absent => {
    const expected = isInjected(name, metadata) || configuration.injected.has(name)
    if (expected || there.size > mostCompared || index >= mostCompared) return { key, name, expected }
    // Nobody lists a container twice: where the one that is nearly called so is listed, too, another one is meant.
    const meant = [...there].filter((each) => key !== keys.sidecars || !listed.has(each))
    const near = slipOf(name, meant)
    return { key, name, expected, ...(near && { near }) }
  })
  if (problems.length > 0) return { absent, idle: [] }
  const sidecars = new Set(tiers.flat().map(({ name }) => name))
  const isIdle = ({ key, name }: Wishes['named'][number]) =>
    key !== keys.sidecars && there.has(name) && !sidecars.has(name)
  const idle = told(named, isIdle).map(({ key, name }) => ({ kind: 'not-a-sidecar', key, name }) as const)
  return { absent, idle }
}
