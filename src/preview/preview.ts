import { formatDuration } from '../admission/check/duration.ts'
import { type Decision, skipped, unchanged } from '../admission/decision.ts'
import type { Configuration } from '../admission/intent/configuration.ts'
import type { Context } from '../admission/intent/context.ts'
import { misplacedKeys } from '../admission/intent/misplaced.ts'
import type { Tiers } from '../admission/plan/shown-tiers.ts'
import type { Metadata } from '../admission/pod/pod.ts'
import { readMetadata, readSpec } from '../admission/pod/read.ts'
import type { Fields } from '../admission/pod/reader.ts'
import { podTemplate } from '../admission/pod/template.ts'
import { askedFor, byNamespace, mayBeGiven } from '../admission/suggest/known.ts'
import { type Suggestion, suggest, withAnnotations } from '../admission/suggest/suggest.ts'
import { type Certain, fateText, foresee, unexpected } from '../admission/verdict.ts'
import type { Operation } from '../admission/words/json.ts'
import { isCost, type Reason, textOf } from '../admission/words/messages.ts'
import { shownWarnings } from '../admission/words/shown-warnings.ts'
import { objectKeys } from '../kubernetes/names.ts'
import { predictStart } from './forecast.ts'
import { drawn, type Forecast } from './forecast-bars.ts'
import type { JsonObject } from './json.ts'
import { type Manifests, mostProblems, readManifests } from './manifests.ts'
import { messagesOf } from './message.ts'
import { knownLabels, namespaceOf, namespacesOf } from './namespace.ts'
import { type ManifestObject, objectsOf } from './objects.ts'
import { applyPatch, atPath } from './patch.ts'
import { type End, predictEnd } from './predicted-end.ts'
import type { Problem } from './problems.ts'
import { purposesOf, triedPurpose } from './purpose.ts'
import { annotating, type SuggestionEdits, suggestionResult } from './suggestion.ts'
import { type Trial, triedLines } from './tried-lines.ts'

/** What will become of an object's pods, in a word. */
export const outlooks = [
  'patched',
  'unchanged',
  'refused',
  'refused-unless-injected',
  'depends-on-namespace',
  'skipped',
] as const
export type Outlook = (typeof outlooks)[number]

/** What would happen to one object. */
export interface Preview {
  readonly object: ManifestObject
  readonly outlook: Outlook
  /** What the first call does to it, or why it is refused in the end. */
  readonly decision: Decision
  /** From the object's root. */
  readonly patch: readonly Operation[]
  /** The patched object; absent if it is refused. */
  readonly patched: JsonObject | undefined
  /** What it could say, if it says nothing and has well-known sidecars. */
  readonly suggestion?: Suggestion
  /** Of notes that somebody doesn't want to read. */
  readonly ignored?: ReadonlySet<string>
}

