import type { V1Namespace, V1Pod } from '@kubernetes/client-node'
import { decide } from '../admission/decide.ts'
import type { Configuration } from '../admission/intent/configuration.ts'
import { readMetadata } from '../admission/pod/read.ts'
import type { Surroundings } from '../admission/pod/surroundings.ts'
import { type Line, suggest, withAnnotations } from '../admission/suggest/suggest.ts'
import { whyText } from '../admission/suggest/words.ts'
import { concluded, unexpected } from '../admission/verdict.ts'
import type { Json } from '../admission/words/json.ts'
import { keys } from '../admission/words/keys.ts'
import { coded, isCost, startText } from '../admission/words/messages.ts'
import { circumstancesOf } from '../check/pod/circumstances.ts'
import { setsOf, whyUncovered } from '../check/pod/coverage.ts'
import type { SubjectKind } from '../check/pod/subject.ts'
import type { Installed } from '../check/site.ts'
import { allowed, ClusterError } from '../kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../kubernetes/objects.ts'
import { predictStart } from '../preview/forecast.ts'
import type { JsonObject } from '../preview/json.ts'
import { applyPatch } from '../preview/patch.ts'
import { observe } from '../seen/observe.ts'
import { podsOf } from '../seen/workload-pods.ts'
import { type Timeline, timelineOf } from '../timeline/timeline.ts'
import { type Foreseen, foresee } from './foresee.ts'
import type { Trial } from './words.ts'

/** What a trial of a workload shows. */
export interface Tried {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly told: readonly Trial[]
  /** What to add to its pod template's annotations. `conditional`: only if the sidecar is configured for it. */
  readonly lines: readonly (Pick<Line, 'key' | 'value'> & { readonly why: string; readonly conditional: boolean })[]
  /** The last real start, and how it would have been. */
  readonly last: Timeline | undefined
  readonly foreseen: Foreseen | undefined
}

interface Asked {
  readonly objects: Objects
  readonly installed: Installed
  readonly version: string
  readonly now: () => number
}
interface Subject {
  readonly kind: SubjectKind
  readonly namespace: string
  readonly name: string
  /** Its containers that are sidecars, though no preset knows them. */
  readonly own: ReadonlySet<string>
}

/**
 * Takes a workload as it is and has a pod of its template dry-run, as it is and with our patch. Nothing is stored. Undefined: there is no such workload.
 * @throws ClusterError
 */
export async function tryWorkload(
  { objects, installed, version, now }: Asked,
  { kind, namespace, name, own }: Subject,
): Promise<Tried | undefined> {
  const object = await objects.read({ ...kind, metadata: { name, namespace } })
  if (!object) return undefined
  const home = await allowed(
    objects.read<V1Namespace>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }),
  )
  const told: Trial[] = []
  const {
    configuration,
    covers,
    pod: template,
    ...around
  } = circumstancesOf({ object, kind, namespace }, { installed, version, home })
  const isConfigured = installed.configuration.ok && installed.configuration.value?.read.ok
  const mutating = installed.mutating.ok ? installed.mutating.value : undefined
  if (!isConfigured && !mutating) told.push({ kind: 'not-installed' })
  if (configuration.mode === 'observe') told.push({ kind: 'only-observes' })
  if (mutating && !home) told.push({ kind: 'namespace-unread', namespace })
  else if (mutating && covers.length === 0)
    told.push({ kind: 'uncovered', uncovered: whyUncovered(mutating.webhooks ?? [], around.namespace) })

  const pods = await allowed(lastPods(objects, kind, object))
  const newest = pods?.newest
  const bare = created(template as unknown as V1Pod, name)
  const first = await dryRun(objects, bare)
  if (first.kind === 'impossible') {
    told.push({ kind: 'not-tried', message: first.message, by: newest ? 'pod' : 'template' })
  }
  const accepted = first.kind === 'accepted' ? first.pod : undefined
  const base = accepted ?? (first.kind === 'impossible' && newest ? asToday(newest, bare) : bare)
  const judged = judge(base as unknown as JsonObject, {
    configuration: { ...configuration, mode: 'enforce' },
    own,
    surroundings: { ...kind.surroundings, sets: setsOf(covers), ...metadataOf(around.namespace) },
  })
  told.push(...judged.told)
  if (first.kind === 'refused') told.push({ kind: 'not-accepted', message: first.message, patched: false })
  else if (first.kind === 'accepted' && judged.patched !== undefined) {
    // Where the webhook is called it patches the pod itself; elsewhere the API server is shown what it would make.
    const called = covers.length > 0 && configuration.mode === 'enforce'
    const lines = judged.lines.filter(({ conditional }) => !conditional)
    const pod = called ? withAnnotations(bare as unknown as JsonObject, lines) : judged.patched
    const second = await dryRun(objects, created(pod as unknown as V1Pod, name))
    const patched = judged.isNew && !called
    if (second.kind !== 'accepted') told.push({ kind: 'not-accepted', message: second.message, patched })
    else if (called && judged.isNew && second.pod.metadata?.annotations?.[keys.status] === undefined)
      told.push({ kind: 'came-back' })
    else told.push({ kind: 'accepted', patched })
  }
  const starts = await lastStart({ objects, now }, pods, judged)
  told.push(...starts.told)
  return { kind: kind.kind, namespace, name, told, lines: judged.lines, last: starts.last, foreseen: starts.foreseen }
}

