import { optsOut, readWishes, type Wishes } from './intent/annotations.ts'
import type { Context } from './intent/context.ts'
import { audible } from './intent/ignored.ts'
import { type Intent, mergeIntent, type Ruled } from './intent/intent.ts'
import { ruledContainers, rulesFor } from './intent/rules.ts'
import { patch } from './patch/patch.ts'
import { type Plan, plan } from './plan/plan.ts'
import type { Container, Metadata, Pod, Spec } from './pod/pod.ts'
import { readMetadata, readSpec } from './pod/read.ts'
import type { Read } from './pod/reader.ts'
import { readStatus } from './pod/status.ts'
import type { Operation } from './words/json.ts'
import { keys, mirrorKey } from './words/keys.ts'
import type { Problem, Reason, Warning } from './words/messages.ts'
import { mostProblems, told } from './words/most.ts'
import { nearest } from './words/nearest.ts'

/** Reads a pod's manifest, merges what it says with the rules, plans and patches. Never throws. */
export function examine(manifest: unknown, context: Context): Examined {
  const metadata = readMetadata(manifest)
  if (!metadata.ok) return invalid(metadata.problems, [], true)
  const examined = examinePod(manifest, metadata.value, context)
  return { ...examined, warnings: audible(examined.warnings, metadata.value) }
}

function examinePod(manifest: unknown, metadata: Metadata, context: Context): Examined {
  const claim = claimOf(manifest, metadata, context)
  if (claim.kind === 'left') return claim
  const { spec, ruled, binding } = claim
  const wishes = readWishes(metadata, context.configuration)
  if (!spec.ok) return invalid([...wishes.problems, ...spec.problems], wishes.warnings, binding)

  const pod: Pod = { metadata, spec: spec.value }
  const intent = asPlanned(mergeIntent(wishes, ruled, context.configuration), wishes, pod, context)
  const planned = plan(pod, intent, context)
  const { absent, idle } = withoutEffect(wishes, intent, pod.spec)
  const warnings = [...absent, ...wishes.warnings, ...intent.warnings, ...idle, ...planned.warnings]
  if (!planned.ok) return invalid([...wishes.problems, ...planned.problems], warnings, binding)
  if (wishes.problems.length > 0) return invalid(wishes.problems, warnings, binding)
  const { enforced } = intent
  const operations = patch(planned.plan, pod)
  return { kind: 'planned', pod, plan: planned.plan, operations, absent, warnings, binding, enforced }
}

/**
 * The final pod may have been patched by a replica with another configuration. What neither the pod nor an enforced rule says is taken from the
 * pod's own status: whoever forges that could as well have said it.
 */
function asPlanned(intent: Intent, wishes: Wishes, { metadata }: Pod, { surroundings }: Context): Intent {
  if (surroundings.asker !== 'final' || intent.enforced || wishes.gate === 'hook' || wishes.gate === 'native')
    return intent
  const { gate } = readStatus(metadata.annotations.get(keys.status))
  return gate === 'hook' || gate === 'native' ? { ...intent, gate } : intent
}

/** What is found out about a pod; `decide` makes a decision of it, `validate` a verdict. */
export type Examined =
  | Left
  | {
      readonly kind: 'invalid'
      readonly problems: readonly Problem[]
      readonly warnings: readonly Warning[]
      readonly binding: boolean
    }
  | {
      readonly kind: 'planned'
      readonly pod: Pod
      readonly plan: Plan
      readonly operations: readonly Operation[]
      /** What the pod's keys name and isn't there. */
      readonly absent: readonly Warning[]
      readonly warnings: readonly Warning[]
      /** The pod itself asks for it, or an enforced rule: then it can be refused. Other rules never get a pod refused. */
      readonly binding: boolean
      /** Whether a rule that a pod can't change has a say. */
      readonly enforced: boolean
    }

/** Nothing asked for, opted out, or not ours to touch. */
interface Left {
  readonly kind: 'left'
  readonly reason: Reason
  readonly warnings: readonly Warning[]
}

function left(kind: 'opted-out' | 'mirror-pod' | 'windows-pod' | 'only-sidecars'): Left {
  return { kind: 'left', reason: { kind }, warnings: [] }
}

function invalid(problems: readonly Problem[], warnings: readonly Warning[], binding: boolean): Examined {
  return { kind: 'invalid', problems, warnings, binding }
}

