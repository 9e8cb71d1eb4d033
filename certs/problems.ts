import type { Values } from '../src/admission/words/values.ts'
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
    text: () =>
      'the Secret is missing: is certs running (sidecar-first check)? sidecar-first certs once creates it as well',
  },
  'secret-damaged': {
    text: ({ slot, problem }: { readonly slot: string; readonly problem: PairProblem }) =>
      `${slot}: ${problem.message}`,
  },
  'leaf-missing': { text: () => 'the Secret has no sound leaf' },
  expired: {
    text: ({ name, for: ms }: { readonly name: string; readonly for: number }) => `the ${name} ${left(-ms)}`,
  },
  overdue: {
    text: ({ name, remaining }: { readonly name: string; readonly remaining: number }) =>
      `the ${name} is overdue, ${left(remaining)}: is sidecar-first certs running?`,
  },
  'trust-differs': {
    text: ({ configuration }: { readonly configuration: string }) =>
      `the caBundle of ${configuration} differs from what it should be`,
  },
  'configurations-missing': { text: () => 'there is no webhook configuration' },
  'endpoints-missing': { text: () => 'the Service has no ready endpoint' },
  'no-handshake': { text: ({ endpoint }: Served) => `${endpoint} did not answer a handshake` },
  'not-asked': {
    text: ({ endpoint, message }: Served & { readonly failure: FailureKind; readonly message: string }) =>
      `${endpoint} could not be asked: ${message}`,
  },
  'not-a-certificate': { text: ({ endpoint }: Served) => `${endpoint} serves something that is not a certificate` },
  'served-untrusted': { text: ({ endpoint }: Served) => `${endpoint} serves a leaf that not every caBundle covers` },
  'served-expired': {
    text: ({ endpoint, for: ms }: Served & { readonly for: number }) => `${endpoint} serves a leaf that ${left(-ms)}`,
  },
} as const

export type Problem = Values<typeof problems>

/** An endpoint that couldn't be asked. Any error but the API server's is thrown on. */
export function notAsked(endpoint: string, error: unknown): Problem {
  if (!(error instanceof ClusterError)) throw error
  return { kind: 'not-asked', endpoint, failure: error.kind, message: error.message }
}

/** The kind is known by then, so its data fits. */
export const problemText = (problem: Problem): string =>
  (problems[problem.kind] as { text: (data: Problem) => string }).text(problem)
