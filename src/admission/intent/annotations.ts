import { parseDuration, parseLockRestarts } from '../check/duration.ts'
import { type Check, parseCheck } from '../check/grammar.ts'
import type { Metadata } from '../pod/pod.ts'
import type { Fields } from '../pod/reader.ts'
import {
  type Delivery,
  deliveries,
  type EndChoice,
  type ExistingHookPolicy,
  ends,
  existingHooks,
  type GateChoice,
  gates,
  type LockChoice,
  type LockRestarts,
  locks,
  type NativePosition,
  nativePositions,
  type OnTimeout,
  type StartupProbeChoice,
  startupProbeChoices,
  timeoutActions,
} from '../words/choices.ts'
import { byteLength } from '../words/json.ts'
import { inOurDomain, isOurs, keys, perContainer, rolloutNote } from '../words/keys.ts'
import { mostProblems } from '../words/limits.ts'
import type { Problem, Warning } from '../words/messages.ts'
import { type Parsed, parsed, problem } from '../words/parsed.ts'
import type { Configuration } from './configuration.ts'
import { parseSidecars, type TierNames } from './tiers.ts'

/** What a pod asks for with its annotations; undefined if it says nothing. */
export interface Wishes {
  readonly optedOut: boolean
  readonly sidecars: readonly TierNames[] | undefined
  readonly gate: GateChoice | undefined
  readonly nativePosition: NativePosition | undefined
  readonly existingHook: ExistingHookPolicy | undefined
  readonly startupProbe: StartupProbeChoice | undefined
  readonly delivery: Delivery | undefined
  readonly lock: LockChoice | undefined
  readonly lockRestarts: LockRestarts | undefined
  readonly end: EndChoice | undefined
  /** Milliseconds. */
  readonly endAppear: number | undefined
  /** Milliseconds. */
  readonly timeout: number | undefined
  readonly onTimeout: OnTimeout | undefined
  /** By container. */
  readonly containers: ReadonlyMap<string, ContainerWishes>
  /** Every container that a key names: `sidecars`, or a key for one container. */
  readonly named: readonly { readonly key: string; readonly name: string }[]
  /** The keys that set something. */
  readonly keys: readonly string[]
  readonly problems: readonly Problem[]
  readonly warnings: readonly Warning[]
}

export interface ContainerWishes {
  readonly check: Check | undefined
  readonly timeout: number | undefined
  readonly onTimeout: OnTimeout | undefined
}

/** Keys that set nothing: one is for people to read, the others are read elsewhere. */
const idle: ReadonlySet<string> = new Set([keys.status, keys.inject, keys.ignore])
const settings: ReadonlySet<string> = new Set(Object.values(keys))
const prefixes = Object.values(perContainer)

/** Whether the pod asks to be left alone. */
export function optsOut({ labels, annotations }: Metadata): boolean {
  return labels.get(keys.inject) === 'false' || annotations.get(keys.inject) === 'false'
}

/**
 * Bytes that the API takes of all annotations together, keys and values (ValidateAnnotationsSize). It counts them after the webhooks, so whoever
 * reads them first has to bound them.
 */
export const mostAnnotations = 256 * 1024

/** Of keys and values together; each has at least a byte. */
export function charactersOf(annotations: Iterable<readonly [string, unknown]>): number {
  let sum = 0
  for (const [key, value] of annotations) sum += key.length + (typeof value === 'string' ? value.length : 0)
  return sum
}

/** Whether so many more characters of ASCII fit in. */
export function hasRoom(annotations: Fields, more: number): boolean {
  const entries = Object.entries(annotations)
  const characters = charactersOf(entries) + more
  // In UTF-8 a character has up to three bytes.
  if (characters * 3 <= mostAnnotations || characters > mostAnnotations) return characters <= mostAnnotations
  return entries.reduce((sum, entry) => sum + bytesOf(entry), more) <= mostAnnotations
}

/** What isn't a text isn't counted: the API server takes none, and not every value can be made one. */
export const bytesOf = ([key, value]: readonly [string, unknown]): number =>
  byteLength(key) + (typeof value === 'string' ? byteLength(value) : 0)

/** Keys of others that are compared with our domain: a pod has a dozen, one that somebody wrote to hurt has ten thousand. */
const mostCompared = 64