/** Who asks for something: the pod, rules, or both. */
interface Claim {
  readonly kind: 'claim'
  readonly spec: Read<Spec>
  readonly ruled: Ruled
  readonly binding: boolean
}

/** Whether anything is asked for this pod. Pods that ask for nothing are most of them, so no more of them is read than is needed. */
function claimOf(manifest: unknown, metadata: Metadata, { configuration, surroundings }: Context): Left | Claim {
  const { annotations, labels } = metadata
  const asks = (annotations.get(keys.sidecars) ?? null) !== null
  const optedOut = optsOut(metadata)
  if (!asks && configuration.rules.rules.length === 0) return nothingAsked(metadata, optedOut, configuration)
  if (annotations.has(mirrorKey)) return left('mirror-pod')

  const spec = readSpec(manifest)
  const ruled: Ruled = spec.ok
    ? withoutDisguise(ruledContainers(configuration.rules, spec.value, labels, surroundings.sets), spec.value)
    : new Map()
  // Which of its containers rules are about isn't looked at then, so it is any of them.
  const unseen = !spec.ok && spec.problems.some(({ kind }) => kind === 'too-many-containers')
  const asked = unseen ? rulesFor(configuration.rules, surroundings.sets) : [...ruled.values()]
  const enforced = asked.some((rule) => rule.enforce)
  if (optedOut && !enforced) return left('opted-out')
  if (!asks && ruled.size === 0 && !unseen) return nothingAsked(metadata, optedOut, configuration)
  if (spec.ok && spec.value.windows) return left('windows-pod')
  if (!asks && spec.ok && !hasApp(spec.value, ruled, enforced)) return left('only-sidecars')
  return { kind: 'claim', spec, ruled, binding: asks || enforced }
}

/**
 * Where every regular container is a sidecar by a rule, the app may have the name of one: beside an enforced rule's sidecar, those of other rules
 * count as the app.
 */
function withoutDisguise(ruled: Ruled, { containers }: Spec): Ruled {
  if (![...ruled.values()].some(({ enforce }) => enforce)) return ruled
  if (!containers.every(({ name }) => ruled.has(name))) return ruled
  const regular = new Set(containers.map(({ name }) => name))
  return new Map([...ruled].filter(([name, { enforce }]) => enforce || !regular.has(name)))
}

/** Whether there is anything to hold back. Under an enforced rule, an app among the init containers counts as well. */
function hasApp({ containers, initContainers }: Spec, ruled: Ruled, enforced: boolean): boolean {
  const isApp = ({ name }: Container) => !ruled.has(name)
  return (
    containers.some(isApp) ||
    (enforced && initContainers.some((each) => each.restartPolicy === 'Always' && isApp(each)))
  )
}

function nothingAsked(metadata: Metadata, optedOut: boolean, configuration: Context['configuration']): Left {
  if (optedOut) return left('opted-out')
  const wishes = readWishes(metadata, configuration)
  const idle = wishes.keys.slice(0, mostProblems).map((key) => ({ kind: 'idle-key', key }) as const)
  const rules = configuration.rules.rules.length > 0
  return { kind: 'left', reason: { kind: 'nothing-asked', rules }, warnings: [...idle, ...wishes.warnings] }
}

/** Containers, and names that none has: a pod that somebody wrote to hurt has half a thousand of both. */
const mostCompared = 32

/** The keys that name a container which isn't there, or isn't a sidecar. */
function withoutEffect({ named, problems }: Wishes, { tiers }: Intent, { containers, initContainers }: Spec) {
  const there = new Set([...containers, ...initContainers].map(({ name }) => name))
  const absent = told(named, ({ name }) => !there.has(name)).map(({ key, name }, index) => {
    const near = there.size <= mostCompared && index < mostCompared ? nearest(name, [...there]) : undefined
    return { kind: 'container-absent', key, name, ...(near && { near }) } as const
  })
  if (problems.length > 0) return { absent, idle: [] }
  const sidecars = new Set(tiers.flat().map(({ name }) => name))
  const isIdle = ({ key, name }: Wishes['named'][number]) =>
    key !== keys.sidecars && there.has(name) && !sidecars.has(name)
  const idle = told(named, isIdle).map(({ key, name }) => ({ kind: 'not-a-sidecar', key, name }) as const)
  return { absent, idle }
}
