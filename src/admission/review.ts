import type { Configuration } from './configuration.ts'
import { decide } from './decide.ts'
import type { Decision, Surroundings, Tiers } from './decision.ts'
import { type Validity, validate } from './validate.ts'
import { printable } from './warning.ts'

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

export type Reviewed =
  | { readonly ok: true; readonly response: ReviewResponse; readonly decision: Decision; readonly facts: ReviewFacts }
  /** Not an AdmissionReview v1 with a request: a client's error, answered 400. */
  | { readonly ok: false; readonly error: string; readonly problems: readonly string[] }

export type Validated =
  | { readonly ok: true; readonly response: ReviewResponse; readonly validity: Validity; readonly facts: ReviewFacts }
  | Extract<Reviewed, { ok: false }>

/**
 * A parsed AdmissionReview (any value) to its answer at `/mutate`. `set`: of the path, for the webhook of a namespaceSelector. Never
 * throws.
 */
export function review(body: unknown, configuration: Configuration, set?: string): Reviewed {
  const opened = open(body)
  if (!opened.ok) return opened
  const { uid, facts, notOurs } = opened
  const unknown = set !== undefined && !configuration.rules.sets.has(set)
  const decision: Decision =
    notOurs === undefined
      ? decide(opened.pod, configuration, surroundingsOf(set, unknown))
      : { verdict: 'skipped', reasons: [notOurs], warnings: [] }
  const behind =
    'the webhook configuration is behind the configuration of sidecar-first: print it again with "sidecar-first config"'
  const warnings = [{ severity: 'bites-later', text: behind } as const, ...decision.warnings]
  const told = unknown ? { ...decision, warnings } : decision
  return { ok: true, response: respond(uid, told, configuration), decision: told, facts }
}

/** A parsed AdmissionReview (any value) of the final pod to its answer at `/validate`. Never throws. */
export function reviewFinal(body: unknown, configuration: Configuration, set?: string): Validated {
  const opened = open(body)
  if (!opened.ok) return opened
  const { uid, facts, notOurs } = opened
  const unknown = set !== undefined && !configuration.rules.sets.has(set)
  const validity: Validity =
    notOurs === undefined ? validate(opened.pod, configuration, surroundingsOf(set, unknown)) : { valid: true }
  const response = validity.valid ? { uid, allowed: true } : { uid, allowed: false, status: denial(validity.reasons) }
  return { ok: true, response, validity, facts }
}

function surroundingsOf(set: string | undefined, unknown: boolean): Surroundings {
  return set === undefined || unknown ? { job: false } : { job: false, set }
}

type Opened =
  | {
      readonly ok: true
      readonly uid: string
      readonly pod: unknown
      readonly facts: ReviewFacts
      /** Why this is no creation of a pod; absent where it is one. */
      readonly notOurs: string | undefined
    }
  | Extract<Reviewed, { ok: false }>

function open(body: unknown): Opened {
  const problems: string[] = []
  const root = fields(body)
  if (root.apiVersion !== 'admission.k8s.io/v1') problems.push('apiVersion: expected admission.k8s.io/v1')
  if (root.kind !== 'AdmissionReview') problems.push('kind: expected AdmissionReview')
  const request = fields(root.request)
  const uid = text(request.uid)
  if (root.request === undefined || root.request === null) problems.push('request: expected one')
  else if (uid === '') problems.push('request.uid: expected text')
  if (problems.length > 0) return { ok: false, error: 'not an AdmissionReview v1 with a request', problems }

  const pod = request.object
  const metadata = fields(fields(pod).metadata)
  const generated = text(metadata.generateName)
  const facts: ReviewFacts = {
    namespace: text(request.namespace),
    name: text(request.name) || text(metadata.name) || (generated && `${generated}*`),
    operation: text(request.operation),
    dryRun: request.dryRun === true,
  }
  return { ok: true, uid, pod, facts, notOurs: whyNotOurs(request) }
}

function whyNotOurs(request: Fields): string | undefined {
  const { group, kind } = fields(request.kind)
  if (kind !== 'Pod' || (group !== '' && group !== undefined)) return 'not a Pod'
  if (text(request.subResource) !== '') return 'a subresource of a Pod'
  return request.operation === 'CREATE' ? undefined : 'not the creation of a Pod'
}

function respond(uid: string, decision: Decision, { mode }: Configuration): ReviewResponse {
  const observed = mode === 'observe'
  const { verdict, reasons } = decision
  const warnings = decision.warnings.map(({ text }) => text)
  const response = { uid, auditAnnotations: audit(decision, observed), allowed: true }
  switch (verdict) {
    case 'skipped':
    case 'unchanged':
      return warned(response, warnings)
    case 'patched': {
      if (!observed) return warned({ ...response, patch: JSON.stringify(decision.patch) }, warnings)
      return warned(response, [onlyObserves('would change', reasons), ...warnings])
    }
    case 'refused': {
      if (!observed) return warned({ ...response, allowed: false, status: denial(reasons) }, warnings)
      return warned(response, [onlyObserves('would refuse', reasons), ...warnings])
    }
    default:
      return decision satisfies never
  }
}

function warned(response: ReviewResponse, warnings: readonly string[]): ReviewResponse {
  return warnings.length > 0 ? { ...response, warnings } : response
}

function onlyObserves(what: string, reasons: readonly string[]): string {
  return printable(`sidecar-first only observes; it ${what} this: ${reasons.join('; ')}`, 256)
}

/** What a person still reads in a terminal. */
const mostReasons = 20

function denial(reasons: readonly string[]): NonNullable<ReviewResponse['status']> {
  const shown = reasons.slice(0, mostReasons)
  const more = reasons.length > shown.length ? `; and ${reasons.length - shown.length} more` : ''
  const listed = shown.map((reason, index) => `(${index + 1}) ${reason}`).join('; ') + more
  const message = reasons.length === 1 ? (reasons[0] ?? '') : `${reasons.length} problems: ${listed}`
  return { code: 400, reason: 'BadRequest', message }
}

/** Keys are qualified names without a slash; the API server puts the webhook's name before them. */
function audit(decision: Decision, observed: boolean): Readonly<Record<string, string>> {
  const tiers: Tiers = 'tiers' in decision ? decision.tiers : []
  return {
    verdict: observed ? `${decision.verdict} (observed)` : decision.verdict,
    reason: printable(decision.reasons.join('; '), 1024),
    ...(tiers.length > 0 ? { tiers: tiers.map((tier) => tier.map(({ name }) => name).join('+')).join(',') } : {}),
  }
}

type Fields = { readonly [key: string]: unknown }

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
