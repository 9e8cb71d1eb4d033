import { decide } from './decide.ts'
import { type Decision, skipped, type Validity, allowed as valid } from './decision.ts'
import type { Configuration } from './intent/configuration.ts'
import { enforcedMark, mark, marked, marksOf, unmark } from './mark.ts'
import { type Fields, isMap, nothing } from './pod/reader.ts'
import type { Surroundings } from './pod/surroundings.ts'
import { validate } from './validate.ts'
import type { Operation } from './words/json.ts'
import { mostProblems } from './words/limits.ts'
import { coded, isCost, isHint, type Problem, type Reason, type Said, type Shape, textOf } from './words/messages.ts'
import { printable } from './words/printable.ts'

/** The `response` of an AdmissionReview (admission.k8s.io/v1), but for the patch's encoding: `patch` is JSON, which the wire wants as base64. */
export interface ReviewResponse {
  readonly uid: string
  readonly allowed: boolean
  readonly patch?: string
  readonly warnings?: readonly string[]
  readonly auditAnnotations?: Readonly<Record<string, string>>
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string }
}

/** What a log line and a metric say of a review. */
export interface ReviewFacts {
  readonly namespace: string
  /** The pod's name, or its generateName with `*`. */
  readonly name: string
  readonly operation: string
  readonly dryRun: boolean
}

/** What a platform team follows up of its enforced rules: in the log, in metrics and in audit annotations. */
interface RuleNotes {
  /** The rules that let the pod by. */
  readonly exempt?: string
  /** What a rule with `enforce: audit` would refuse the pod for. */
  readonly audited?: string
}

/** The answer to an AdmissionReview, at either path, with what a log says of it. */
export type Reviewed =
  | {
      readonly ok: true
      readonly response: ReviewResponse
      readonly verdict: (Decision | Validity)['verdict']
      readonly reasons: readonly string[]
      readonly facts: ReviewFacts
      readonly notes?: RuleNotes
    }
  /** Not an AdmissionReview v1 with a request: a client's error, answered 400. */
  | { readonly ok: false; readonly error: string; readonly problems: readonly string[] }

/**
 * Answers a parsed AdmissionReview (any value) at `/mutate/lock-by-name`, and as `unnamed` at `/mutate/lock`, where locks name no sidecar. Never
 * throws.
 */
export function review(body: unknown, configuration: Configuration, asker?: 'unnamed'): Reviewed {
  return reviewBy(body, configuration, (pod, into) => {
    const surroundings = surroundingsOf(pod, into, configuration)
    return decide(pod, configuration, asker === undefined ? surroundings : { ...surroundings, asker })
  })
}

/**
 * The same at `/mutate`, where `auto` locks nothing. `set` is the one in the path that webhook configurations of before 0.2 call for a
 * namespaceSelector: the pod is marked with it and planned in one go.
 */
export function reviewUnlocked(body: unknown, configuration: Configuration, set?: string): Reviewed {
  return reviewBy(body, configuration, (pod, into) => decideMarked(pod, into, configuration, set))
}

function reviewBy(
  body: unknown,
  configuration: Configuration,
  decideOn: (pod: unknown, into: string) => Decision,
): Reviewed {
  const opened = openReview(body)
  if (!opened.ok) return opened
  const { uid, facts, notOurs, pod } = opened
  const decision = notOurs === undefined ? decideOn(pod, facts.namespace) : skipped([notOurs], [])
  const reasons = few(decision.reasons).map(coded)
  const notes = notesOf(decision)
  const response = respond(uid, decision, { ...audit(decision, reasons, configuration), ...notes }, configuration)
  return { ok: true, response, verdict: decision.verdict, reasons, facts, notes }
}

function notesOf({ warnings }: Decision): RuleNotes {
  const exempt = warnings.flatMap((each) => (each.kind === 'exempt' ? [each.rule] : []))
  const audited = warnings.find(({ kind }) => kind === 'audited')
  return {
    ...(exempt.length > 0 && { exempt: printable(exempt.join(','), 1024) }),
    ...(audited && { audited: coded(audited) }),
  }
}

