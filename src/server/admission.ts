import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answered, asksIn, giveUp, readBeginning } from '../admission/give-up.ts'
import type { Configuration } from '../admission/intent/configuration.ts'
import {
  type Reviewed,
  type ReviewResponse,
  review,
  reviewFinal,
  reviewMark,
  reviewUnlocked,
} from '../admission/review.ts'
import { mostAnswer } from '../admission/words/limits.ts'
import { coded, codeOf, type Problem } from '../admission/words/messages.ts'
import { reviewWorkload } from '../admission/workload.ts'
import type { Refused } from '../requests/faults.ts'
import type { Body } from './body.ts'
import { excess, mostBytes } from './limits.ts'
import { parseReview } from './managed-fields.ts'
import { receive } from './receive.ts'
import { sendBad, sendJson, sendText } from './send.ts'
import type { Serving } from './serving.ts'
import { count, type Outcome, type Webhook } from './tally.ts'

const accepted = { types: ['application/json'], limit: mostBytes }
/** Nobody waits for its warnings as pods wait for their patch. */
const ofWorkloads = { ...accepted, yields: true }

/** What is asked for, and the set in the path, if any. `mark` without a set takes off the marks that others made. */
interface AdmissionPath {
  readonly webhook: Webhook
  readonly set: string | undefined
  /** Whether `auto` may lock the pod, and whether a lock may name its sidecar. */
  readonly locks: 'no' | 'unnamed' | 'named'
}

/** Which admission a URL is for, if any. The API server appends a query, which is ignored. */
export function admissionPath(url: string): AdmissionPath | undefined {
  if (/^\/mutate\/lock-by-name(?:\?|$)/.test(url)) return { webhook: 'mutate', set: undefined, locks: 'named' }
  if (/^\/mutate\/lock(?:\?|$)/.test(url)) return { webhook: 'mutate', set: undefined, locks: 'unnamed' }
  if (/^\/validate\/workloads(?:\?|$)/.test(url)) return { webhook: 'workloads', set: undefined, locks: 'named' }
  const found = /^\/(?:mutate|(validate))(?:\/(?:(reset)|(mark-)?(?:set-)?([^/?]+)))?(?:\?|$)/.exec(url)
  if (found === null) return undefined
  const [, validate, reset, mark, set] = found
  // Constants, not slices of the URL: V8 drops compiled code that looks things up by a string created for each request.
  const mutating = reset === undefined && mark === undefined ? 'mutate' : 'mark'
  return { webhook: validate === undefined ? mutating : 'validate', set, locks: 'no' }
}

/** Answers an admission. This is the hot path: its only I/O is the answer and one log line. */
export function answerAdmission(
  request: IncomingMessage,
  response: ServerResponse,
  path: AdmissionPath,
  context: Serving,
): void {
  receive(request, response, path.webhook === 'workloads' ? ofWorkloads : accepted, context, (body) =>
    answer(body, response, path, context),
  )
}

