import { define, wordsFor } from '../src/admission/words/define.ts'
import type { Code, Values } from '../src/admission/words/values.ts'
import { ClusterError, type FailureKind } from '../src/kubernetes/failure.ts'
import type { PairProblem } from './faults.ts'
import { left } from './life-bars.ts'

const soon = 'certs repairs it within a minute. If it stays, see its log: `kubectl logs deploy/sidecar-first-certs`.'
/** `POD:PORT`, or the address if the pod is unknown. */
const pod = '10.0.0.1:8443'

const problem = define('problem')

/** All that can be wrong with the certificates of a cluster, each kind once, with its words. */
export const problems = {
  'secret-missing': problem('SF701', {
    text: 'the Secret is missing: is certs running (sidecar-first check)? sidecar-first certs once creates it as well',
    means: 'Nothing can be served without the Secret that certs writes.',
    next: 'Run `sidecar-first check`; it says whether certs runs.',
  }),
  'secret-damaged': problem<{ slot: string; problem: PairProblem }>('SF702', {
    example: { slot: 'leaf', problem: { fault: 'key-mismatch', message: "the private key is not the certificate's" } },
    text: ({ slot, problem }) => `${slot}: ${problem.message}`,
    means: 'Something in the Secret cannot be used.',
    next: soon,
  }),
  'leaf-missing': problem('SF703', {
    text: 'the Secret has no sound leaf',
    means: 'The Secret has no certificate that a server could use.',
    next: soon,
  }),
  expired: problem('SF704', {
    example: { name: 'leaf', for: 3_600_000 },
    text: ({ name, for: ms }) => `the ${name} ${left(-ms)}`,
    means: 'API servers no longer accept it: pods are refused or go unpatched.',
    next: soon,
  }),
  overdue: problem('SF705', {
    example: { name: 'leaf', remaining: 86_400_000 },
    text: ({ name, remaining }) => `the ${name} is overdue, ${left(remaining)}: is sidecar-first certs running?`,
    means: 'It should have been renewed by now and still works.',
    next: 'See whether certs runs: `sidecar-first check`.',
  }),
  'trust-differs': problem('SF706', {
    example: { configuration: 'MutatingWebhookConfiguration/zz-sidecar-first' },
    text: ({ configuration }) => `the caBundle of ${configuration} differs from what it should be`,
    means: 'The API server trusts something else than it should.',
    next: soon,
  }),
  'configurations-missing': problem('SF707', {
    text: 'there is no webhook configuration',
    means: 'No webhook configuration is there to write the caBundle into.',
    next: '`sidecar-first install --apply`, with the flags of the first time.',
  }),
  'endpoints-missing': problem('SF708', {
    text: 'the Service has no ready endpoint',
    means: 'No replica is ready to answer the API server.',
    next: 'See what `sidecar-first check` says of the replicas.',
  }),
  'no-handshake': problem('SF709', {
    example: { endpoint: pod },
    text: ({ endpoint }) => `${endpoint} did not answer a handshake`,
    means: 'A replica is there and does not speak TLS.',
    next: 'See its log, and whether a network policy keeps certs out.',
  }),
  'not-asked': problem<{ endpoint: string; failure: FailureKind; message: string }>('SF710', {
    example: { endpoint: pod, failure: 'forbidden', message: 'pods/portforward is forbidden' },
    text: ({ endpoint, message }) => `${endpoint} could not be asked: ${message}`,
    means: 'The pod could not be reached through the API server.',
    next: 'Look at the message; it is usually a right that is missing.',
  }),
  'not-a-certificate': problem('SF711', {
    example: { endpoint: pod },
    text: ({ endpoint }) => `${endpoint} serves something that is not a certificate`,
    means: 'A replica answers with something that cannot be read.',
    next: 'See which pod that is, and its log.',
  }),
  'served-untrusted': problem('SF712', {
    example: { endpoint: pod },
    text: ({ endpoint }) => `${endpoint} serves a leaf that not every caBundle covers`,
    means: 'A replica serves a certificate that an API server would not accept.',
    next: soon,
  }),
  'served-expired': problem('SF713', {
    example: { endpoint: pod, for: 3_600_000 },
    text: ({ endpoint, for: ms }) => `${endpoint} serves a leaf that ${left(-ms)}`,
    means: 'A replica serves an old certificate: it has not taken up the new one.',
    next: soon,
  }),
  'foreign-secret-missing': problem('SF714', {
    text: "the Secret is missing: cert-manager hasn't issued the certificate",
    means: 'The webhook configurations say that cert-manager keeps the certificate, and it has written none.',
    next: '`kubectl describe certificate -n sidecar-first` says what cert-manager waits for.',
  }),
  'served-name': problem('SF715', {
    example: { endpoint: pod, servername: 'sidecar-first.sidecar-first.svc' },
    text: ({ endpoint, servername }) => `${endpoint} serves a leaf that isn't for ${servername}`,
    means: 'The API server would not accept what the replica serves: it asks for another name.',
    next: "Correct the certificate's names, such as `dnsNames` of a Certificate of cert-manager.",
  }),
}

export type CertificateProblem = Values<typeof problems>

/** An endpoint that couldn't be asked. Any error but the API server's is thrown on. */
export function notAsked(endpoint: string, error: unknown): CertificateProblem {
  if (!(error instanceof ClusterError)) throw error
  return { kind: 'not-asked', endpoint, failure: error.kind, message: error.message }
}

export const problemCode = ({ kind }: CertificateProblem): Code => problems[kind].code

export const problemText = (problem: CertificateProblem): string => wordsFor(problems, problem)
