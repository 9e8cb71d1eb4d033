import { type Check, formatCheck } from '../check/grammar.ts'
import { type Examined, examine } from '../examine.ts'
import { readWishes, type Wishes } from '../intent/annotations.ts'
import type { Context } from '../intent/context.ts'
import type { Deadlock } from '../intent/presets.ts'
import type { Metadata, Pod } from '../pod/pod.ts'
import { readMetadata, readSpec } from '../pod/read.ts'
import { type Fields, isMap } from '../pod/reader.ts'
import { keys, perContainer } from '../words/keys.ts'
import type { Said } from '../words/messages.ts'
import { type Asked, latest } from '../words/probe-times.ts'
import { askable } from './askable.ts'
import { type KnownSidecar, knownSidecars, partsOf } from './known.ts'

/** What a pod with well-known sidecars could say so that they are ready before its app. */
export type Suggestion =
  /** The pod or a rule asks already, and nothing can be added to that. */
  | { readonly kind: 'asked'; readonly sidecars: Known }
  /** The app already waits for all of them. */
  | { readonly kind: 'holds'; readonly sidecars: Known }
  /** It does, and these lines would have it wait less. */
  | { readonly kind: 'faster'; readonly sidecars: Known; readonly lines: Lines }
  /** Something starts too early, or is listed and not waited for, and these lines would mend it. `conditional`: would serve only if the sidecar is configured for them. */
  | {
      readonly kind: 'mend'
      readonly sidecars: Known
      /** Empty where it asks already, and all that can be said of its sidecars is conditional. */
      readonly lines: readonly Line[]
      readonly conditional: readonly Line[]
    }
  | { readonly kind: 'none'; readonly sidecars: Known; readonly why: readonly Said[] }

type Known = readonly [KnownSidecar, ...KnownSidecar[]]
type Lines = readonly [Line, ...Line[]]

/** An annotation to add to the pod or pod template. */
export interface Line {
  readonly key: string
  readonly value: string
  readonly why: Why
}

export type Why =
  /** The app starts once these are ready, one after the other; nobody can tell when the `unwaited` ones are. */
  | { readonly kind: 'order'; readonly names: readonly string[]; readonly unwaited: readonly string[] }
  | { readonly kind: 'job'; readonly names: readonly string[] }
  /** Its own probe waits for more than the sidecar. */
  | { readonly kind: 'wrong-probe'; readonly name: string; readonly waitsFor: Deadlock['waitsFor'] }
  | { readonly kind: 'no-probe'; readonly name: string }
  | { readonly kind: 'not-there-to-probe'; readonly name: string }
  /** `complete`: it can be added as it stands. */
  | { readonly kind: 'if-configured'; readonly name: string; readonly trap: string; readonly complete: boolean }
  /** The port that its manifest declares, and the others. */
  | { readonly kind: 'by-port'; readonly name: string; readonly port: string; readonly others: readonly string[] }
  | { readonly kind: 'by-liveness'; readonly name: string }
  | ({ readonly kind: 'eager'; readonly name: string } & Asked)

/**
 * Undefined if the manifest can't be read or has no well-known sidecar. Never throws; anyone may have written the manifest.
 * @param own names of containers that are sidecars, too, though no preset knows them
 */
export function suggest(
  manifest: unknown,
  context: Context,
  own: ReadonlySet<string> = new Set(),
): Suggestion | undefined {
  const metadata = readMetadata(manifest)
  const spec = readSpec(manifest)
  if (!metadata.ok || !spec.ok || !isMap(manifest)) return undefined
  const pod: Pod = { metadata: metadata.value, spec: spec.value }
  const wishes = readWishes(metadata.value, context.configuration)
  const known = knownSidecars(pod, context.surroundings.namespace, own)
  const asks = wishes.sidecars !== undefined || context.configuration.rules.rules.length > 0
  if (known.length === 0 && !asks) return undefined
  const now = examine(manifest, context)
  // What it lists is a sidecar, whatever else is known of it.
  const listed = new Set([...own, ...lackingIn(now)])
  const [first, ...others] = listed.size > own.size ? knownSidecars(pod, context.surroundings.namespace, listed) : known
  if (first === undefined) return undefined
  const sidecars: Known = [first, ...others]
  const none = (why: readonly Said[]): Suggestion => ({ kind: 'none', sidecars, why })

  if (now.kind === 'planned') return unasked({ manifest, pod, sidecars, now, wishes, context })
  if (now.kind !== 'left' || wishes.sidecars !== undefined) return { kind: 'asked', sidecars }
  if (now.reason.kind !== 'nothing-asked') return none([now.reason])
  if (pod.spec.windows) return none([{ kind: 'windows-pod' }])
  if (partsOf(pod, own).apps.length === 0) return none([{ kind: 'no-app' }])
  const open = sidecars.filter(({ holds }) => !holds)
  if (open.length === 0) return faster(sidecars) ?? { kind: 'holds', sidecars }
  return mend({ manifest, pod, sidecars, open: inOrder(open), context })
}