function answer(
  body: Body,
  response: ServerResponse,
  path: AdmissionPath,
  { configuration, tallies, log, inform }: Serving,
): void {
  const start = performance.now()
  let outcome: Outcome = 'error'
  let line: ReturnType<typeof describe> | undefined
  try {
    const why = excess(body)
    const reviewed =
      why === undefined
        ? reviewAt(path, parseReview(body.bytes), configuration.current)
        : unreadAt(path, body, why, configuration.current)
    if (reviewed === undefined) {
      outcome = 'invalid'
      if (why === undefined) throw new Error('a review that was read has no answer')
      const refused: Refused = { code: codeOf(why), error: coded(why), problems: [] }
      sendJson(response, body.whole ? 422 : 413, refused)
    } else if (reviewed.ok) {
      const { answered, text } = within(reviewed, path, body, configuration.current)
      outcome = answered.verdict
      line = describe(answered, path)
      if (answered.notes?.exempt !== undefined) tallies.rules.exempt++
      if (answered.notes?.audited !== undefined) tallies.rules.audited++
      sendText(response, 200, 'application/json', text)
    } else {
      outcome = 'invalid'
      sendBad(response, { ...reviewed, kind: 'body-unreadable' })
    }
  } catch (error) {
    if (error instanceof SyntaxError) {
      outcome = 'invalid'
      // V8's message about broken JSON quotes the body, which may hold secrets: only the position is passed on.
      const place = /at position \d+(?: \(line \d+ column \d+\))?/.exec(error.message)?.[0]
      sendBad(response, { kind: 'body-unreadable', problems: place ? [place] : [] })
    } else {
      log.error({ err: error }, 'admission failed')
      sendBad(response, { kind: 'server-fault' })
    }
  }
  const milliseconds = performance.now() - start
  count(tallies[path.webhook], outcome, milliseconds / 1000)
  if (line) inform({ ...line, microseconds: Math.round(milliseconds * 1000) }, messages[path.webhook])
}

const messages = { mutate: 'admission', validate: 'validation', mark: 'mark', workloads: 'workload' } as const

function reviewAt({ webhook, set, locks }: AdmissionPath, body: unknown, configuration: Configuration): Reviewed {
  switch (webhook) {
    case 'mutate':
      if (locks === 'no') return reviewUnlocked(body, configuration, set)
      return review(body, configuration, locks === 'named' ? undefined : locks)
    case 'mark':
      return reviewMark(body, configuration, set)
    case 'validate':
      return reviewFinal(body, configuration, set)
    case 'workloads':
      return reviewWorkload(body, configuration)
    default:
      return webhook satisfies never
  }
}

/** The answer about a review that isn't read, since `why`; undefined if it doesn't say whom to answer. */
function unreadAt(
  path: AdmissionPath,
  { bytes }: Body,
  why: Problem,
  configuration: Configuration,
): Answered | undefined {
  const beginning = readBeginning(bytes.toString('utf8', 0, 4096))
  return beginning && giveUp(path.webhook, beginning, why, asksIn(bytes), configuration)
}

/** What the log says about an admission: of the pod, only its name. */
function describe({ response, verdict, reasons, facts, notes }: Answered, { set }: AdmissionPath) {
  return {
    ...(set !== undefined && { set: short(set) }),
    uid: short(response.uid),
    namespace: short(facts.namespace),
    name: short(facts.name),
    operation: short(facts.operation),
    dryRun: facts.dryRun,
    verdict,
    reasons: reasons.slice(0, 16),
    ...notes,
  }
}

/** The answer as text; one that would be too long is replaced by what is said about a pod that can't be helped. */
function within(
  answered: Answered,
  { webhook }: AdmissionPath,
  { bytes }: Body,
  configuration: Configuration,
): { readonly answered: Answered; readonly text: string } {
  const text = reviewText(answered.response)
  if (text.length <= mostAnswer) return { answered, text }
  const why = { kind: 'answer-too-large', has: text.length, most: mostAnswer } as const
  const { response, facts } = answered
  const instead = giveUp(webhook, { uid: response.uid, facts }, why, asksIn(bytes), configuration)
  return { answered: instead, text: reviewText(instead.response) }
}

/** An AdmissionReview v1 in one piece. `patch` and `patchType` come together or not at all; base64 needs no escapes. */
function reviewText({ patch, ...rest }: ReviewResponse): string {
  const response = JSON.stringify(rest)
  const patched =
    patch === undefined
      ? response
      : `${response.slice(0, -1)},"patchType":"JSONPatch","patch":"${Buffer.from(patch).toString('base64')}"}`
  return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":${patched}}\n`
}

// No Kubernetes name is longer; anything longer isn't a name and must not fill the log.
const short = (text: string): string => (text.length > 253 ? `${text.slice(0, 252)}…` : text)