interface Judged extends Pick<Tried, 'told' | 'lines'> {
  readonly given: JsonObject
  /** As it would be created; undefined if it is refused. */
  readonly patched: JsonObject | undefined
  /** Whether we change it. */
  readonly isNew: boolean
  readonly sidecars: readonly string[]
  readonly order: NonNullable<ReturnType<typeof predictStart>>['with'] | undefined
}

/** What would become of a pod, with the lines that it lacks. */
function judge(
  given: JsonObject,
  {
    configuration,
    surroundings,
    own,
  }: { configuration: Configuration; surroundings: Surroundings; own: ReadonlySet<string> },
): Judged {
  const asks = decide(given, configuration, surroundings)
  const suggestion = suggest(given, { configuration, surroundings }, own)
  const found = suggestion?.kind === 'mend' || suggestion?.kind === 'faster' ? suggestion : undefined
  const shown = (conditional: boolean) => (line: Line) => ({
    key: line.key,
    value: line.value,
    why: whyText(line.why),
    conditional,
  })
  const lines = [
    ...(found?.lines ?? []).map(shown(false)),
    ...(found?.kind === 'mend' ? found.conditional : []).map(shown(true)),
  ]
  const said = withAnnotations(given, found?.lines ?? []) as JsonObject
  const fate = concluded(found && found.lines.length > 0 ? decide(said, configuration, surroundings) : asks)
  const { decision } = fate
  const awaits = unexpected(fate)
  const warnings = decision.warnings
    .filter((each) => !isCost(each) && each.kind !== 'container-awaited')
    .map((warning): Trial => ({ kind: 'admission-warning', warning }))
  const why = decision.reasons.map(coded).join('; ')
  const nothing = { given, lines, patched: undefined, isNew: false, sidecars: [], order: undefined }
  if (awaits.length > 0)
    return { ...nothing, told: [{ kind: 'unless-injected', names: awaits, exists: false }, ...warnings] }
  switch (decision.verdict) {
    case 'refused':
      return { ...nothing, told: [{ kind: 'refused', why, exists: false }, ...warnings] }
    case 'skipped': {
      const more = suggestion?.kind === 'none' ? suggestion.why.map(coded).join('; ') : why
      return { ...nothing, patched: given, told: [{ kind: 'would-be-left', why: more }, ...warnings] }
    }
    case 'unchanged':
    case 'patched': {
      const isNew = decision.verdict === 'patched'
      const patched = isNew ? applyPatch(said, decision.patch) : said
      const forecast = predictStart(given, patched as Json, decision.tiers, surroundings.job)
      return {
        given,
        lines,
        patched,
        isNew,
        sidecars: decision.tiers.flat().map((each) => each.name),
        order: forecast?.with,
        told: [{ kind: 'would-start', order: startText(decision.reasons), already: !isNew }, ...warnings],
      }
    }
    default:
      return decision satisfies never
  }
}

