import { type CertificateProblem, problemCode, problemText } from '../../../certs/problems.ts'
import { define, passOn } from '../../admission/words/define.ts'
import { objectNames, selectorOf } from '../../kubernetes/names.ts'
import { reinstall } from './webhooks.ts'

/** Why no pod of a Deployment does its work. */
export type Idle =
  | { readonly why: 'no-pod' }
  | { readonly why: 'not-ready'; readonly pod: string; readonly reason: string }

interface In {
  readonly namespace: string
}
/** Who mends a certificate's problem, or where to look. */
const hints = {
  repaired: (namespace: string) =>
    `certs repairs it within a minute: kubectl logs -n ${namespace} deploy/${objectNames.certs}`,
  stays: () => 'certs would repair it, but is not running',
  foreign: () => 'certs does not keep it: see what does, such as cert-manager',
  replicas: () => 'see replicas',
  webhooks: () => 'see webhooks',
}

interface Certified extends In {
  readonly problem: CertificateProblem
  readonly hint: keyof typeof hints
}

function idleText(component: 'certs' | 'starts') {
  return (idle: In & Idle) =>
    idle.why === 'no-pod'
      ? `deployment/${objectNames[component]} has no pod`
      : `${idle.pod} is not ready: ${idle.reason}`
}

function idleNext(component: 'certs' | 'starts') {
  return ({ why, namespace }: In & Idle) =>
    why === 'no-pod'
      ? `kubectl scale -n ${namespace} deployment/${objectNames[component]} --replicas=1`
      : `kubectl describe pod -n ${namespace} -l ${selectorOf(component)}`
}

function notReady({ pod, reason }: { readonly pod: string; readonly reason: string }): string {
  return `${pod} is not ready: ${reason}`
}
function scaleUp({ namespace }: In): string {
  return `kubectl scale -n ${namespace} deployment/${objectNames.deployment} --replicas=2`
}
function describeReplicas({ namespace }: In): string {
  return `kubectl describe pod -n ${namespace} -l ${selectorOf('serve')}`
}
const reinstallStarts = 'sidecar-first install --apply --starts, with your flags'

const namespace = 'sidecar-first'
const [ok, warning, problem] = [define('ok'), define('warning'), define('problem')]

/** Of what runs: replicas, the certificate that they serve, and the exporter of starts. */
export const replicaFindings = {
  // replicas
  'deployment-missing': problem('SF516', {
    example: { namespace },
    text: ({ namespace }) => `there is no Deployment ${namespace}/${objectNames.deployment}`,
    means: 'The webhook configurations are there and nothing answers them.',
    next: () => reinstall,
  }),
  'scaled-to-0': problem('SF517', {
    example: { namespace },
    text: 'the Deployment is scaled to 0',
    means: 'Nothing answers the API server.',
    next: scaleUp,
  }),
  'no-replica-ready': problem('SF518', {
    example: { wanted: 2, namespace },
    text: ({ wanted }) => `no replica of ${wanted} is ready`,
    means: 'Nothing answers the API server.',
    next: describeReplicas,
  }),
  'replica-blocked': problem('SF519', {
    example: { pod: 'sidecar-first-x', reason: 'ImagePullBackOff', namespace },
    text: notReady,
    means: 'A replica does not become ready without help.',
    next: describeReplicas,
  }),
  'replica-not-ready': warning('SF520', {
    example: { pod: 'sidecar-first-x', reason: 'ContainerCreating', namespace },
    text: notReady,
    means: 'A replica is not ready yet.',
    next: describeReplicas,
  }),
  'replicas-missing': warning('SF521', {
    example: { ready: 1, wanted: 2, namespace },
    text: ({ ready, wanted }) => `${ready} of ${wanted} replicas are ready`,
    means: 'Fewer replicas are ready than there should be; the others answer.',
    next: describeReplicas,
  }),
  'one-replica': warning('SF522', {
    example: { namespace },
    text: 'only one replica: while it restarts, no pod is patched',
    means: 'Whatever restarts that replica stops the webhook.',
    next: scaleUp,
  }),
  'replicas-together': warning('SF523', {
    example: { ready: 2, node: 'node-1', namespace },
    text: ({ ready, node }) => `all ${ready} ready replicas are on the node ${node}`,
    means: 'When that node fails, the webhook fails.',
    next: ({ namespace }) => `kubectl rollout restart -n ${namespace} deployment/${objectNames.deployment}`,
  }),
  'replicas-ready': ok('SF524', {
    example: { ready: 2, wanted: 2, places: 2 },
    text: ({ ready, wanted, places }) =>
      `${ready} of ${wanted} ready, on ${places === 1 ? 'one node' : `${places} nodes`}`,
  }),

  // certificate
  'certificate-problem': passOn(
    'problem',
    ({ problem }: Certified) => problemCode(problem),
    ({ problem }: Certified) => problemText(problem),
    ({ hint, namespace }: Certified) => hints[hint](namespace),
  ),
  'certs-stopped': problem<In & Idle>('SF725', {
    example: { namespace, why: 'no-pod' },
    text: idleText('certs'),
    means: 'The certificate needs work, and nothing does it.',
    next: idleNext('certs'),
  }),
  'certs-idle': warning<In & Idle>('SF726', {
    example: { namespace, why: 'no-pod' },
    text: (data) => `${idleText('certs')(data)}: nothing renews the certificate`,
    means: 'The certificate is valid now and will not be renewed.',
    next: idleNext('certs'),
  }),
  'replicas-not-asked': warning('SF727', {
    example: { message: 'pods/portforward is forbidden' },
    text: ({ message }) => `no replica was asked: ${message}`,
    means: 'What the replicas serve is not known.',
    next: 'Grant the right that the message names, or see `sidecar-first certs status`.',
  }),
  'certificate-kept': ok('SF728', {
    example: { phase: 'steady' },
    text: ({ phase }) => `every ready replica serves what the API server trusts (phase ${phase})`,
  }),

  // counted starts
  'exporter-counts': ok('SF587', { text: `${objectNames.starts} counts how pods start` }),
  'exporter-idle': warning<In & Idle>('SF588', {
    example: { namespace, why: 'no-pod' },
    text: (data) => `${idleText('starts')(data)}: no starts are counted`,
    means: 'The exporter of starts does not run; pods that start meanwhile may never be counted.',
    next: idleNext('starts'),
  }),
  'exporter-twice': warning('SF589', {
    example: { namespace, wanted: 2 },
    text: ({ wanted }) => `${wanted} replicas of ${objectNames.starts} count each start as often`,
    means: 'Each replica counts every start by itself, and sums are too high.',
    next: ({ namespace }) => `kubectl scale -n ${namespace} deployment/${objectNames.starts} --replicas=1`,
  }),
  'exporter-differs': warning('SF590', {
    example: { image: 'sidecar-first:0.1.0', ours: 'sidecar-first:0.2.0' },
    text: ({ image, ours }) => `${objectNames.starts} runs ${image}, the replicas ${ours}`,
    means: 'The exporter of starts is of another version than the replicas, and may judge pods differently.',
    next: () => reinstallStarts,
  }),
  'exporter-forbidden': warning('SF591', {
    example: { names: ['watch events'] },
    text: ({ names }) => `the account of ${objectNames.starts} may not ${names.join(', ')}`,
    means: 'Without pods nothing is counted; without events no time is known to the millisecond.',
    next: () => reinstallStarts,
  }),
}
