import { define } from '../admission/words/define.ts'

const again = 'Call it again; if it stays, `kubectl version` and `kubectl get --raw /readyz` say how the API server is.'
const failure = define('refusal')

/** Why a command ends without what it was asked for, each kind once. An entry's text is an example: what exactly is told where it happens. */
export const failures = {
  'unknown-command': failure('SF001', {
    text: 'unknown command "prevew"; did you mean preview?',
    means: 'The first word after `sidecar-first` is not a command.',
    next: '`sidecar-first --help` lists them.',
  }),
  'unknown-flag': failure('SF002', {
    text: "Unknown option '--filname'; did you mean --filename?",
    means: 'The command has no such flag.',
    next: 'Its `--help` lists them.',
  }),
  'flag-value': failure('SF003', {
    text: '--output takes text or json, not "xml"',
    means: 'A flag has a value that it does not take, or none.',
    next: 'Use a value that the message names.',
  }),
  'flags-together': failure('SF004', {
    text: '--timeout goes with --wait',
    means: 'A flag is missing that another one or the action needs, or two exclude each other.',
    next: 'Add or remove the flag that the message names.',
  }),
  'wrong-arguments': failure('SF005', {
    text: 'check takes pod/NAME or deploy/NAME, not "web"',
    means: 'What the command is about is missing, is given in another form, or there is too much of it.',
    next: 'Its `--help` shows the form.',
  }),
  unreadable: failure('SF006', {
    text: 'cannot read pods.yaml: no such file',
    means: 'A file that was named cannot be read, or is not text.',
    next: 'Correct its name, its permissions or its encoding (UTF-8).',
  }),
  'no-manifest': failure('SF007', {
    text: 'there is no manifest in values.yaml',
    means: 'Nothing that was named holds a Kubernetes object.',
    next: 'Name files with manifests, or pipe them in. Helm templates are rendered first: `helm template`.',
  }),
  'not-there': failure('SF008', {
    text: 'there is no pod web-1 in namespace shop; name it with -n',
    means: 'An object that was named is not in the cluster, or was deleted meanwhile.',
    next: 'Check its name, `--namespace` and `--context`.',
  }),
  'would-harm': failure('SF009', {
    text: 'sidecar-first 0.3.0 is installed, and this is 0.2.0; use the newer one, or go back with --force',
    means: 'What was asked for would undo something that hardly anybody wants undone. Nothing was changed.',
    next: 'Do what the message says; `--force`, where it names it, does it all the same.',
  }),
  'not-in-time': failure('SF010', {
    text: 'deployment/sidecar-first: 1 of 2 ready',
    means: 'What was waited for did not happen within `--timeout`, or the wait was interrupted.',
    next: 'Call it again, which goes on from there; `sidecar-first check` says what is in the way.',
  }),
  'unfit-cluster': failure('SF011', {
    text: 'the cluster is v1.29.3; sidecar-first needs Kubernetes 1.30 or newer',
    means: 'The cluster is too old, or lacks a kind that a part of the installation needs.',
    next: 'Upgrade the cluster, install what brings the kind, or leave that part out.',
  }),
  'bad-certificate': failure('SF012', {
    text: "--cert tls.crt can't be read: ENOENT",
    means: 'A certificate, key or CA cannot be read, or cannot be served or sign.',
    next: 'Correct the file; `sidecar-first certs issue` makes a set.',
  }),
  'cannot-listen': failure('SF013', {
    text: 'port 8443 of 0.0.0.0 is in use; choose another with --port, or 0 for any free one',
    means: 'The system does not let the server listen at this address.',
    next: 'Choose another port or address.',
  }),
  kubeconfig: failure('SF014', {
    text: 'there is no kubeconfig; set KUBECONFIG to its path, or name a context',
    means: 'The kubeconfig is missing, cannot be read, or has no such context.',
    next: '`kubectl config get-contexts` lists the contexts.',
  }),
  'call-conflict': failure('SF015', {
    text: 'deployment/sidecar-first: 409 conflict with "helm"',
    means: 'Somebody else has written the same fields.',
    next: 'Give them the same values, or take them with `--force` where the command has it.',
  }),
  'call-forbidden': failure('SF016', {
    text: '403 pods is forbidden: User "jane" cannot list resource "pods"',
    means: 'The kubeconfig has no right to do that.',
    next: 'Use another context, or ask for the right that the message names.',
  }),
  'call-missing': failure('SF017', {
    text: '404 namespaces "shop" not found',
    means: 'Something that the call needs is not in the cluster.',
    next: 'Create or install what the message names.',
  }),
  'call-invalid': failure('SF018', {
    text: '422 Deployment "web" is invalid',
    means: 'The API server, a policy or a webhook refused the object.',
    next: 'Correct what the message names.',
  }),
  'call-timeout': failure('SF019', {
    text: 'the API server did not answer in time',
    means: 'The API server, or a connection through it, did not answer.',
    next: again,
  }),
  'call-throttled': failure('SF020', {
    text: '429 too many requests',
    means: 'The API server is busy, or a disruption budget does not allow it now.',
    next: 'Call it again later.',
  }),
  'call-server': failure('SF021', {
    text: '500 etcdserver: request timed out',
    means: 'The API server failed.',
    next: again,
  }),
  'call-network': failure('SF022', {
    text: "the API server can't be reached: connect ECONNREFUSED 127.0.0.1:6443",
    means: 'There is no connection to the API server.',
    next: 'Check the context of the kubeconfig and the network.',
  }),
  'call-other': failure('SF023', {
    text: 'the API server answered 418',
    means: 'The answer is none that is expected.',
    next: again,
  }),
  'old-node': failure('SF024', {
    text: 'needs Node.js 22.19 or newer; this is 20.20.2',
    means: 'The program is run by a Node.js that is too old.',
    next: 'Install a newer one. The images bring their own.',
  }),
  declined: failure('SF025', {
    text: 'nothing was removed',
    means: 'The question whether to go on was not answered with yes.',
    next: 'Nothing; or call it again and answer `y`, or with `--yes`.',
  }),
}

export type Failure = keyof typeof failures