/** How its last pod started, and how it would have. */
async function lastStart(
  { objects, now }: Pick<Asked, 'objects' | 'now'>,
  pods: LastPods | undefined,
  { sidecars, order }: Judged,
): Promise<Pick<Tried, 'told' | 'last' | 'foreseen'>> {
  const nothing = { last: undefined, foreseen: undefined }
  if (pods === undefined) return { ...nothing, told: [{ kind: 'no-start', why: 'forbidden' }] }
  const pod = pods.started ?? pods.newest
  if (!pod) return { ...nothing, told: [{ kind: 'no-start', why: 'no-pod' }] }
  const last = timelineOf(await observe(objects, pod, now), sidecars)
  if (!order) return { last, foreseen: undefined, told: [] }
  // The pod's condition is all that tells when a container without a gate was ready, and it waits for the app's own probe.
  const ungated = sidecars.some((name) => !last.starts.some(({ hook }) => hook?.waitsFor.includes(name)))
  const others = pod.spec?.containers.some(({ name, readinessProbe }) => readinessProbe && !sidecars.includes(name))
  const foreseen = foresee(last, order, ungated && others === true)
  const { cost, unseen, added, atMost } = foreseen
  const cause: Trial = cost
    ? { kind: 'costs', pod: last.name, ...cost, atMost }
    : { kind: 'cost-unknown', pod: last.name, names: unseen }
  return {
    last,
    foreseen,
    told: [cause, ...(added.length > 0 ? [{ kind: 'not-measured', names: added } as const] : [])],
  }
}

const hasStarted = ({ status }: V1Pod): boolean =>
  status?.containerStatuses?.some(
    ({ state, lastState }) => state?.running ?? state?.terminated ?? lastState?.terminated,
  ) ?? false

/** Its newest pod, and the newest of those that have started. */
interface LastPods {
  readonly newest: V1Pod | undefined
  readonly started: V1Pod | undefined
}

async function lastPods(objects: Objects, { kind }: SubjectKind, object: ClusterObject): Promise<LastPods> {
  const last = { newest: undefined, started: undefined } as { -readonly [K in keyof LastPods]: LastPods[K] }
  const age = ({ metadata }: V1Pod) => new Date(metadata?.creationTimestamp ?? 0).getTime()
  for await (const pod of podsOf(objects, { kind, object })) {
    if (!last.newest || age(pod) > age(last.newest)) last.newest = pod
    if (hasStarted(pod) && (!last.started || age(pod) > age(last.started))) last.started = pod
  }
  return last
}

type DryRun =
  | { readonly kind: 'accepted'; readonly pod: V1Pod }
  | { readonly kind: 'refused' | 'impossible'; readonly message: string }

async function dryRun(objects: Objects, pod: V1Pod): Promise<DryRun> {
  try {
    return { kind: 'accepted', pod: await objects.create(pod, { dryRun: true }) }
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    const { message, kind } = error
    if (['network', 'timeout', 'throttled'].includes(kind)) throw error
    // The API server's words are all that tells a missing right from a policy's refusal.
    const barred = /cannot create resource|does not support dry run/.test(message)
    return { kind: barred ? 'impossible' : 'refused', message }
  }
}

/** A pod as somebody would create it: without what the API server gives it. */
function created({ metadata, spec }: V1Pod, name: string): V1Pod {
  const { labels, annotations, namespace } = metadata ?? {}
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${name.slice(0, 50)}-`,
      ...(namespace !== undefined && { namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    ...(spec && { spec }),
  }
}

/** Its newest pod may be older than what the template says by now: none is made of a template that is refused. */
const asToday = (newest: V1Pod, { metadata }: V1Pod): V1Pod => ({
  ...newest,
  metadata: { ...newest.metadata, annotations: { ...newest.metadata?.annotations, ...metadata?.annotations } },
})

/** Injectors go by it. */
function metadataOf(home: Pick<V1Namespace, 'metadata'>): Pick<Surroundings, 'namespace'> {
  const read = readMetadata(home)
  return read.ok ? { namespace: read.value } : {}
}
