import { optsOut, readWishes, type Wishes } from './annotations.ts'
import type { Configuration } from './configuration.ts'
import type { Surroundings } from './decision.ts'
import { type Intent, mergeIntent } from './intent.ts'
import { keys, mirrorKey } from './keys.ts'
import type { Operation } from './operation.ts'
import { patch } from './patch.ts'
import { type Plan, plan } from './plan.ts'
import { type Metadata, readMetadata, readSpec, type Spec } from './pod.ts'
import { quote } from './quote.ts'
import { ruledContainers } from './rules.ts'
import type { Warning } from './warning.ts'

/** What is found out about a pod; `decide` makes a decision of it, `validate` a verdict. */
export type Examined =
  /** Nothing asked for, opted out, or not ours to touch. */
  | { readonly kind: 'left'; readonly reason: string; readonly warnings: readonly Warning[] }
  | {
      readonly kind: 'invalid'
      readonly problems: readonly string[]
      readonly warnings: readonly Warning[]
      readonly binding: boolean
    }
  | {
      readonly kind: 'planned'
      readonly plan: Plan
      readonly operations: readonly Operation[]
      readonly spec: Spec
      /** What the pod's keys name and doesn't exist, one sentence each. */
      readonly absent: readonly string[]
      readonly warnings: readonly Warning[]
      /** The pod itself asks for it, or an enforced rule: then it is owed. A rule alone is a service, and never refuses a pod. */
      readonly binding: boolean
    }

/** Reads a pod's manifest, merges what it says with the rules, plans and patches. Never throws. */
export function examine(pod: unknown, configuration: Configuration, surroundings: Surroundings): Examined {
  const metadata = readMetadata(pod)
  if (!metadata.ok) return invalid(metadata.problems, [], true)
  const { annotations, labels } = metadata.value
  const asks = (annotations.get(keys.sidecars) ?? null) !== null
  const optedOut = optsOut(metadata.value)
  if (!asks && configuration.rules.rules.length === 0) return nothingAsked(metadata.value, optedOut, configuration)
  if (annotations.has(mirrorKey)) return left('a mirror pod: the kubelet runs it from a file on the node')

  const spec = readSpec(pod)
  const ruled = spec.ok ? ruledContainers(configuration.rules, spec.value, labels, surroundings.set) : new Map()
  const enforced = [...ruled.values()].some((rule) => rule.enforce)
  const binding = asks || enforced
  if (optedOut && !enforced) return left(optOutReason)
  if (!asks && ruled.size === 0) return nothingAsked(metadata.value, optedOut, configuration)
  if (spec.ok && spec.value.windows) return left('a Windows pod')
  if (!asks && spec.ok && spec.value.containers.every(({ name }) => ruled.has(name))) {
    return left('every container is a sidecar by the rules, so there is no app to hold back')
  }

  const wishes = readWishes(metadata.value, configuration)
  const problems = optedOut ? [] : wishes.problems
  if (!spec.ok) return invalid([...problems, ...spec.problems], wishes.warnings, binding)
  const intent = mergeIntent(wishes, optedOut, ruled, configuration)
  const there = containerNames(spec.value)
  const absent = absentContainers(wishes, there)
  const warnings: Warning[] = [
    ...absent.map((text) => ({ severity: 'app-may-start-too-early', text }) as const),
    ...wishes.warnings,
    ...intent.warnings,
    ...(problems.length > 0 ? [] : withoutEffect(wishes, intent, there)),
  ]
  const planned = plan(intent, metadata.value, spec.value, configuration, surroundings)
  warnings.push(...planned.warnings)
  if (!planned.ok) return invalid([...problems, ...planned.problems], warnings, binding)
  if (problems.length > 0) return invalid(problems, warnings, binding)
  const operations = patch(planned.plan, metadata.value, spec.value)
  return {
    kind: 'planned',
    plan: planned.plan,
    operations,
    spec: spec.value,
    absent,
    warnings,
    binding,
  }
}

const optOutReason = `${keys.inject} is "false"`

function left(reason: string, warnings: readonly Warning[] = []): Examined {
  return { kind: 'left', reason, warnings }
}

function invalid(problems: readonly string[], warnings: readonly Warning[], binding: boolean): Examined {
  return { kind: 'invalid', problems, warnings, binding }
}

function nothingAsked(metadata: Metadata, optedOut: boolean, configuration: Configuration): Examined {
  if (optedOut) return left(optOutReason)
  const { keys: idle, warnings: unknown } = readWishes(metadata, configuration)
  const warnings = [...idle.map((key) => noEffect(`${key} has no effect without ${keys.sidecars}`)), ...unknown]
  const rules = configuration.rules.rules.length === 0 ? '' : ', and no rule matches'
  return left(`no ${keys.sidecars} annotation${rules}`, warnings)
}

function containerNames(spec: Spec): ReadonlySet<string> {
  return new Set([...spec.containers, ...spec.initContainers].map(({ name }) => name))
}

function absentContainers({ named }: Wishes, there: ReadonlySet<string>): readonly string[] {
  return named
    .filter(({ name }) => !there.has(name))
    .map(({ key, name }) => `${key} names ${quote(name)}, but no container is called that; nothing waits for it`)
}

function withoutEffect({ named }: Wishes, { tiers }: Intent, there: ReadonlySet<string>): readonly Warning[] {
  const sidecars = new Set(tiers.flat().map(({ name }) => name))
  return named
    .filter(({ key, name }) => key !== keys.sidecars && there.has(name) && !sidecars.has(name))
    .map(({ key, name }) => noEffect(`${key} has no effect: ${name} is not in ${keys.sidecars}`))
}

function noEffect(text: string): Warning {
  return { severity: 'has-no-effect', text }
}
