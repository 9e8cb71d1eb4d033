import type { Code, CodedWords, Values } from '../src/admission/words/values.ts'
import { ClusterError, type FailureKind } from '../src/kubernetes/failure.ts'
import type { Problem as PairProblem } from './faults.ts'
import { left } from './lives.ts'

interface Served {
  /** `POD:PORT`, or the address if the pod is unknown. */
  readonly endpoint: string
}

/** All that can be wrong with the certificates of a cluster, each kind once, with its words. */
const problems = {
  'secret-missing': {
    code: 'SF701',
    text: () =>
      'the Secret is missing: is certs running (sidecar-first check)? sidecar-first certs once creates it as well',
  },
  'secret-damaged': {
    code: 'SF702',
    text: ({ slot, problem }: { readonly slot: string; readonly problem: PairProblem }) =>
      `${slot}: ${problem.message}`,
  },
  'leaf-missing': { code: 'SF703', text: () => 'the Secret has no sound leaf' },
  expired: {
    code: 'SF704',
    text: ({ name, for: ms }: { readonly name: string; readonly for: number }) => `the ${name} ${left(-ms)}`,
  },
  overdue: {
    code: 'SF705',
    text: ({ name, remaining }: { readonly name: string; readonly remaining: number }) =>
      `the ${name} is overdue, ${left(remaining)}: is sidecar-first certs running?`,
  },
  'trust-differs': {
    code: 'SF706',
    text: ({ configuration }: { readonly configuration: string }) =>
      `the caBundle of ${configuration} differs from what it should be`,
  },
  'configurations-missing': { code: 'SF707', text: () => 'there is no webhook configuration' },
  'endpoints-missing': { code: 'SF708', text: () => 'the Service has no ready endpoint' },
  'no-handshake': { code: 'SF709', text: ({ endpoint }: Served) => `${endpoint} did not answer a handshake` },
  'not-asked': {
    code: 'SF710',
    text: ({ endpoint, message }: Served & { readonly failure: FailureKind; readonly message: string }) =>
      `${endpoint} could not be asked: ${message}`,
  },
  'not-a-certificate': {
    code: 'SF711',
    text: ({ endpoint }: Served) => `${endpoint} serves something that is not a certificate`,
  },
  'served-untrusted': {
    code: 'SF712',
    text: ({ endpoint }: Served) => `${endpoint} serves a leaf that not every caBundle covers`,
  },
  'served-expired': {
    code: 'SF713',
    text: ({ endpoint, for: ms }: Served & { readonly for: number }) => `${endpoint} serves a leaf that ${left(-ms)}`,
  },
} as const satisfies CodedWords

export type Problem = Values<typeof problems>

/** An endpoint that couldn't be asked. Any error but the API server's is thrown on. */
export function notAsked(endpoint: string, error: unknown): Problem {
  if (!(error instanceof ClusterError)) throw error
  return { kind: 'not-asked', endpoint, failure: error.kind, message: error.message }
}

export const problemCode = ({ kind }: Problem): Code => problems[kind].code

/** The kind is known by then, so its data fits. */
export const problemText = (problem: Problem): string =>
  (problems[problem.kind] as { text: (data: Problem) => string }).text(problem)
