import type { Configuration } from './configuration.ts'
import { decide } from './decide.ts'
import type { Decision, Tiers } from './decision.ts'
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

/** A parsed AdmissionReview (any value) to its answer. Never throws. */
export function review(body: unknown, configuration: Configuration): Reviewed {
  const problems: string[] = []
  const root = fields(body)
  if (root.apiVersion !== 'admission.k8s.io/v1') problems.push('apiVersion: expected admission.k8s.io/v1')
  if (root.kind !== 'AdmissionReview') problems.push('kind: expected AdmissionReview')
  const request = fields(root.request)
  const uid = text(request.uid)
  if (root.request === undefined || root.request === null) problems.push('request: expected one')
  else if (uid === '') problems.push('request.uid: expected text')
  if (problems.length > 0) return { ok: false, error: 'not an AdmissionReview v1 with a request', problems }

  const decision = decideRequest(request, configuration)
  const metadata = fields(fields(request.object).metadata)
  const facts: ReviewFacts = {
    namespace: text(request.namespace),
    name: text(request.name) || text(metadata.name) || `${text(metadata.generateName)}*`,
    operation: text(request.operation),
    dryRun: request.dryRun === true,
  }
  return { ok: true, response: respond(uid, decision, configuration), decision, facts }
}

function decideRequest(request: Fields, configuration: Configuration): Decision {
  const skipped = (reason: string): Decision => ({ verdict: 'skipped', reasons: [reason], warnings: [] })
  const { group, kind } = fields(request.kind)
  if (kind !== 'Pod' || (group !== '' && group !== undefined)) return skipped('not a Pod')
  if (text(request.subResource) !== '') return skipped('a subresource of a Pod')
  if (request.operation !== 'CREATE') return skipped('not the creation of a Pod')
  return decide(request.object, configuration)
}

function respond(uid: string, decision: Decision, { mode }: Configuration): ReviewResponse {
  const observed = mode === 'observe'
  const { verdict, reasons } = decision
  const base = { uid, auditAnnotations: audit(decision, observed) }
  const warned = (more: readonly string[] = []) => {
    const warnings = [...more, ...decision.warnings]
    return warnings.length > 0 ? { warnings } : {}
  }
  switch (verdict) {
    case 'skipped':
    case 'unchanged':
      return { ...base, allowed: true, ...warned() }
    case 'patched': {
      if (!observed) return { ...base, allowed: true, patch: JSON.stringify(decision.patch), ...warned() }
      return {
        ...base,
        allowed: true,
        ...warned([printable(`sidecar-first only observes; it would change this: ${reasons.join('; ')}`, 256)]),
      }
    }
    case 'refused': {
      if (observed) {
        return {
          ...base,
          allowed: true,
          ...warned([printable(`sidecar-first only observes; it would refuse this: ${reasons.join('; ')}`, 256)]),
        }
      }
      const message =
        reasons.length === 1
          ? `${reasons[0]}`
          : `${reasons.length} problems: ${reasons.map((reason, i) => `(${i + 1}) ${reason}`).join('; ')}`
      return { ...base, allowed: false, status: { code: 400, reason: 'BadRequest', message }, ...warned() }
    }
    default:
      return decision satisfies never
  }
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