function decideMarked(pod: unknown, into: string, configuration: Configuration, set: string | undefined): Decision {
  const known = set !== undefined && isKnown(set, configuration)
  if (!known) {
    const decision = decide(pod, configuration, { ...surroundingsOf(pod, into, configuration), asker: 'unlocked' })
    if (set === undefined) return decision
    return { ...decision, warnings: [{ kind: 'webhooks-behind' }, ...decision.warnings] }
  }
  const marks = mark(pod, set)
  const at = marks.length === 0 ? pod : marked(pod, set)
  const decision = decide(at, configuration, { ...surroundingsOf(pod, into, configuration, set), asker: 'unlocked' })
  if (decision.verdict === 'patched') return { ...decision, patch: [...marks, ...decision.patch] }
  if (decision.verdict !== 'unchanged' || marks.length === 0) return decision
  return { ...decision, verdict: 'patched', change: 'notes', unlocked: [], patch: marks }
}

/**
 * Answers a parsed AdmissionReview (any value) at the path that marks a set, or, without one, that takes off marks which aren't ours. Never
 * throws.
 */
export function reviewMark(body: unknown, configuration: Configuration, set?: string): Reviewed {
  // Where nothing may be patched, this is the only call that knows of the set.
  if (configuration.mode === 'observe' && set !== undefined) return reviewUnlocked(body, configuration, set)
  const opened = openReview(body)
  if (!opened.ok) return opened
  const { uid, facts, notOurs, pod } = opened
  const known = set === undefined || isKnown(set, configuration)
  const operations = notOurs !== undefined || !known ? [] : set === undefined ? unmark(pod) : mark(pod, set)
  const warnings = known ? [] : [coded({ kind: 'webhooks-behind' })]
  if (operations.length === 0 || configuration.mode === 'observe') {
    return { ok: true, response: allowed({ uid }, warnings), verdict: 'skipped', reasons: [], facts }
  }
  return { ok: true, response: patched({ uid }, operations, warnings), verdict: 'patched', reasons: [], facts }
}

/** Answers a parsed AdmissionReview (any value) of the final pod at `/validate`. Never throws. */
export function reviewFinal(body: unknown, configuration: Configuration, set?: string): Reviewed {
  const opened = openReview(body)
  if (!opened.ok) return opened
  const { uid, facts, notOurs, pod } = opened
  const surroundings = surroundingsOf(pod, facts.namespace, configuration, set)
  const validity = notOurs === undefined ? validate(pod, configuration, surroundings) : valid
  const { verdict } = validity
  const reasons = few(validity.reasons).map(coded)
  const response = verdict === 'allowed' ? allowed({ uid }) : refused({ uid }, validity.reasons)
  return { ok: true, response, verdict, reasons, facts }
}

const isKnown = (set: string, { rules }: Configuration) => set === enforcedMark || rules.sets.has(set)

/** `also`: a set that the API server has found to select the namespace, whatever the marks say. A set that nobody knows has no rules. */
function surroundingsOf(pod: unknown, into: string, { mode, rules }: Configuration, also?: string): Surroundings {
  const here = into === '' ? { job: false } : { job: false, into }
  if (rules.sets.size === 0) return here
  // Where nothing is patched, marks are the author's.
  const marks = mode === 'observe' ? [] : marksOf(pod)
  const sets = also === undefined ? marks : [...marks, also]
  // Every rule of a set is looked up in them, for every container.
  return { ...here, sets: [...new Set(sets)].filter((set) => rules.sets.has(set)) }
}

type Opened =
  | {
      readonly ok: true
      readonly uid: string
      /** The request's object, which is a pod if it is ours. */
      readonly pod: unknown
      /** Of the request's object. */
      readonly kind: string
      readonly facts: ReviewFacts
      /** Why this isn't the creation of a pod; undefined if it is one. */
      readonly notOurs: Reason | undefined
    }
  | Extract<Reviewed, { ok: false }>

export function openReview(body: unknown): Opened {
  const problems: Problem[] = []
  const root = fields(body)
  const wrong = (path: string, expected: Shape) => problems.push({ kind: 'unexpected-value', expected, path })
  if (root.apiVersion !== 'admission.k8s.io/v1') wrong('apiVersion', 'reviewVersion')
  if (root.kind !== 'AdmissionReview') wrong('kind', 'review')
  const request = fields(root.request)
  const uid = text(request.uid)
  if (root.request === undefined || root.request === null) wrong('request', 'map')
  else if (uid === '') wrong('request.uid', 'text')
  if (problems.length > 0) {
    return { ok: false, error: 'not an AdmissionReview v1 with a request', problems: problems.map(textOf) }
  }

  const pod = request.object
  const metadata = fields(fields(pod).metadata)
  const generated = text(metadata.generateName)
  const facts: ReviewFacts = {
    namespace: text(request.namespace),
    name: text(request.name) || text(metadata.name) || (generated && `${generated}*`),
    operation: text(request.operation),
    dryRun: request.dryRun === true,
  }
  return { ok: true, uid, pod, kind: text(fields(request.kind).kind), facts, notOurs: whyNotOurs(request) }
}

