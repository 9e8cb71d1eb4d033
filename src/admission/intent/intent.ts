import type { Check } from '../check/grammar.ts'
import type {
  Delivery,
  EndChoice,
  ExistingHookPolicy,
  GateChoice,
  LeaseChoice,
  LockChoice,
  LockRestarts,
  NativePosition,
  OnTimeout,
  StartupProbeChoice,
} from '../words/choices.ts'
import { keys, perContainer } from '../words/keys.ts'
import type { Warning } from '../words/messages.ts'
import type { ContainerWishes, Wishes } from './annotations.ts'
import type { Configuration } from './configuration.ts'
import type { Rule } from './rule.ts'

/** What is asked for a pod, by its annotations and the cluster's rules. Whether it can be had is the plan's question. */
export interface Intent {
  readonly tiers: readonly (readonly Sidecar[])[]
  readonly gate: Gate
  readonly nativePosition: NativePosition
  readonly delivery: Delivery
  readonly lock: LockWish
  /** Whether the pod itself says how its sidecars end, or an enforced rule does. Otherwise replicas may differ, and the final pod can be either. */
  readonly endCertain: boolean
  /** Whether a rule that a pod can't change has a say. */
  readonly enforced: boolean
  readonly warnings: readonly Warning[]
}

/** How the app is held back; `auto` has been decided. */
export type Gate = Exclude<GateChoice, 'auto'>

/** `auto` depends on the pod, too, so the plan decides it. */
interface LockWish {
  readonly choice: LockChoice
  /** Whether the pod itself asks for its sidecars, or an enforced rule does: `auto` keeps no app down for a rule alone. */
  readonly asked: boolean
  /** Whether the pod itself says on or off, or an enforced rule on. Otherwise replicas may differ, and the final pod can be either. */
  readonly certain: boolean
  readonly lease: LeaseChoice
}

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
  /** Undefined: by where it stands. */
  readonly startupProbe: StartupProbeChoice | undefined
  readonly lockRestarts: LockRestarts
  readonly end: EndChoice
  /** Milliseconds that its end waits for a container behind it that hasn't begun to end. */
  readonly endAppear: number
  readonly rule: Rule | undefined
}

/** The rule of each container that one matches. */
export type Ruled = ReadonlyMap<string, Rule>

/** Merges what a pod says with the rules that match its containers: a pod's keys win one by one, unless a rule is enforced. */
export function mergeIntent(wishes: Wishes, ruled: Ruled, configuration: Configuration): Intent {
  const { defaults } = configuration
  const enforced = new Map([...ruled].filter(([, rule]) => rule.enforce))
  const tierNames = wishes.optedOut ? byTier(enforced) : mergeTiers(wishes, ruled, enforced)
  const names = tierNames.flat()
  const rules = names.flatMap((name) => ruled.get(name) ?? [])
  const binding = rules.filter(({ enforce }) => enforce)

  const sidecar = (name: string): Sidecar => {
    const rule = ruled.get(name)
    const own = rule?.enforce ? silent : wishes
    const container = own.containers.get(name)
    const check = container?.check ?? rule?.check ?? defaults.check
    return {
      name,
      check,
      checkSource: checkSource(name, container, rule),
      timeout: container?.timeout ?? own.timeout ?? rule?.timeout,
      defaultTimeout: defaults.timeout,
      onTimeout: container?.onTimeout ?? own.onTimeout ?? rule?.onTimeout ?? defaults.onTimeout,
      existingHook: own.existingHook ?? rule?.existingHook ?? defaults.existingHook,
      startupProbe: startupProbeFor(own.startupProbe ?? rule?.startupProbe ?? defaults.startupProbe, check, rule),
      lockRestarts: own.lockRestarts ?? rule?.lockRestarts ?? defaults.lockRestarts,
      end: own.end ?? rule?.end ?? defaults.end,
      endAppear: own.endAppear ?? rule?.endAppear ?? defaults.endAppear,
      rule,
    }
  }
  const isBound = binding.length > 0
  const { gate, nativePosition } = isBound
    ? { gate: boundGate(binding, rules, configuration), nativePosition: boundPosition(binding, rules, configuration) }
    : {
        gate: wishes.gate ?? strongest(gatesOf(rules), configuration) ?? defaults.gate,
        nativePosition: wishes.nativePosition ?? positionsOf(rules)[0] ?? defaults.nativePosition,
      }
  const choice = lockChoice(wishes, isBound ? binding : [], rules, configuration)
  return {
    tiers: tierNames.map((tier) => tier.map(sidecar)),
    gate: gateOf(gate, configuration),
    nativePosition,
    lock: {
      choice,
      asked: isBound || wishes.sidecars !== undefined,
      certain: isBound ? choice === 'on' : wishes.lock === 'on' || wishes.lock === 'off',
      lease: configuration.lease,
    },
    endCertain: isBound || wishes.end !== undefined,
    // A delivery that the image can't run would open an enforced gate.
    delivery: (isBound ? undefined : wishes.delivery) ?? configuration.waiter.delivery,
    enforced: isBound,
    warnings: [...overruled(wishes, enforced), ...overruledKeys(wishes, binding, names)],
  }
}

/** A pod as an enforced rule hears it. */
const silent = {
  containers: new Map<string, ContainerWishes>(),
  timeout: undefined,
  onTimeout: undefined,
  existingHook: undefined,
  startupProbe: undefined,
  lockRestarts: undefined,
  end: undefined,
  endAppear: undefined,
} satisfies Partial<Wishes>

