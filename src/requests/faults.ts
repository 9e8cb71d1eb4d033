import type { Code } from '../admission/words/values.ts'

/** Why an HTTP request isn't answered with what it asks for: its status, and the public code. */
export interface RequestFault {
  readonly code: Code
  readonly status: 400 | 403 | 404 | 405 | 406 | 408 | 411 | 413 | 415 | 422 | 429 | 431 | 500 | 503
}

/** Each kind once. What exactly is told where it happens. */
export const requestFaults = {
  'unknown-path': { code: 'SF041', status: 404 },
  'no-admissions-here': { code: 'SF042', status: 404 },
  'client-unknown': { code: 'SF043', status: 403 },
  'wrong-method': { code: 'SF044', status: 405 },
  'not-http': { code: 'SF045', status: 400 },
  'head-too-large': { code: 'SF046', status: 431 },
  'too-slow': { code: 'SF047', status: 408 },
  'length-missing': { code: 'SF048', status: 411 },
  'body-too-large': { code: 'SF049', status: 413 },
  'body-empty': { code: 'SF050', status: 400 },
  'body-unreadable': { code: 'SF051', status: 400 },
  'body-type': { code: 'SF052', status: 415 },
  'answer-type': { code: 'SF053', status: 406 },
  'wrong-query': { code: 'SF054', status: 400 },
  'wrong-settings': { code: 'SF055', status: 400 },
  'manifests-unreadable': { code: 'SF056', status: 400 },
  'configuration-unreadable': { code: 'SF057', status: 400 },
  'no-object': { code: 'SF058', status: 400 },
  'objects-refused': { code: 'SF059', status: 422 },
  'too-costly': { code: 'SF060', status: 422 },
  'answer-too-large': { code: 'SF061', status: 413 },
  'too-many-requests': { code: 'SF062', status: 429 },
  'machine-busy': { code: 'SF063', status: 503 },
  'loop-stalled': { code: 'SF064', status: 503 },
  'server-fault': { code: 'SF065', status: 500 },
  'pods-not-listed': { code: 'SF066', status: 503 },
  'lease-not-read': { code: 'SF067', status: 503 },
} as const satisfies Readonly<Record<string, RequestFault>>

export type RequestFaultKind = keyof typeof requestFaults

/** The body of every error, as programs read it. */
export interface Refused {
  readonly code: Code
  readonly error: string
  /** The details, each with its own code where it has one. */
  readonly problems: readonly string[]
}
