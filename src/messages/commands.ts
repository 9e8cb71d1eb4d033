import type { Failure } from '../terminal/failures.ts'
import type { Notice } from '../webhooks/notices.ts'
import type { Entries } from './entry.ts'

/** An entry's text is an example: what exactly a command says stands where it happens. */
export type FailureEntry = { readonly text: string; readonly means: string; readonly next: string }

const again = 'Call it again; if it stays, `kubectl version` and `kubectl get --raw /readyz` say how the API server is.'

/** Why a command ends with the exit code 1 or 2. */
export const commands: { readonly [F in Failure]: FailureEntry } = {
  'unknown-command': {
    text: 'unknown command "prevew"; did you mean preview?',
    means: 'The first word after `sidecar-first` is not a command.',
    next: '`sidecar-first --help` lists them.',
  },
  'unknown-flag': {
    text: "Unknown option '--filname'; did you mean --filename?",
    means: 'The command has no such flag.',
    next: 'Its `--help` lists them.',
  },
  'flag-value': {
    text: '--output takes text or json, not "xml"',
    means: 'A flag has a value that it does not take, or none.',
    next: 'Use a value that the message names.',
  },
  'flags-together': {
    text: '--timeout goes with --wait',
    means: 'A flag is missing that another one or the action needs, or two exclude each other.',
    next: 'Add or remove the flag that the message names.',
  },
  'wrong-arguments': {
    text: 'check takes pod/NAME or deploy/NAME, not "web"',
    means: 'What the command is about is missing, is given in another form, or there is too much of it.',
    next: 'Its `--help` shows the form.',
  },
  unreadable: {
    text: 'cannot read pods.yaml: no such file',
    means: 'A file that was named cannot be read, or is not text.',
    next: 'Correct its name, its permissions or its encoding (UTF-8).',
  },
  'no-manifest': {
    text: 'there is no manifest in values.yaml',
    means: 'Nothing that was named holds a Kubernetes object.',
    next: 'Name files with manifests, or pipe them in. Helm templates are rendered first: `helm template`.',
  },
  'not-there': {
    text: 'there is no pod web-1 in namespace shop; name it with -n',
    means: 'An object that was named is not in the cluster, or was deleted meanwhile.',
    next: 'Check its name, `--namespace` and `--context`.',
  },
  'would-harm': {
    text: 'sidecar-first 0.3.0 is installed, and this is 0.2.0; use the newer one, or go back with --force',
    means: 'What was asked for would undo something that hardly anybody wants undone. Nothing was changed.',
    next: 'Do what the message says; `--force`, where it names it, does it all the same.',
  },
  'not-in-time': {
    text: 'deployment/sidecar-first: 1 of 2 ready',
    means: 'What was waited for did not happen within `--timeout`, or the wait was interrupted.',
    next: 'Call it again, which goes on from there; `sidecar-first check` says what is in the way.',
  },
  'unfit-cluster': {
    text: 'the cluster is v1.29.3; sidecar-first needs Kubernetes 1.30 or newer',
    means: 'The cluster is too old, or lacks a kind that a part of the installation needs.',
    next: 'Upgrade the cluster, install what brings the kind, or leave that part out.',
  },
  'bad-certificate': {
    text: "--cert tls.crt can't be read: ENOENT",
    means: 'A certificate, key or CA cannot be read, or cannot be served or sign.',
    next: 'Correct the file; `sidecar-first certs issue` makes a set.',
  },
  'cannot-listen': {
    text: 'port 8443 of 0.0.0.0 is in use; choose another with --port, or 0 for any free one',
    means: 'The system does not let the server listen at this address.',
    next: 'Choose another port or address.',
  },
  kubeconfig: {
    text: 'there is no kubeconfig; set KUBECONFIG to its path, or name a context',
    means: 'The kubeconfig is missing, cannot be read, or has no such context.',
    next: '`kubectl config get-contexts` lists the contexts.',
  },
  'call-conflict': {
    text: 'deployment/sidecar-first: 409 conflict with "helm"',
    means: 'Somebody else has written the same fields.',
    next: 'Give them the same values, or take them with `--force` where the command has it.',
  },
  'call-forbidden': {
    text: '403 pods is forbidden: User "jane" cannot list resource "pods"',
    means: 'The kubeconfig has no right to do that.',
    next: 'Use another context, or ask for the right that the message names.',
  },
  'call-missing': {
    text: '404 namespaces "shop" not found',
    means: 'Something that the call needs is not in the cluster.',
    next: 'Create or install what the message names.',
  },
  'call-invalid': {
    text: '422 Deployment "web" is invalid',
    means: 'The API server, a policy or a webhook refused the object.',
    next: 'Correct what the message names.',
  },
  'call-timeout': {
    text: 'the API server did not answer in time',
    means: 'The API server, or a connection through it, did not answer.',
    next: again,
  },
  'call-throttled': {
    text: '429 too many requests',
    means: 'The API server is busy, or a disruption budget does not allow it now.',
    next: 'Call it again later.',
  },
  'call-server': {
    text: '500 etcdserver: request timed out',
    means: 'The API server failed.',
    next: again,
  },
  'call-network': {
    text: "the API server can't be reached: connect ECONNREFUSED 127.0.0.1:6443",
    means: 'There is no connection to the API server.',
    next: 'Check the context of the kubeconfig and the network.',
  },
  'call-other': {
    text: 'the API server answered 418',
    means: 'The answer is none that is expected.',
    next: again,
  },
  'old-node': {
    text: 'needs Node.js 22.19 or newer; this is 20.20.2',
    means: 'The program is run by a Node.js that is too old.',
    next: 'Install a newer one. The images bring their own.',
  },
  declined: {
    text: 'nothing was removed',
    means: 'The question whether to go on was not answered with yes.',
    next: 'Nothing; or call it again and answer `y`, or with `--yes`.',
  },
}

/** What is said of webhook configurations. */
export const notices: Entries<Notice> = {
  'rules-do-not-fit': {
    means:
      'The API server would have to look at more than it allows an expression, so it sends every pod, which costs time.',
    example: { count: 300, selector: undefined },
    next: 'Use fewer rules, or container names instead of globs.',
  },
  'too-many-selectors': {
    means:
      'Each distinct namespaceSelector is a webhook of its own, and together they are larger than an object may be.',
    example: { count: 900, bytes: 1_600_000 },
    next: 'Let rules share selectors.',
  },
}