/**
 * `/validate` sees a pod whose probe is gone. What it asked could then only be read from a hook, which anyone can write, so under an enforced rule
 * it stays unless the rule has a check of its own.
 */
function startupProbeFor(choice: StartupProbeChoice | undefined, check: Check, rule: Rule | undefined) {
  return choice === 'hook' && rule?.enforce && check.kind === 'probe' ? 'eager' : choice
}

/**
 * The annotation's tiers, `*` standing for the rules'. Sidecars of enforced rules come first, in the rules' order: nothing that a pod lists, or has
 * called like another rule's sidecar, may start before them.
 */
function mergeTiers({ sidecars }: Wishes, ruled: Ruled, enforced: Ruled): readonly (readonly string[])[] {
  const named = new Set(sidecars?.flatMap((tier) => (tier === '*' ? [] : tier)))
  const free = new Map([...ruled].filter(([name, rule]) => !rule.enforce && !named.has(name)))
  const tiers = (sidecars ?? ['*']).flatMap((tier) => (tier === '*' ? byTier(free) : listed(tier, enforced)))
  return [...byTier(enforced), ...tiers]
}

function listed(tier: readonly string[], enforced: Ruled): readonly (readonly string[])[] {
  const names = tier.filter((name) => !enforced.has(name))
  return names.length === 0 ? [] : [names]
}

function byTier(ruled: Ruled): readonly (readonly string[])[] {
  const tiers = Map.groupBy(ruled, ([, { tier }]) => tier)
  return [...tiers].sort(([a], [b]) => a - b).map(([, members]) => members.map(([name]) => name))
}

const gatesOf = (rules: readonly Rule[]) => rules.flatMap(({ gate }) => gate ?? [])
const positionsOf = (rules: readonly Rule[]) => rules.flatMap(({ nativePosition }) => nativePosition ?? [])

/**
 * The gate under enforced rules. What they leave open is the configuration's, and only a stronger gate of other rules counts: an author may add a
 * container that one of those matches.
 */
function boundGate(binding: readonly Rule[], rules: readonly Rule[], configuration: Configuration): GateChoice {
  const { gate } = configuration.defaults
  const own = gatesOf(binding)
  const open = binding.length > own.length
  const others = own.length > 0 ? [] : gatesOf(rules)
  return strongest([...own, ...others, ...(open ? [gate] : [])], configuration) ?? gate
}

/** The same for the position: `first` holds back more. */
function boundPosition(binding: readonly Rule[], rules: readonly Rule[], { defaults }: Configuration): NativePosition {
  const own = positionsOf(binding)
  const open = binding.length > own.length
  const others = own.length > 0 ? [] : positionsOf(rules)
  return [...own, ...others, ...(open ? [defaults.nativePosition] : [])].includes('first') ? 'first' : 'last'
}

/** `native` if any of them says so. */
function strongest(choices: readonly GateChoice[], configuration: Configuration): GateChoice | undefined {
  const gates = choices.map((gate) => gateOf(gate, configuration))
  return gates.includes('native') ? 'native' : gates[0]
}

/** What enforced rules leave open is the configuration's; elsewhere the pod's own key wins, and of several rules the one that holds back most. */
function lockChoice(
  wishes: Wishes,
  binding: readonly Rule[],
  rules: readonly Rule[],
  { defaults }: Configuration,
): LockChoice {
  const bound = binding.length > 0
  if (!bound && wishes.lock !== undefined) return wishes.lock
  const said = (bound ? binding : rules).flatMap(({ lock }) => lock ?? [])
  const open = bound ? binding.length > said.length : said.length === 0
  const choices = open ? [...said, defaults.lock] : said
  return (['on', 'auto', 'off'] as const).find((choice) => choices.includes(choice)) ?? defaults.lock
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

/** What a pod asks for in vain, since a rule is enforced. */
function overruled(wishes: Wishes, enforced: Ruled): readonly Warning[] {
  return [...enforced].flatMap(([name, { name: rule }]): readonly Warning[] => {
    const listed = wishes.sidecars?.some((tier) => tier !== '*' && tier.includes(name))
    return [
      ...(wishes.optedOut ? [{ kind: 'enforced-opt-out', name, rule } as const] : []),
      ...(listed ? [{ kind: 'enforced-order', name, rule } as const] : []),
      ...(wishes.containers.has(name) ? [{ kind: 'enforced-keys', name, rule } as const] : []),
    ]
  })
}

/** The keys of the whole pod that an enforced rule takes from it. */
function overruledKeys(
  { gate, nativePosition, delivery, lock, lockRestarts, end, endAppear }: Wishes,
  binding: readonly Rule[],
  names: readonly string[],
): readonly Warning[] {
  const [rule] = binding
  if (rule === undefined) return []
  const said = [
    [keys.gate, gate],
    [keys.nativePosition, nativePosition],
    [keys.waiter, delivery],
    [keys.lock, lock],
    // These count for the others, if there are any.
    ...(binding.length < names.length
      ? []
      : ([
          [keys.lockRestarts, lockRestarts],
          [keys.end, end],
          [keys.endAppear, endAppear],
        ] as const)),
  ] as const
  return said.flatMap(([key, value]): readonly Warning[] => {
    return value === undefined ? [] : [{ kind: 'enforced-key', key, rule: rule.name }]
  })
}