/** Reads every key under our domains; all problems at once, each naming its annotation. */
export function readWishes(metadata: Metadata, configuration: Configuration): Wishes {
  const optedOut = optsOut(metadata)
  const problems: Problem[] = []
  const warnings: Warning[] = []
  const values = new Map<string, string>()
  const characters = charactersOf(metadata.annotations)
  const tooMany = characters > mostAnnotations
  if (tooMany) problems.push({ kind: 'too-many-annotations', characters, most: mostAnnotations })
  let compared = 0
  for (const [key, value] of tooMany ? [] : metadata.annotations) {
    if (problems.length >= mostProblems) break
    if (!isOurs(key)) {
      if (compared++ < mostCompared && inOurDomain(key) !== undefined)
        warnings.push({ kind: 'unknown-key', key, version: configuration.version })
      continue
    }
    if (idle.has(key) || key.startsWith(rolloutNote)) continue
    if (typeof value !== 'string') problems.push({ kind: 'unexpected-value', expected: 'text', path: key })
    else if (settings.has(key) || prefixes.some((prefix) => key.startsWith(prefix))) values.set(key, value)
    else if (warnings.length < mostProblems) warnings.push({ kind: 'unknown-key', key, version: configuration.version })
  }
  for (const value of [metadata.labels.get(keys.inject), metadata.annotations.get(keys.inject)]) {
    if (value !== undefined && value !== null && value !== 'true' && value !== 'false')
      problems.push({ kind: 'unexpected-value', expected: 'boolean', path: keys.inject })
  }
  const read = <T>(key: string, parse: (text: string) => Parsed<T>): T | undefined => {
    const value = values.get(key)
    if (value === undefined) return undefined
    const result = parse(value)
    if (result.ok) return result.value
    problems.push({ ...result.problem, path: key })
    return undefined
  }
  const sidecars = read(keys.sidecars, parseSidecars)

  const named = (sidecars ?? [])
    .flatMap((tier) => (tier === '*' ? [] : tier))
    .map((name) => ({ key: keys.sidecars as string, name }))
  const containers = new Map<string, ContainerWishes>()
  for (const key of values.keys()) {
    if (problems.length >= mostProblems) break
    const prefix = prefixes.find((candidate) => key.startsWith(candidate))
    const name = key.slice(prefix?.length)
    if (prefix === undefined || containers.has(name)) continue
    named.push({ key, name })
    const check = read(perContainer.check + name, (text) => parseAllowedCheck(text, configuration))
    // A check that can't be read is reported; `none` takes its place, so that it is the only problem.
    const unread = check === undefined && values.has(perContainer.check + name)
    const timeout = read(perContainer.timeout + name, parseDuration)
    const onTimeout = read(perContainer.onTimeout + name, parseOnTimeout)
    if (check?.kind === 'hook') {
      for (const bound of [perContainer.timeout + name, perContainer.onTimeout + name]) {
        if (values.has(bound))
          problems.push({ kind: 'hook-bounds-itself', check: perContainer.check + name, path: bound })
      }
    }
    containers.set(name, { check: unread ? { kind: 'none' } : check, timeout, onTimeout })
  }
  return {
    optedOut,
    sidecars,
    gate: read(keys.gate, parseGate),
    nativePosition: read(keys.nativePosition, parseNativePosition),
    existingHook: read(keys.existingHook, parseExistingHook),
    startupProbe: read(keys.startupProbe, parseStartupProbe),
    delivery: read(keys.waiter, parseDelivery),
    lock: read(keys.lock, parseLock),
    lockRestarts: read(keys.lockRestarts, parseLockRestarts),
    end: read(keys.end, parseEnd),
    endAppear: read(keys.endAppear, parseDuration),
    timeout: read(keys.timeout, parseDuration),
    onTimeout: read(keys.onTimeout, parseOnTimeout),
    containers,
    named,
    keys: [...values.keys()],
    // A pod that opts out says nothing that could be wrong.
    problems: optedOut ? [] : problems,
    warnings,
  }
}

function oneOf<T extends string>(choices: readonly T[]): (text: string) => Parsed<T> {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text)
    return choice === undefined ? problem({ kind: 'unknown-choice', text, choices }) : parsed(choice)
  }
}

const parseOnTimeout = oneOf(timeoutActions)
const parseGate = oneOf(gates)
const parseNativePosition = oneOf(nativePositions)
const parseExistingHook = oneOf(existingHooks)
const parseStartupProbe = oneOf(startupProbeChoices)
const parseDelivery = oneOf(deliveries)
const parseLock = oneOf(locks)
const parseEnd = oneOf(ends)

function parseAllowedCheck(text: string, configuration: Configuration): Parsed<Check> {
  const check = parseCheck(text)
  const allowed = configuration.annotations.checks
  if (!check.ok || allowed.has(check.value.kind)) return check
  return problem({ kind: 'check-not-allowed', allowed: [...allowed] })
}