/** The same manifest with annotations, as it would be if the pod said them. */
export function withAnnotations(manifest: Fields, lines: readonly Pick<Line, 'key' | 'value'>[]): Fields {
  if (lines.length === 0) return manifest
  const metadata = isMap(manifest.metadata) ? manifest.metadata : {}
  const annotations = isMap(metadata.annotations) ? metadata.annotations : {}
  const added = Object.fromEntries(lines.map(({ key, value }) => [key, value]))
  return { ...manifest, metadata: { ...metadata, annotations: { ...annotations, ...added } } }
}

/** Native ones start first whatever is said; the others by what they may need. */
function inOrder(sidecars: readonly KnownSidecar[]): readonly KnownSidecar[] {
  const rank = ({ container, preset }: KnownSidecar) =>
    container?.list === 'initContainers' ? container.index - 1000 : preset.tier
  return sidecars.toSorted((a, b) => rank(a) - rank(b))
}

function faster(sidecars: Known): Suggestion | undefined {
  const slow = sidecars.flatMap(({ name, gate }) => {
    if (gate.kind !== 'startup-probe') return []
    const { kind: _, ...asked } = gate
    return latest(asked) > 1 ? [{ name, ...asked }] : []
  })
  const names = slow.map(({ name }) => name)
  const [slowest] = slow.toSorted((a, b) => latest(b) - latest(a))
  if (slowest === undefined) return undefined
  const lines: Lines = [
    { key: keys.sidecars, value: names.join(', '), why: { kind: 'order', names, unwaited: [] } },
    { key: keys.startupProbe, value: 'eager', why: { kind: 'eager', ...slowest } },
  ]
  return { kind: 'faster', sidecars, lines }
}

interface Case {
  readonly manifest: Fields
  readonly pod: Pod
  readonly sidecars: Known
  /** Those that the app doesn't wait for, in the order in which they have to start. */
  readonly open: readonly KnownSidecar[]
  readonly context: Context
}

/** For the listed sidecars that can't be waited for, since they have no probe: the checks that their containers are known to answer. */
function unasked({
  manifest,
  pod,
  sidecars,
  now,
  wishes,
  context,
}: Omit<Case, 'open'> & { readonly now: Examined; readonly wishes: Wishes }): Suggestion {
  const asked: Suggestion = { kind: 'asked', sidecars }
  const lacking = lackingIn(now)
  const found = sidecars
    .filter(({ name }) => lacking.includes(name) && wishes.containers.get(name)?.check === undefined)
    .flatMap((known) => checkLine(known, now, pod.metadata) ?? [])
  const conditional = found.filter(isConditional)
  const lines = found.filter((line) => !isConditional(line))
  if (lines.length === 0) return conditional.length === 0 ? asked : { kind: 'mend', sidecars, lines, conditional }
  const tried = examine(withAnnotations(manifest, lines), context)
  const helps =
    tried.kind === 'planned' && lines.every(({ why }) => 'name' in why && !unwaitedIn(tried).includes(why.name))
  return helps ? { kind: 'mend', sidecars, lines, conditional } : asked
}

/** What is suggested has been tried: whatever the plan says against it counts. */
function mend({ manifest, pod, sidecars, open, context }: Case): Suggestion {
  const names = open.map(({ name }) => name)
  const orderOf = (unwaited: readonly string[]): Lines => [
    {
      key: keys.sidecars,
      value: names.join(', '),
      why: { kind: 'order', names: names.filter((name) => !unwaited.includes(name)), unwaited },
    },
    ...nativeInJob({ pod, open, context }),
  ]
  const order = orderOf([])
  const attempt = (lines: readonly Line[]) => examine(withAnnotations(manifest, lines), context)
  const first = attempt(order)
  if (first.kind === 'invalid') return { kind: 'none', sidecars, why: first.problems }
  const asked = open.flatMap((known) => checkLine(known, first, pod.metadata) ?? [])
  const conditional = asked.filter(isConditional)
  const checks = asked.filter((line) => !isConditional(line))
  // The configuration may not allow a check of this kind in annotations.
  const last = checks.length === 0 ? first : attempt([...order, ...checks])
  const [tried, more] = last.kind === 'invalid' ? [first, []] : [last, checks]
  const deadlocks =
    tried.kind === 'planned' ? tried.warnings.filter(({ kind }) => kind === 'deadlock' || kind === 'never-ready') : []
  if (deadlocks.length > 0) return { kind: 'none', sidecars, why: deadlocks }
  const unwaited = unwaitedIn(tried)
  // A line that wouldn't hold the app back is worth nothing by itself.
  if (tried.kind === 'planned' && conditional.length === 0 && names.every((name) => unwaited.includes(name))) {
    return { kind: 'none', sidecars, why: last.kind === 'invalid' ? last.problems : whyNone(open, pod.metadata) }
  }
  const [head, ...rest] = orderOf(unwaited)
  return { kind: 'mend', sidecars, lines: [head, ...rest, ...more], conditional }
}

