import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Configuration } from '../admission/configuration.ts'
import { type Reviewed, type ReviewFacts, type ReviewResponse, review, reviewFinal } from '../admission/review.ts'
import { checkHead, dropBody, readBody } from './body.ts'
import type { InFlight } from './in-flight.ts'
import type { LiveConfiguration } from './live-configuration.ts'
import { sendJson, sendProblem } from './send.ts'
import { count, type Outcome, type Tallies, type Webhook } from './tally.ts'

/** What answering admissions needs beside the request. */
export interface AdmissionContext {
  readonly configuration: LiveConfiguration
  readonly inFlight: InFlight
  readonly tallies: Tallies
  readonly log: Logger
}

const types = ['application/json']

/** `/mutate` or `/validate`, and the set of a webhook with a namespaceSelector of its own. */
export interface AdmissionPath {
  readonly webhook: Webhook
  readonly set: string | undefined
}

/** Which admission a URL is for, if any. The API server appends a query, and nothing in it concerns us. */
export function admissionPath(url: string): AdmissionPath | undefined {
  const found = /^\/(?:mutate|(validate))(?:\/([^/?]+))?(?:\?|$)/.exec(url)
  // The name is a constant, not a part of the URL: V8 drops compiled code that looks things up by a text made anew for each request.
  return found ? { webhook: found[1] === undefined ? 'mutate' : 'validate', set: found[2] } : undefined
}

/** Answers an admission. The hot path: it does no I/O but the answer and one log line. */
export function answerAdmission(
  request: IncomingMessage,
  response: ServerResponse,
  path: AdmissionPath,
  context: AdmissionContext,
): void {
  receive(request, response, types, context.inFlight, (text) => answer(text, response, path, context))
}

/** Hands on the body of a POST that is what it should be; answers every other one. `types`: the media types taken, if not any. */
export function receive(
  request: IncomingMessage,
  response: ServerResponse,
  types: readonly string[] | undefined,
  inFlight: InFlight,
  take: (text: string) => void,
): void {
  const bad = checkHead(request, types)
  const place = bad ? undefined : inFlight.enter(response, () => evict(request, response))
  if (bad) dropBody(request, () => sendProblem(response, bad.status, bad.error, bad))
  else if (!place) dropBody(request, () => sendOverload(response))
  else {
    response.once('close', place.leave)
    readBody(request, (body) => {
      if (body.ok) take(body.text)
      else sendProblem(response, body.bad.status, body.bad.error, body.bad)
    })
  }
}

/** The API server retries a 429 within the webhook's timeout. */
function sendOverload(response: ServerResponse): void {
  sendProblem(response, 429, 'too many requests in flight; try again', { headers: { 'retry-after': '1' } })
}

/** Takes the place of a sender that is too slow while others wait. */
function evict(request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false
  sendProblem(response, 408, 'the body came too slowly while others waited')
  response.once('finish', () => request.destroy())
}

function answer(
  text: string,
  response: ServerResponse,
  path: AdmissionPath,
  { configuration, tallies, log }: AdmissionContext,
): void {
  const start = performance.now()
  let outcome: Outcome = 'error'
  let line: object | undefined
  try {
    const reviewed = reviewAt(path, JSON.parse(text), configuration.current)
    if (reviewed.ok) {
      outcome = reviewed.verdict
      line = describe(reviewed, path)
      sendReview(response, reviewed.response)
    } else {
      outcome = 'invalid'
      sendProblem(response, 400, reviewed.error, reviewed)
    }
  } catch (error) {
    if (error instanceof SyntaxError) {
      outcome = 'invalid'
      // What V8 says of broken JSON quotes the body, and that may hold secrets: only the place is passed on.
      const place = /at position \d+(?: \(line \d+ column \d+\))?/.exec(error.message)?.[0]
      sendProblem(response, 400, 'the body is not JSON', { problems: place ? [place] : [] })
    } else {
      log.error({ err: error }, 'admission failed')
      sendProblem(response, 500, 'internal error; the log of sidecar-first has more')
    }
  }
  const milliseconds = performance.now() - start
  count(tallies[path.webhook], outcome, milliseconds / 1000)
  if (line) log.info({ ...line, microseconds: Math.round(milliseconds * 1000) }, messages[path.webhook])
}

const messages = { mutate: 'admission', validate: 'validation' } as const

/** What came of a review, at either path. */
type Answered =
  | {
      readonly ok: true
      readonly response: ReviewResponse
      readonly facts: ReviewFacts
      readonly verdict: Outcome
      readonly reasons: readonly string[]
    }
  | Extract<Reviewed, { ok: false }>

function reviewAt({ webhook, set }: AdmissionPath, body: unknown, configuration: Configuration): Answered {
  switch (webhook) {
    case 'mutate': {
      const reviewed = review(body, configuration, set)
      if (!reviewed.ok) return reviewed
      const { verdict, reasons } = reviewed.decision
      return { ...reviewed, verdict, reasons }
    }
    case 'validate': {
      const reviewed = reviewFinal(body, configuration, set)
      if (!reviewed.ok) return reviewed
      const { validity } = reviewed
      return validity.valid
        ? { ...reviewed, verdict: 'allowed', reasons: [] }
        : { ...reviewed, verdict: 'refused', reasons: validity.reasons }
    }
    default:
      return webhook satisfies never
  }
}

/** What the log says of an admission; nothing of the pod but its name. */
function describe({ response, verdict, reasons, facts }: Extract<Answered, { ok: true }>, { set }: AdmissionPath) {
  return {
    ...(set !== undefined && { set: short(set) }),
    uid: short(response.uid),
    namespace: short(facts.namespace),
    name: short(facts.name),
    operation: short(facts.operation),
    dryRun: facts.dryRun,
    verdict,
    reasons: reasons.slice(0, 16),
  }
}

/** Answers with an AdmissionReview v1. `patch` and `patchType` come together or not at all. */
function sendReview(response: ServerResponse, { patch, ...rest }: ReviewResponse): void {
  const patched = patch === undefined ? {} : { patchType: 'JSONPatch', patch: Buffer.from(patch).toString('base64') }
  sendJson(response, 200, {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { ...rest, ...patched },
  })
}

// No Kubernetes name is longer; anything longer is nobody's and must not fill the log.
const short = (text: string): string => (text.length > 253 ? `${text.slice(0, 252)}…` : text)