export type Previewed =
  | { readonly ok: true; readonly manifests: Extract<Manifests, { ok: true }>; readonly previews: readonly Preview[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** The objects of a text (JSON or YAML), in order. If one can't be read, only that is reported. */
export function readObjects(text: string) {
  const manifests = readManifests(text)
  if (!manifests.ok) return failed(manifests.problems)
  const found = objectsOf(manifests)
  return found.ok ? ({ ok: true, manifests, objects: found.objects } as const) : failed(found.problems)
}

export type Readable = Extract<ReturnType<typeof readObjects>, { ok: true }>

/** What is known beside the objects. */
interface Assumed {
  /** Of objects that name none, if it is known. */
  readonly namespace: string
  /** Those of which there is a manifest. */
  readonly namespaces: ReadonlyMap<string, Metadata>
  readonly trial: Trial
}

export const previewObjects = ({ manifests, objects }: Readable, configuration: Configuration, assumed: Assumed) => ({
  ok: true as const,
  manifests,
  previews: objects.map((object) => previewObject(object, configuration, assumed)),
})

/**
 * What would happen to the objects of a text.
 * @param namespace of objects that name none, if it is known
 */
export function preview(text: string, configuration: Configuration, namespace = '', trial: Trial = {}): Previewed {
  const read = readObjects(text)
  return read.ok
    ? previewObjects(read, configuration, { namespace, namespaces: namespacesOf(read.objects), trial })
    : read
}

function failed(problems: readonly Problem[]) {
  return { ok: false as const, problems: problems.slice(0, mostProblems) }
}

function previewObject(given: ManifestObject, configuration: Configuration, assumed: Assumed): Preview {
  const template = podTemplate(given)
  if (template === undefined) {
    const decision = skipped([{ kind: 'no-pod-template', object: given.kind }], [])
    return { object: given, decision, outlook: decision.verdict, patch: [], patched: given.value }
  }
  const namespace = given.namespace || assumed.namespace
  const tried = triedLines(assumed.trial, template.pod)
  const object = { ...given, namespace }
  const around = assumed.namespaces.get(namespaceOf(object))
  const foreseen = foresee(withAnnotations(template.pod, tried), {
    // What it would do, where it only observes.
    configuration: { ...configuration, mode: 'enforce' },
    surroundings: { ...template.surroundings, ...(namespace !== '' && { into: namespace }) },
    namespace: knownLabels(namespace, around),
    // Whatever the mode of an installation is, it calls none for these.
    ...(around?.labels.get(objectKeys.injection) === 'disabled' && { webhooks: [] }),
  })
  const depends = foreseen.kind === 'depends-on-namespace'
  const verdict = depends ? foreseen.first : foreseen
  const elsewhere = depends ? foreseen.others : []
  const { decision: decided } = verdict
  const misplaced = misplacedKeys(given.kind, given.value, template.pod, template.path.split('/').slice(1))
  const suggestion = suggestionFor(decided, withAnnotations(template.pod, tried), {
    configuration,
    surroundings: { ...template.surroundings, ...(around && { namespace: around }) },
  })
  const judged =
    suggestion === undefined
      ? withUnseen(withInjected(decided, template.pod, around), template.pod, around)
      : asItIs(decided, suggestion)
  const decision = { ...among(elsewhere, judged), warnings: shownWarnings([...judged.warnings, ...misplaced]) }
  const found = {
    object,
    decision,
    outlook: outlookOf(verdict, elsewhere, decision),
    ...(suggestion && { suggestion }),
  }
  switch (decision.verdict) {
    case 'skipped':
      return { ...found, patch: [], patched: object.value }
    case 'unchanged': {
      const patch = annotating(object, tried)
      return { ...found, patch, patched: applyPatch(object.value, patch) }
    }
    case 'refused':
      return { ...found, patch: [], patched: undefined }
    case 'patched': {
      const patch = [...annotating(object, tried), ...atPath(template.path, decision.patch)]
      return { ...found, patch, patched: applyPatch(object.value, patch) }
    }
    default:
      return decision satisfies never
  }
}

/** What becomes of it in namespaces of which more is known. A refusal holds in all of them. */
function among(elsewhere: readonly Certain[], decision: Decision): Decision {
  if (decision.verdict === 'refused') return decision
  const reasons = elsewhere.map((each) => ({ kind: 'in-other-namespaces', fate: fateText(each) }) as const)
  return { ...decision, reasons: [...decision.reasons, ...reasons] }
}

/** An injector that is known to add what is absent is taken at its word. What holds in every namespace depends on none. */
function outlookOf(verdict: Certain, elsewhere: readonly Certain[], { verdict: decided }: Decision): Outlook {
  const lacks = (each: Certain) => unexpected(each).length > 0
  if (lacks(verdict) && elsewhere.every((each) => lacks(each) || each.kind === 'refused'))
    return 'refused-unless-injected'
  return elsewhere.length > 0 ? 'depends-on-namespace' : decided
}

/** Of a pod for which neither itself nor a rule asks for anything, or for a sidecar that isn't waited for. */
function suggestionFor(decision: Decision, pod: Fields, context: Context): Suggestion | undefined {
  const isSilent = decision.verdict === 'skipped' && decision.reasons.some(({ kind }) => kind === 'nothing-asked')
  const isUnwaited = tiersOf(decision)
    .flat()
    .some(({ kind }) => kind === 'none')
  const suggestion = isSilent || isUnwaited ? suggest(pod, context) : undefined
  return suggestion?.kind === 'asked' ? undefined : suggestion
}

/** By which annotation or label an injector is asked for what it is still to add. */
function withInjected(decision: Decision, pod: Fields, namespace: Metadata | undefined): Decision {
  const metadata = readMetadata(pod)
  if (decision.verdict === 'refused' || !metadata.ok) return decision
  if (!decision.reasons.some(({ kind }) => kind === 'to-be-injected')) return decision
  const keyOf = new Map(
    askedFor(metadata.value, namespace).flatMap(({ preset, key }) =>
      preset.containers.map((name) => [name, key] as const),
    ),
  )
  const reasons = decision.reasons.map((each) => {
    const key = each.kind === 'to-be-injected' ? keyOf.get(each.name) : undefined
    return key === undefined ? each : { ...each, key }
  })
  return { ...decision, reasons }
}

/** Of a pod that says nothing its namespace may have an injector add a sidecar; only who sees the namespace can tell. */
function withUnseen(decision: Decision, pod: Fields, namespace: Metadata | undefined): Decision {
  if (decision.verdict !== 'skipped' || namespace !== undefined) return decision
  if (!decision.reasons.some(({ kind }) => kind === 'nothing-asked')) return decision
  const [metadata, spec] = [readMetadata(pod), readSpec(pod)]
  if (!metadata.ok || !spec.ok || !mayBeGiven({ metadata: metadata.value, spec: spec.value })) return decision
  return skipped([...decision.reasons, { kind: 'none-known', names: byNamespace }], decision.warnings)
}

/** A pod whose app already waits is as it should be. */
function asItIs(decision: Decision, suggestion: Suggestion): Decision {
  if (suggestion.kind !== 'holds' && suggestion.kind !== 'faster') return decision
  const reasons = suggestion.sidecars.flatMap(({ name, gate }): readonly Reason[] => {
    switch (gate.kind) {
      case 'startup-probe':
        return [{ ...gate, kind: 'startup-probe-holds', name, already: true }]
      case 'own-hook':
        return [{ kind: 'own-hook-holds', name }]
      case 'init-container':
        return [{ kind: 'prepared', name, by: gate.name }]
      case 'sidecar-first':
      case 'none':
      case 'native':
      case 'not-yet-there':
        return []
      default:
        return gate satisfies never
    }
  })
  return unchanged(reasons, [], decision.warnings)
}

/** What holds the app back, one entry for all gates that are alike, and what would let it start before its sidecars are ready. */
export function gatesOf(decision: Decision) {
  const waited = tiersOf(decision)
    .flat()
    .flatMap(({ name, gate }) => (gate === undefined ? [] : [{ name, ...gate }]))
  return [...Map.groupBy(waited, ({ form, opensOn }) => [form, ...opensOn].join()).values()].flatMap((alike) =>
    alike.slice(0, 1).map(({ form, opensOn }) => ({ form, sidecars: alike.map(({ name }) => name), opensOn })),
  )
}

/** A preview as `/preview` shows it; openapi.json describes it. */
export type PreviewResult = ReturnType<typeof previewResult>

/** @param edits what adds the suggested lines to the input */
export function previewResult(preview: Preview, edits?: SuggestionEdits) {
  const { object, decision, outlook, patch, patched, suggestion } = preview
  const { apiVersion, kind, namespace, name } = object
  const tiers = tiersOf(decision).map((tier) =>
    tier.map(({ name, check, timeout, onTimeout, every, rule }) => ({
      name,
      check,
      ...(timeout !== undefined && { timeout: formatDuration(timeout) }),
      ...(onTimeout !== undefined && { onTimeout }),
      ...(every !== undefined && { every: formatDuration(every * 1000) }),
      ...(rule !== undefined && { rule }),
    })),
  )
  const start = startOf(preview)
  const end = endOf(preview, start)
  return {
    apiVersion,
    kind,
    namespace,
    name,
    verdict: outlook,
    awaits: awaitedBy(decision),
    reasons: decision.reasons.map(textOf),
    messages: messagesOf(preview),
    warnings: decision.warnings.map(textOf),
    costs: decision.warnings.filter(isCost).map(textOf),
    tiers,
    gates: gatesOf(decision),
    patch,
    purposes: purposesIn(preview),
    ...(patched && { patched }),
    ...(start && { start }),
    ...(end && { end }),
    ...(suggestion && { suggestion: suggestionResult(suggestion, edits) }),
  }
}

/** The containers that an injector has to add, or the pod is refused. */
export const awaitedBy = (decision: Decision): readonly string[] =>
  'absent' in decision ? [...new Set(decision.absent.map(({ name }) => name))] : []

function purposesIn({ object, decision, patch }: Preview): readonly string[] {
  if (decision.verdict !== 'patched') return patch.map(() => triedPurpose)
  const tried = patch.slice(0, patch.length - decision.patch.length)
  const template = podTemplate({ ...object, value: applyPatch(object.value, tried) })
  const sidecars = new Set(decision.tiers.flat().map(({ name }) => name))
  return [...tried.map(() => triedPurpose), ...purposesOf(template?.pod ?? {}, decision.patch, sidecars)]
}

/** How its pods would start; undefined without a plan. */
export function startOf({ object, decision, patched }: Preview): Forecast | undefined {
  const tiers = tiersOf(decision)
  if (patched === undefined || tiers.length === 0) return undefined
  const given = podTemplate(object)
  const wanted = podTemplate({ ...object, value: patched })
  const starts = given && wanted && predictStart(given.pod, wanted.pod, tiers, given.surroundings.job)
  return starts && drawn(starts)
}

/** How they would end; undefined where that isn't known, or somebody else has to end them: a Job's regular sidecar. */
export function endOf({ object, decision, patched, ignored }: Preview, start: Forecast | undefined): End | undefined {
  const template = patched && podTemplate({ ...object, value: patched })
  const spec = readSpec(template?.pod ?? {})
  if (start === undefined || !spec.ok || start.with.some(({ outlook }) => outlook === 'endless')) return undefined
  const listed = new Set(tiersOf(decision).flatMap((tier) => tier.map(({ name }) => name)))
  const end = predictEnd(spec.value, start.with, (name) => listed.has(name))
  return { ...end, messages: end.messages.filter(({ code }) => !ignored?.has(code)) }
}

/** The tiers of a decision; none without a plan. */
export function tiersOf(decision: Decision): Tiers {
  return 'tiers' in decision ? decision.tiers : []
}
