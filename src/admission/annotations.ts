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
import { isOurs, keys, perContainer, rolloutNote } from './keys.ts'
import { type Parsed, parsed, problem } from './parsed.ts'
import type { Metadata } from './pod.ts'
import { quote } from './quote.ts'
import { parseSidecars, type TierNames } from './sidecars.ts'
import type { Warning } from './warning.ts'

/** What a pod says in its own keys; absent: it says nothing about that. */
export interface Wishes {
  readonly sidecars: readonly TierNames[] | undefined
  readonly gate: GateChoice | undefined
  readonly nativePosition: NativePosition | undefined
  readonly existingHook: ExistingHookPolicy | undefined
  readonly delivery: Delivery | undefined
  /** Milliseconds. */
  readonly timeout: number | undefined
  readonly onTimeout: OnTimeout | undefined
  /** By container. */
  readonly containers: ReadonlyMap<string, ContainerWishes>
  /** Every container that a key names, `sidecars` or one of its own. */
  readonly named: readonly { readonly key: string; readonly name: string }[]
  /** The keys that were read, of those that set something. */
  readonly keys: readonly string[]
  readonly problems: readonly string[]
  readonly warnings: readonly Warning[]
}

export interface ContainerWishes {
  readonly check: Check | undefined
  readonly timeout: number | undefined
  readonly onTimeout: OnTimeout | undefined
}

/** Keys that set nothing: one is for people, the other has been looked at before. */
const idle: ReadonlySet<string> = new Set([keys.status, keys.inject])
const settings: ReadonlySet<string> = new Set(Object.values(keys))
const prefixes = Object.values(perContainer)

/** Whether the pod wants to be left alone. */
export function optsOut({ labels, annotations }: Metadata): boolean {
  return labels.get(keys.inject) === 'false' || annotations.get(keys.inject) === 'false'
}

/** Reads every key under our domains; all problems at once, each naming its annotation. */
export function readWishes(metadata: Metadata, configuration: Configuration): Wishes {
  const problems: string[] = []
  const warnings: Warning[] = []
  const values = new Map<string, string>()
  for (const [key, value] of metadata.annotations) {
    if (!isOurs(key) || idle.has(key) || key.startsWith(rolloutNote)) continue
    if (typeof value !== 'string') problems.push(`${key}: expected text; put quotes around the value`)
    else if (settings.has(key) || prefixes.some((prefix) => key.startsWith(prefix))) values.set(key, value)
    else {
      const text = `${key} has no effect: this version (${configuration.version}) doesn't know it`
      warnings.push({ severity: 'has-no-effect', text })
    }
  }
  for (const value of [metadata.labels.get(keys.inject), metadata.annotations.get(keys.inject)]) {
    if (value !== undefined && value !== null && value !== 'true' && value !== 'false')
      problems.push(`${keys.inject}: expected "true" or "false", in quotes`)
  }
  const read = <T>(key: string, parse: (text: string) => Parsed<T>): T | undefined => {
    const value = values.get(key)
    if (value === undefined) return undefined
    const result = parse(value)
    if (result.ok) return result.value
    problems.push(`${key}: ${result.problem}`)
    return undefined
  }
  const sidecars = read(keys.sidecars, parseSidecars)

  const named = (sidecars ?? [])
    .flatMap((tier) => (tier === '*' ? [] : tier))
    .map((name) => ({ key: keys.sidecars as string, name }))
  const containers = new Map<string, ContainerWishes>()
  for (const key of values.keys()) {
    const prefix = prefixes.find((candidate) => key.startsWith(candidate))
    const name = key.slice(prefix?.length)
    if (prefix === undefined || containers.has(name)) continue
    named.push({ key, name })
    const check = read(perContainer.check + name, (text) => parseAllowedCheck(text, configuration))
    // One that can't be read is reported; in its place nothing is asked, so that only its own problem shows.
    const unread = check === undefined && values.has(perContainer.check + name)
    const timeout = read(perContainer.timeout + name, parseDuration)
    const onTimeout = read(perContainer.onTimeout + name, parseOnTimeout)
    if (check?.kind === 'hook') {
      for (const bound of [perContainer.timeout + name, perContainer.onTimeout + name]) {
        if (values.has(bound))
          problems.push(`${bound}: the hook in ${perContainer.check}${name} bounds itself; remove one of the two`)
      }
    }
    containers.set(name, { check: unread ? { kind: 'none' } : check, timeout, onTimeout })
  }
  return {
    sidecars,
    gate: read(keys.gate, parseGate),
    nativePosition: read(keys.nativePosition, parseNativePosition),
    existingHook: read(keys.existingHook, parseExistingHook),
    delivery: read(keys.waiter, parseDelivery),
    timeout: read(keys.timeout, parseDuration),
    onTimeout: read(keys.onTimeout, parseOnTimeout),
    containers,
    named,
    keys: [...values.keys()],
    problems,
    warnings,
  }
}

function oneOf<T extends string>(...choices: readonly T[]): (text: string) => Parsed<T> {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text)
    return choice === undefined ? problem(`${quote(text)} is not one of ${choices.join(', ')}`) : parsed(choice)
  }
}

const parseOnTimeout = oneOf('fail', 'continue')
const parseGate = oneOf('hook', 'native', 'auto')
const parseNativePosition = oneOf('last', 'first')
const parseExistingHook = oneOf('chain', 'keep', 'refuse')
const parseDelivery = oneOf('init-container', 'image-volume', 'shell')

function parseAllowedCheck(text: string, configuration: Configuration): Parsed<Check> {
  const check = parseCheck(text)
  const allowed = configuration.annotations.checks
  if (!check.ok || allowed.has(check.value.kind)) return check
  return problem(`this cluster's configuration allows annotations only ${[...allowed].join(', ')} checks`)
}
