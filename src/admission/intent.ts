import { type Check, parseCheck } from './check.ts'
import type {
  Configuration,
  Delivery,
  ExistingHookPolicy,
  GateChoice,
  NativePosition,
  OnTimeout,
} from './configuration.ts'
import { parseDuration } from './duration.ts'
import { isOurs, keys, perContainer } from './keys.ts'
import { type Parsed, parsed, problem } from './parsed.ts'
import type { Metadata } from './pod.ts'
import { quote } from './quote.ts'
import { parseSidecars } from './sidecars.ts'
import type { Warning } from './warning.ts'

/** What a pod asks for, read from its annotations. Whether the containers are there is the plan's question. */
export interface Intent {
  readonly tiers: readonly (readonly Sidecar[])[]
  readonly gate: Gate
  readonly nativePosition: NativePosition
  readonly existingHook: ExistingHookPolicy
  readonly delivery: Delivery
}

/** How the app is held back; `auto` has been decided. */
export type Gate = Exclude<GateChoice, 'auto'>

export interface Sidecar {
  readonly name: string
  readonly check: Check
  /** Where the check was written: an annotation's key, or the configuration. */
  readonly checkSource: string
  /** Milliseconds, where the pod says how long. */
  readonly timeout: number | undefined
  /** Milliseconds; the sidecar's startupProbe may be more patient. */
  readonly defaultTimeout: number
  readonly onTimeout: OnTimeout
}

export type IntentResult =
  | { readonly kind: 'none'; readonly reason: string; readonly warnings: readonly Warning[] }
  | { readonly kind: 'invalid'; readonly problems: readonly string[]; readonly warnings: readonly Warning[] }
  | { readonly kind: 'intent'; readonly intent: Intent; readonly warnings: readonly Warning[] }

const settings: ReadonlySet<string> = new Set(Object.values(keys))
const perContainerKeys = Object.values(perContainer)

/** Reads every key under our domains; all problems at once, each naming its annotation. */
export function readIntent(metadata: Metadata, configuration: Configuration): IntentResult {
  const ours = [...metadata.annotations].filter(([key]) => isOurs(key) && key !== keys.status)
  const text = metadata.annotations.get(keys.sidecars)
  const optOut = [metadata.labels.get(keys.inject), metadata.annotations.get(keys.inject)]
  if (optOut.includes('false')) return none(`${keys.inject} is "false"`)
  if (text === undefined || text === null) {
    const idle = ours.map(([key]) => key).filter((key) => key !== keys.inject)
    const warnings = idle.map((key) => noEffect(`${key} has no effect without ${keys.sidecars}`))
    return { kind: 'none', reason: `no ${keys.sidecars} annotation`, warnings }
  }

  const problems: string[] = []
  const warnings: Warning[] = []
  const values = new Map<string, string>()
  for (const [key, value] of ours) {
    if (typeof value !== 'string') problems.push(`${key}: expected text; put quotes around the value`)
    else if (settings.has(key) || perContainerKeys.some((prefix) => key.startsWith(prefix))) values.set(key, value)
    else
      warnings.push(noEffect(`${key} is no key that this version (${configuration.version}) knows; it has no effect`))
  }
  for (const value of optOut) {
    if (value !== undefined && value !== 'true') problems.push(`${keys.inject}: expected "true" or "false"`)
  }
  const read = <T>(key: string, parse: (text: string) => Parsed<T>): T | undefined => {
    const value = values.get(key)
    if (value === undefined) return undefined
    const result = parse(value)
    if (result.ok) return result.value
    problems.push(`${key}: ${result.problem}`)
    return undefined
  }

  const gate = read(keys.gate, oneOf('hook', 'native', 'auto')) ?? configuration.defaults.gate
  const nativePosition = read(keys.nativePosition, oneOf('last', 'first')) ?? configuration.defaults.nativePosition
  const existingHook = read(keys.existingHook, oneOf('chain', 'keep', 'refuse')) ?? configuration.defaults.existingHook
  const delivery = read(keys.waiter, oneOf('init-container', 'image-volume', 'shell')) ?? configuration.waiter.delivery
  const timeout = read(keys.timeout, parseDuration)
  const onTimeout = read(keys.onTimeout, oneOf('fail', 'continue')) ?? configuration.defaults.onTimeout

  const sidecarOf = (name: string): Sidecar => {
    const checkKey = perContainer.check + name
    const check = read(checkKey, (value) => parseAllowedCheck(value, configuration))
    const ownTimeout = read(perContainer.timeout + name, parseDuration)
    const ownOnTimeout = read(perContainer.onTimeout + name, oneOf('fail', 'continue'))
    if (check?.kind === 'hook') {
      for (const key of [perContainer.timeout + name, perContainer.onTimeout + name]) {
        if (values.has(key)) problems.push(`${key}: the hook in ${checkKey} bounds itself; remove one of the two`)
      }
    }
    return {
      name,
      check: check ?? configuration.defaults.check,
      checkSource: check === undefined ? 'the configured default check' : checkKey,
      timeout: ownTimeout ?? timeout,
      defaultTimeout: configuration.defaults.timeout,
      onTimeout: ownOnTimeout ?? onTimeout,
    }
  }
  // No rules yet, so "*" adds nothing.
  const names = (read(keys.sidecars, parseSidecars) ?? []).filter((tier) => tier !== '*')
  const tiers = names.map((tier) => tier.map(sidecarOf))

  const listed = new Set(names.flat())
  for (const key of values.keys()) {
    const prefix = perContainerKeys.find((candidate) => key.startsWith(candidate))
    if (prefix !== undefined && !listed.has(key.slice(prefix.length)) && listed.size > 0) {
      warnings.push(noEffect(`${key} has no effect: ${quote(key.slice(prefix.length))} is not in ${keys.sidecars}`))
    }
  }
  if (problems.length > 0) return { kind: 'invalid', problems, warnings }
  if (tiers.length === 0)
    return { kind: 'none', reason: `${keys.sidecars} is "*" and no rule names a sidecar`, warnings }
  return {
    kind: 'intent',
    intent: { tiers, gate: gateOf(gate, configuration), nativePosition, existingHook, delivery },
    warnings,
  }
}

/** Native sidecars are on by default from Kubernetes 1.29. */
function gateOf(choice: GateChoice, { kubernetesVersion }: Configuration): Gate {
  if (choice !== 'auto') return choice
  if (kubernetesVersion === undefined) return 'hook'
  const { major, minor } = kubernetesVersion
  return major > 1 || minor >= 29 ? 'native' : 'hook'
}

function none(reason: string): IntentResult {
  return { kind: 'none', reason, warnings: [] }
}

function noEffect(text: string): Warning {
  return { severity: 'has-no-effect', text }
}

function oneOf<T extends string>(...choices: readonly T[]): (text: string) => Parsed<T> {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text)
    return choice === undefined ? problem(`${quote(text)} is not one of ${choices.join(', ')}`) : parsed(choice)
  }
}

function parseAllowedCheck(text: string, configuration: Configuration): Parsed<Check> {
  const check = parseCheck(text)
  const allowed = configuration.annotations.checks
  if (!check.ok || allowed.has(check.value.kind)) return check
  return problem(`this cluster's configuration allows annotations only ${[...allowed].join(', ')} checks`)
}
