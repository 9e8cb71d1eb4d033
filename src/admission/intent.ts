import type { ContainerWishes, Wishes } from './annotations.ts'
import type { Check } from './check.ts'
import type {
  Configuration,
  Delivery,
  ExistingHookPolicy,
  GateChoice,
  NativePosition,
  OnTimeout,
} from './configuration.ts'
import { keys, perContainer } from './keys.ts'
import type { Rule } from './rules.ts'
import type { Warning } from './warning.ts'

/** What is asked for a pod, by its annotations and the cluster's rules. Whether it can be had is the plan's question. */
export interface Intent {
  readonly tiers: readonly (readonly Sidecar[])[]
  readonly gate: Gate
  readonly nativePosition: NativePosition
  readonly delivery: Delivery
  readonly warnings: readonly Warning[]
}

/** How the app is held back; `auto` has been decided. */
export type Gate = Exclude<GateChoice, 'auto'>

export interface Sidecar {
  readonly name: string
  readonly check: Check
  /** Where the check was written: an annotation's key, a rule, or the configuration. */
  readonly checkSource: string
  /** Milliseconds, where the pod or a rule says how long. */
  readonly timeout: number | undefined
  /** Milliseconds; the sidecar's startupProbe may be more patient. */
  readonly defaultTimeout: number
  readonly onTimeout: OnTimeout
  readonly existingHook: ExistingHookPolicy
  readonly rule: Rule | undefined
}

/** The rule of each container that one matches. */
export type Ruled = ReadonlyMap<string, Rule>

/** Merges what a pod says with the rules that match its containers: a pod's keys win one by one, unless a rule is enforced. */
export function mergeIntent(wishes: Wishes, optedOut: boolean, ruled: Ruled, configuration: Configuration): Intent {
  const { defaults } = configuration
  const enforced = new Map([...ruled].filter(([, rule]) => rule.enforce))
  const tierNames = optedOut ? byTier(enforced) : mergeTiers(wishes, ruled, enforced)
  const names = tierNames.flat()
  const rules = names.flatMap((name) => ruled.get(name) ?? [])
  const binding = rules.filter(({ enforce }) => enforce)

  const sidecar = (name: string): Sidecar => {
    const rule = ruled.get(name)
    const own = rule?.enforce ? silent : wishes
    const container = own.containers.get(name)
    return {
      name,
      check: container?.check ?? rule?.check ?? defaults.check,
      checkSource: checkSource(name, container, rule),
      timeout: container?.timeout ?? own.timeout ?? rule?.timeout,
      defaultTimeout: defaults.timeout,
      onTimeout: container?.onTimeout ?? own.onTimeout ?? rule?.onTimeout ?? defaults.onTimeout,
      existingHook: own.existingHook ?? rule?.existingHook ?? defaults.existingHook,
      rule,
    }
  }
  const gate = strongest(binding, configuration) ?? wishes.gate ?? strongest(rules, configuration) ?? defaults.gate
  const position = (candidates: readonly Rule[]) => candidates.find((rule) => rule.nativePosition)?.nativePosition
  return {
    tiers: tierNames.map((tier) => tier.map(sidecar)),
    gate: gateOf(gate, configuration),
    nativePosition: position(binding) ?? wishes.nativePosition ?? position(rules) ?? defaults.nativePosition,
    // A delivery that the image can't run would open an enforced gate.
    delivery: (binding.length > 0 ? undefined : wishes.delivery) ?? configuration.waiter.delivery,
    warnings: overruled(wishes, optedOut, enforced),
  }
}

/** A pod as an enforced rule hears it. */
const silent: Pick<Wishes, 'containers' | 'timeout' | 'onTimeout' | 'existingHook'> = {
  containers: new Map(),
  timeout: undefined,
  onTimeout: undefined,
  existingHook: undefined,
}

/**
 * The annotation's tiers, `*` standing for the rules'. Sidecars of enforced rules come first, in the rules' order: nothing that a pod
 * lists may start before them.
 */
function mergeTiers({ sidecars }: Wishes, ruled: Ruled, enforced: Ruled): readonly (readonly string[])[] {
  if (sidecars === undefined) return byTier(ruled)
  if (ruled.size === 0) return listed(sidecars, enforced)
  const named = new Set(sidecars.flatMap((tier) => (tier === '*' ? [] : tier)))
  const added = new Map([...ruled].filter(([name, rule]) => rule.enforce || !named.has(name)))
  if (sidecars[0] === '*') {
    return [...byTier(added), ...listed(sidecars.slice(1), enforced)]
  }
  const free = new Map([...added].filter(([, rule]) => !rule.enforce))
  const tiers = sidecars.flatMap((tier) => (tier === '*' ? byTier(free) : listed([tier], enforced)))
  return [...byTier(enforced), ...tiers]
}

function listed(tiers: NonNullable<Wishes['sidecars']>, enforced: Ruled): readonly (readonly string[])[] {
  return tiers
    .map((tier) => (tier === '*' ? [] : tier.filter((name) => !enforced.has(name))))
    .filter((tier) => tier.length > 0)
}

function byTier(ruled: Ruled): readonly (readonly string[])[] {
  const tiers = new Map<number, string[]>()
  for (const [name, { tier }] of ruled) tiers.set(tier, [...(tiers.get(tier) ?? []), name])
  return [...tiers].sort(([a], [b]) => a - b).map(([, names]) => names)
}

/** `native` if any rule says so. */
function strongest(rules: readonly Rule[], configuration: Configuration): GateChoice | undefined {
  const gates = rules.flatMap(({ gate }) => (gate === undefined ? [] : gateOf(gate, configuration)))
  return gates.includes('native') ? 'native' : gates[0]
}

/** Native sidecars are on by default from Kubernetes 1.29. */
function gateOf(choice: GateChoice, { kubernetesVersion }: Configuration): Gate {
  if (choice !== 'auto') return choice
  if (kubernetesVersion === undefined) return 'hook'
  const { major, minor } = kubernetesVersion
  return major > 1 || minor >= 29 ? 'native' : 'hook'
}

function checkSource(name: string, container: ContainerWishes | undefined, rule: Rule | undefined): string {
  if (container?.check !== undefined) return perContainer.check + name
  return rule?.check === undefined ? 'the configured default check' : `the rule ${rule.name}`
}

/** What an enforced rule keeps a pod from. */
function overruled(wishes: Wishes, optedOut: boolean, enforced: Ruled): readonly Warning[] {
  const warnings: Warning[] = []
  const noEffect = (text: string) => warnings.push({ severity: 'has-no-effect', text })
  for (const [name, rule] of enforced) {
    const listsIt = wishes.sidecars?.some((tier) => tier !== '*' && tier.includes(name))
    if (optedOut) noEffect(`${keys.inject}: "false" has no effect on ${name}: the rule ${rule.name} is enforced`)
    if (listsIt) noEffect(`${keys.sidecars} has no effect on ${name}: the rule ${rule.name} is enforced`)
    if (wishes.containers.has(name)) noEffect(`the keys of ${name} have no effect: the rule ${rule.name} is enforced`)
  }
  return warnings
}