function whyNotOurs(request: Fields): Reason | undefined {
  const { group, kind } = fields(request.kind)
  if (kind !== 'Pod' || (group !== '' && group !== undefined)) return { kind: 'not-a-pod' }
  if (text(request.subResource) !== '') return { kind: 'subresource' }
  return request.operation === 'CREATE' ? undefined : { kind: 'not-a-creation' }
}

function respond(
  uid: string,
  decision: Decision,
  auditAnnotations: Readonly<Record<string, string>>,
  { mode }: Configuration,
): ReviewResponse {
  const observed = mode === 'observe'
  const { verdict } = decision
  const base = { uid, auditAnnotations }
  // What nearly every pod costs is for those who look for it: `preview` and the page.
  const warnings = decision.warnings.filter((each) => !isCost(each)).map(coded)
  const instead = (would: 'change' | 'refuse') =>
    allowed(base, [coded({ kind: 'only-observed', would, reasons: few(decision.reasons).map(coded) }), ...warnings])
  switch (verdict) {
    case 'skipped':
    case 'unchanged':
      return allowed(base, warnings)
    case 'patched':
      return observed ? instead('change') : patched(base, decision.patch, warnings)
    case 'refused':
      return observed ? instead('refuse') : refused(base, decision.reasons, warnings)
    default:
      return decision satisfies never
  }
}

type Base = Pick<ReviewResponse, 'uid' | 'auditAnnotations'>

export function allowed(base: Base, warnings: readonly string[] = []): ReviewResponse {
  return warnings.length > 0 ? { ...base, allowed: true, warnings } : { ...base, allowed: true }
}

function patched(base: Base, patch: readonly Operation[], warnings: readonly string[]): ReviewResponse {
  return { ...allowed(base, warnings), patch: JSON.stringify(patch) }
}

function refused(base: Base, reasons: readonly Said[], warnings: readonly string[] = []): ReviewResponse {
  return { ...allowed(base, warnings), allowed: false, status: denial(reasons) }
}

/** No more than are read: wording the others would cost a hundred times what reading the pod does. */
const few = (said: readonly Said[]): readonly Said[] => said.slice(0, mostProblems)

/** As many as a person reads in a terminal. */
const mostReasons = 20

/** A hint follows the problems, and isn't one of them. */
function denial(said: readonly Said[]): NonNullable<ReviewResponse['status']> {
  const reasons = few(said.filter((each) => !isHint(each))).map(coded)
  const hints = said.filter(isHint).map((hint) => `; ${coded(hint)}`)
  const shown = reasons.slice(0, mostReasons)
  const more = reasons.length > shown.length ? `; and ${reasons.length - shown.length} more` : ''
  const listed = shown.map((reason, index) => `(${index + 1}) ${reason}`).join('; ') + more
  // More than these aren't collected.
  const count = reasons.length < mostProblems ? `${reasons.length}` : `at least ${reasons.length}`
  const told = reasons.length === 1 ? (reasons[0] ?? '') : `${count} problems: ${listed}`
  const message = told + hints.join('')
  return { code: 400, reason: 'BadRequest', message }
}

/** Keys are qualified names without a slash; the API server puts the webhook's name before them. */
function audit(
  decision: Decision,
  reasons: readonly string[],
  { mode }: Configuration,
): Readonly<Record<string, string>> {
  const tiers = 'tiers' in decision ? decision.tiers : []
  const ruled = tiers.flat().filter(({ rule }) => rule !== undefined)
  return {
    verdict: mode === 'observe' ? `${decision.verdict} (observed)` : decision.verdict,
    reason: reasons.length === 1 ? (reasons[0] ?? '') : printable(reasons.join('; '), 1024),
    ...(ruled.length > 0 ? { rules: printable(ruled.map(({ name, rule }) => `${name}=${rule}`).join(','), 1024) } : {}),
    ...(tiers.length > 0 ? { tiers: tiers.map((tier) => tier.map(({ name }) => name).join('+')).join(',') } : {}),
  }
}

const fields = (value: unknown): Fields => (isMap(value) ? value : nothing)

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
