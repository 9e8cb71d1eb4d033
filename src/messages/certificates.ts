import type { Problem } from '../../certs/problems.ts'
import type { Entries } from './entry.ts'

const soon = 'certs repairs it within a minute. If it stays, see its log: `kubectl logs deploy/sidecar-first-certs`.'
const pod = '10.0.0.1:8443'

/** What is wrong with the certificates of a cluster. */
export const certificates: Entries<Problem> = {
  'secret-missing': {
    means: 'Nothing can be served without the Secret that certs writes.',
    next: 'Run `sidecar-first check`; it says whether certs runs.',
  },
  'secret-damaged': {
    means: 'Something in the Secret cannot be used.',
    example: { slot: 'leaf', problem: { fault: 'key-mismatch', message: "the private key is not the certificate's" } },
    next: soon,
  },
  'leaf-missing': { means: 'The Secret has no certificate that a server could use.', next: soon },
  expired: {
    means: 'API servers no longer accept it: pods are refused or go unpatched.',
    example: { name: 'leaf', for: 3_600_000 },
    next: soon,
  },
  overdue: {
    means: 'It should have been renewed by now and still works.',
    example: { name: 'leaf', remaining: 86_400_000 },
    next: 'See whether certs runs: `sidecar-first check`.',
  },
  'trust-differs': {
    means: 'The API server trusts something else than it should.',
    example: { configuration: 'MutatingWebhookConfiguration/zz-sidecar-first' },
    next: soon,
  },
  'configurations-missing': {
    means: 'No webhook configuration is there to write the caBundle into.',
    next: '`sidecar-first install --apply`, with the flags of the first time.',
  },
  'endpoints-missing': {
    means: 'No replica is ready to answer the API server.',
    next: 'See what `sidecar-first check` says of the replicas.',
  },
  'no-handshake': {
    means: 'A replica is there and does not speak TLS.',
    example: { endpoint: pod },
    next: 'See its log, and whether a network policy keeps certs out.',
  },
  'not-asked': {
    means: 'The pod could not be reached through the API server.',
    example: { endpoint: pod, failure: 'forbidden', message: 'pods/portforward is forbidden' },
    next: 'Look at the message; it is usually a right that is missing.',
  },
  'not-a-certificate': {
    means: 'A replica answers with something that cannot be read.',
    example: { endpoint: pod },
    next: 'See which pod that is, and its log.',
  },
  'served-untrusted': {
    means: 'A replica serves a certificate that an API server would not accept.',
    example: { endpoint: pod },
    next: soon,
  },
  'served-expired': {
    means: 'A replica serves an old certificate: it has not taken up the new one.',
    example: { endpoint: pod, for: 3_600_000 },
    next: soon,
  },
}
