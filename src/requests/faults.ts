import { define } from '../admission/words/define.ts'
import type { Code } from '../admission/words/values.ts'

/** Why an HTTP request isn't answered with what it asks for: its status, and the public code. */
export interface RequestFault {
  readonly code: Code
  readonly status: 400 | 403 | 404 | 405 | 406 | 408 | 411 | 413 | 415 | 422 | 429 | 431 | 500 | 503
}

const one = 'Send one that the message names.'
const answer = (status: RequestFault['status']) => define('refusal', { status })

/** Each kind once. Where a text says more than its kind, it is an example: what exactly is told where it happens. */
export const requestFaults = {
  'unknown-path': answer(404)('SF041', {
    text: 'not found: /previews',
    means: 'The server has nothing at that path.',
    next: 'Correct the path. `--routes` of `serve` says whether the preview is served.',
  }),
  'no-admissions-here': answer(404)('SF042', {
    text: 'admissions are not served here (--routes)',
    means: 'This replica serves the preview alone.',
    next: 'Have the webhook configurations call the Service of the webhook, or start the server with `--routes admission`.',
  }),
  'client-unknown': answer(403)('SF043', {
    text: 'a client certificate is needed, signed by one of the CAs of --client-ca',
    means: 'The server answers admissions only to clients that prove who they are, and this one does not.',
    next: 'Give the API server a client certificate, or leave out `--client-ca`.',
  }),
  'wrong-method': answer(405)('SF044', {
    text: 'use POST, not GET',
    means: 'The path is there, but not for that method.',
    next: 'Use the method that the message and the header `Allow` name.',
  }),
  'not-http': answer(400)('SF045', {
    text: 'not an HTTP request',
    means: 'What came cannot be read as an HTTP/1.1 request, or its URL cannot be decoded.',
    next: 'Look at what sends it, or at the proxy in between.',
  }),
  'head-too-large': answer(431)('SF046', {
    text: 'the header is too large',
    means: 'The lines before the body are longer than the server takes.',
    next: 'Send fewer or shorter headers.',
  }),
  'too-slow': answer(408)('SF047', {
    text: 'the request came too slowly',
    means: 'The request was not complete in time.',
    next: 'Call it again; if it stays, look at the network or the proxy in between.',
  }),
  'length-missing': answer(411)('SF048', {
    text: 'send a Content-Length; bodies in chunks are not accepted',
    means: 'The length of the body has to be known before it comes.',
    next: 'Send the header `Content-Length`.',
  }),
  'body-too-large': answer(413)('SF049', {
    text: 'the body is larger than 7340032 bytes',
    means: 'The body is longer than a preview takes.',
    next: 'Send fewer manifests at a time.',
  }),
  'body-empty': answer(400)('SF050', {
    text: 'the body is empty',
    means: 'Nothing was sent.',
    next: 'Send what the path takes.',
  }),
  'body-unreadable': answer(400)('SF051', {
    text: 'the body is not JSON',
    means: 'The body is not what its path takes: not UTF-8, not JSON, not an AdmissionReview v1, or with unknown keys.',
    next: 'Correct what the problems beside it name.',
  }),
  'body-type': answer(415)('SF052', {
    text: 'application/xml is not read here; send application/json or application/yaml',
    means: 'The body is of a type that the path does not take, or is compressed.',
    next: one,
  }),
  'answer-type': answer(406)('SF053', {
    text: 'the answer can be application/json, application/json-patch+json or application/yaml',
    means: 'The header `Accept` asks for what cannot be answered; a patch, for one, is for a single object.',
    next: 'Ask for a type that the message names.',
  }),
  'wrong-query': answer(400)('SF054', {
    text: 'the query can not be read',
    means: 'What follows the `?` has an unknown key or value.',
    next: 'Correct what the problems beside it name.',
  }),
  'wrong-settings': answer(400)('SF055', {
    text: 'these settings can not be',
    means: 'The settings to try are not known, or contradict the configuration or each other.',
    next: 'Correct what the problems beside it name.',
  }),
  'manifests-unreadable': answer(400)('SF056', {
    text: 'the manifests can not be read',
    means: 'What was sent is not a manifest, or not YAML.',
    next: 'Correct the places beside it, each with a code of its own.',
  }),
  'configuration-unreadable': answer(400)('SF057', {
    text: 'the configuration can not be read',
    means: 'The configuration that was sent is not valid.',
    next: 'Correct the places beside it, each with a code of its own.',
  }),
  'no-object': answer(400)('SF058', {
    text: 'there is no manifest in the body; send a Pod or a workload',
    means: 'The body can be read, but holds no Kubernetes object.',
    next: 'Send one. Helm templates are rendered first: `helm template`.',
  }),
  'objects-refused': answer(422)('SF059', {
    text: '2 of 3 objects are refused',
    means: 'A patch or manifests were asked for, and some objects would be refused.',
    next: 'Correct them; the reasons stand beside it, each with a code of its own. As JSON, the others are answered as well.',
  }),
  'too-costly': answer(422)('SF060', {
    text: 'the manifests take more than 10 s of CPU to preview; send fewer at a time',
    means: 'A preview has a limit of CPU and memory, so that nobody keeps others from theirs.',
    next: 'Send fewer manifests at a time, or call `sidecar-first preview`, which has no such limit.',
  }),
  'answer-too-large': answer(413)('SF061', {
    text: 'the answer would be longer than 29360128 characters; send fewer manifests at a time',
    means: 'What would come of the manifests is larger than the server answers.',
    next: 'Send fewer manifests at a time.',
  }),
  'too-many-requests': answer(429)('SF062', {
    text: 'too many requests or bytes in flight; try again',
    means: 'The server has as much to do as it can take. An API server tries again by itself.',
    next: 'Call it again after the header `Retry-After`. If it stays, run more replicas.',
  }),
  'machine-busy': answer(503)('SF063', {
    text: 'this machine is too busy to preview that within 60 s; try again',
    means: 'The preview got no CPU for that long.',
    next: 'Call it again later, or give the preview more CPU.',
  }),
  'loop-stalled': answer(503)('SF064', {
    text: 'the loop has stalled',
    means: 'A controller has not finished a round for long, so its liveness probe fails and the kubelet restarts it.',
    next: 'If it comes back, look at its log.',
  }),
  'server-fault': answer(500)('SF065', {
    text: 'internal error; the log of sidecar-first has more',
    means: 'A fault of sidecar-first itself.',
    next: 'Report it with the lines of the log.',
  }),
  'pods-not-listed': answer(503)('SF066', {
    text: 'the pods are not listed yet; see the log',
    means:
      '`starts run` is not ready: it counts nothing before it has seen all pods once. It goes on trying, and its liveness probe is fine.',
    next: 'If it stays, its log says why, and `sidecar-first check` which right it lacks.',
  }),
  'lease-not-read': answer(503)('SF067', {
    text: 'the Lease is not read yet; see the log',
    means:
      '`certs run` or `rollouts run` is not ready: since it began, it has not read the Lease that says who leads. It goes on trying, and its liveness probe is fine. Once it has read it, no outage makes it unready.',
    next: 'If it stays, its log says why: the API server cannot be reached, or a right is missing.',
  }),
}

export type RequestFaultKind = keyof typeof requestFaults

/** The body that tells a fault. */
export function refusedAs(kind: RequestFaultKind, error?: string, problems: readonly string[] = []): Refused {
  const { code, text } = requestFaults[kind]
  return { code, error: error ?? text(undefined), problems }
}

/** The body of every error, as programs read it. */
export interface Refused {
  readonly code: Code
  readonly error: string
  /** The details, each with its own code where it has one. */
  readonly problems: readonly string[]
}