/** Whether it serves only if the sidecar is configured for it, which its manifest doesn't show. */
const isConditional = ({ why }: Line): boolean => ['if-configured', 'by-port', 'by-liveness'].includes(why.kind)

/** Why nothing tells when they are ready. */
const whyNone = (open: readonly KnownSidecar[], metadata: Metadata): readonly Said[] =>
  open.map((known) => {
    const asked = askable(known, metadata)
    return { kind: 'no-check-known', name: known.name, because: asked.kind === 'nothing' ? asked.why : 'no-port' }
  })

/** The listed sidecars that aren't waited for because nothing says how; `none` says that nobody should. */
function lackingIn(tried: Examined): readonly string[] {
  if (tried.kind !== 'planned') return []
  return tried.warnings.flatMap((warning) => {
    const { kind } = warning
    const lacks = kind === 'no-probe' || kind === 'probe-without-handler' || kind === 'probe-port-missing'
    return lacks ? [warning.name] : []
  })
}

function unwaitedIn(tried: Examined): readonly string[] {
  if (tried.kind !== 'planned') return []
  return tried.plan.tiers.flat().flatMap(({ name, kind }) => (kind === 'none' ? [name] : []))
}

/** In a Job a regular sidecar would run on, and the Job never complete. */
function nativeInJob({ pod, open, context }: Pick<Case, 'pod' | 'open' | 'context'>): readonly Line[] {
  const { kubernetesVersion: version, defaults } = context.configuration
  const regular = open.filter(({ container }) => container?.list === 'containers').map(({ name }) => name)
  const isJob = context.surroundings.job || pod.metadata.ownedByJob
  const knows = version === undefined || version.major > 1 || version.minor >= 29
  if (!isJob || regular.length === 0 || !knows || defaults.gate === 'native') return []
  return [{ key: keys.gate, value: 'native', why: { kind: 'job', names: regular } }]
}

/** The check to write where the sidecar's own probe is missing, or waits for more than the sidecar. */
function checkLine(known: KnownSidecar, tried: Examined, metadata: Metadata): Line | undefined {
  const { name, preset, container } = known
  const line = (check: Check | string, why: Why): Line => ({
    key: perContainer.check + name,
    value: typeof check === 'string' ? check : formatCheck(check),
    why,
  })
  if (container === undefined) {
    const asked = preset.check.kind === 'probe' || preset.name === 'dapr' ? askable(known, metadata) : undefined
    return asked?.kind === 'always' ? line(asked.check, { kind: 'not-there-to-probe', name }) : undefined
  }
  if (tried.kind !== 'planned') return undefined
  const replaced = tried.warnings.find((warning) => warning.kind === 'check-replaced' && warning.name === name)
  if (replaced?.kind === 'check-replaced') {
    const { waitsFor = 'app' } = preset.deadlocks.find(({ path }) => path === replaced.endpoint) ?? {}
    return line(replaced.instead, { kind: 'wrong-probe', name, waitsFor })
  }
  if (tried.plan.tiers.flat().find((each) => each.name === name)?.kind !== 'none') return undefined
  const asked = askable(known, metadata)
  switch (asked.kind) {
    case 'always':
      return line(asked.check, { kind: 'no-probe', name })
    case 'if-configured':
    case 'to-complete': {
      const complete = asked.kind === 'if-configured'
      return line(asked.check, { kind: 'if-configured', name, trap: preset.traps[0] ?? '', complete })
    }
    case 'by-port':
      return line(asked.check, { kind: 'by-port', name, port: asked.port, others: asked.others })
    case 'by-liveness':
      return line(asked.check, { kind: 'by-liveness', name })
    case 'nothing':
      return undefined
    default:
      return asked satisfies never
  }
}
