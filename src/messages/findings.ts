import type { Finding, PassedOn } from '../check/findings.ts'
import type { FindingEntries } from './entry.ts'

const namespace = 'sidecar-first'
const configuration = 'MutatingWebhookConfiguration zz-sidecar-first'
const image = 'ghcr.io/example/waiter:0.2.0'
const pods = {
  owner: 'Deployment shop/web',
  affected: { some: 2, all: 3 },
  renew: 'kubectl rollout restart -n shop deployment/web',
}
const rollout = { namespace: 'shop', name: 'envoy' }
const wanted = { ...rollout, container: 'envoy', image: 'envoy:2' }
const where = { namespace: 'shop', pod: 'web-0' }
const lacking = { sidecar: 'envoy', why: 'crashed', message: 'exit code 1' } as const
const early = [{ why: 'crashed', sidecars: ['envoy'] }] as const
const stuck = { why: 'hook', container: 'envoy', sidecars: ['envoy'], since: undefined } as const
const would = 'start envoy, before app'

/** What `check` finds. */
export const findings: FindingEntries<Exclude<Finding, { kind: PassedOn }>> = {
  'not-installed': {
    means: 'The cluster has neither webhook configurations nor a configuration of sidecar-first in that namespace.',
    example: { namespace },
  },
  'not-looked-at': {
    means: 'The check could not look, so it says neither that things are in order nor that they are not.',
    example: { obstacle: { why: 'call-failed', message: 'nodes is forbidden' } },
    next: 'Remove the obstacle that the message names; a missing right is in docs/check.md.',
  },
  'not-looked-at-either': {
    means: 'The reason is the same as for an earlier check.',
    example: { check: 'nodes' },
    next: 'See the other one.',
  },
  'configuration-missing': {
    means: 'The ConfigMap is gone. Running replicas go on with what they have read.',
    example: { namespace },
  },
  'configuration-observes': {
    means: 'Nothing is wrong: it is a trial. No pod is changed yet.',
    example: { namespace },
  },
  'configuration-valid': { example: { rules: 2 } },
  'no-webhook-configurations': { means: 'The API server does not know of sidecar-first.' },
  'mutating-missing': { means: 'The API server sends no pod to be changed.' },
  'mutating-missing-refused': {
    means: 'Nothing patches pods, and the validating webhook refuses those that should have been patched.',
  },
  'validating-missing': { means: 'Final pods are not looked at: an order that another webhook undoes goes unnoticed.' },
  'workloads-missing': {
    means: 'The third webhook configuration only warns. Pods are patched and refused all the same.',
  },
  'webhooks-behind': {
    means: 'The configuration has changed and the webhook configurations have not: rules may not take effect.',
    example: {
      configuration,
      differences: [{ kind: 'missing', webhook: 'set-1.pods.sidecar-first.dev' }],
      namespace,
      mode: 'namespace-opt-in',
    },
  },
  'webhooks-of-another-text': {
    means: 'Only comments or formatting differ.',
    example: { configuration, namespace, mode: 'namespace-opt-in' },
  },
  'webhooks-changed': {
    means: 'Somebody edited the webhook configuration, perhaps on purpose.',
    example: {
      configuration,
      difference: { kind: 'trait', webhook: 'pods.sidecar-first.dev', trait: 'timeoutSeconds', is: '10', wanted: '5' },
      namespace,
      mode: 'namespace-opt-in',
    },
  },
  'webhooks-right': { example: { mode: 'namespace-opt-in', enforced: undefined } },
  'deployment-missing': {
    means: 'The webhook configurations are there and nothing answers them.',
    example: { namespace },
  },
  'scaled-to-0': { means: 'Nothing answers the API server.', example: { namespace } },
  'no-replica-ready': { means: 'Nothing answers the API server.', example: { wanted: 2, namespace } },
  'replica-blocked': {
    means: 'A replica does not become ready without help.',
    example: { pod: 'sidecar-first-x', reason: 'ImagePullBackOff', namespace },
  },
  'replica-not-ready': {
    means: 'A replica is not ready yet.',
    example: { pod: 'sidecar-first-x', reason: 'ContainerCreating', namespace },
  },
  'replicas-missing': {
    means: 'Fewer replicas are ready than there should be; the others answer.',
    example: { ready: 1, wanted: 2, namespace },
  },
  'one-replica': { means: 'Whatever restarts that replica stops the webhook.', example: { namespace } },
  'replicas-together': {
    means: 'When that node fails, the webhook fails.',
    example: { ready: 2, node: 'node-1', namespace },
  },
  'replicas-ready': { example: { ready: 2, wanted: 2, places: 2 } },
  'certs-stopped': { means: 'The certificate needs work, and nothing does it.', example: { namespace, why: 'no-pod' } },
  'certs-idle': {
    means: 'The certificate is valid now and will not be renewed.',
    example: { namespace, why: 'no-pod' },
  },
  'replicas-not-asked': {
    means: 'What the replicas serve is not known.',
    example: { message: 'pods/portforward is forbidden' },
    next: 'Grant the right that the message names, or see `sidecar-first certs status`.',
  },
  'certificate-kept': { example: { phase: 'steady' } },
  'certificate-right': {},
  'foreign-not-a-certificate': {
    means:
      'A replica answers with something that cannot be read. The certificate is kept by something else than certs.',
    example: { name: 'sidecar-first-x' },
  },
  'foreign-untrusted': {
    means: 'The API server would not accept what the replica serves.',
    example: { name: 'sidecar-first-x', configuration },
  },
  'foreign-expired': {
    means: 'The API server no longer accepts what the replica serves.',
    example: { name: 'sidecar-first-x', at: '2026-01-01T00:00:00Z' },
  },
  'foreign-name': {
    means: 'The API server would not accept what the replica serves: it asks for another name.',
    example: { name: 'sidecar-first-x', servername: 'sidecar-first.sidecar-first.svc' },
  },
  'policy-in-force': { example: { account: 'sidecar-first-certs', to: 'caBundle' } },
  'policy-missing': {
    means: 'RBAC cannot limit a right to a field; the policy does, and it is missing or does not deny.',
    example: { account: 'sidecar-first-certs', to: 'caBundle', flags: '' },
  },
  'no-policy-needed': {},
  'no-namespace-covered': { means: 'No namespace has opted in.' },
  'trial-observed': { example: { namespace: 'shop' } },
  'trial-unpatched': {
    means: 'A pod was created as a dry run and came back unchanged.',
    example: { namespace: 'shop' },
  },
  'lock-stored': { example: {} },
  'auto-locks': { example: {} },
  'auto-idle': { example: { idle: { kind: 'no-version' } } },
  'lock-dropped': {
    means: 'The configuration locks pods, and this API server is older than 1.35 or has the feature EnvFiles off.',
  },
  'trial-patched': { example: { namespace: 'shop' } },
  'other-version': {
    means: 'This command and the replicas may judge pods differently.',
    example: { theirs: '0.1.0', ours: '0.2.0' },
  },
  'trial-blocked': {
    means: 'A pod was created as a dry run and refused.',
    example: { namespace: 'shop', message: 'failed calling webhook' },
  },
  'trial-impossible': {
    means: 'A pod could not be created for a reason that has nothing to do with sidecar-first.',
    example: { namespace: 'shop', message: 'exceeded quota' },
    next: 'Look at the message; a quota or a policy is usual.',
  },
  'called-after-ours': {
    means: 'Mutating webhooks are called in the order of their names, and ours is not asked again after this one.',
    example: { configuration: 'zzz-injector' },
  },
  'called-after-ours-again': {
    means:
      'Mutating webhooks are called in the order of their names. Ours is called again after it, which is enough for most.',
    example: { configuration: 'zzz-injector' },
  },
  'guards-our-pods': {
    means: 'Two outages can hold each other: that webhook is down, and sidecar-first cannot start.',
    example: { webhook: 'x.example.com', configuration: 'x', namespace },
  },
  'others-harmless': { example: { count: 4 } },
  'kubelets-without-image-volumes': {
    means: 'The delivery image-volume does not work there: pods would not start.',
    example: { nodes: ['node-1'], least: '1.35' },
  },
  'runtimes-without-image-volumes': {
    means: 'The delivery image-volume does not work there: pods would not start.',
    example: { nodes: ['node-1'], runtime: 'containerd', least: '2.1' },
  },
  'runtimes-unknown': {
    means: 'Whether the delivery image-volume works there is not known.',
    example: { nodes: ['node-1'] },
  },
  'kubelets-without-native': {
    means: 'The gate native does not work there: pods would never start.',
    example: { nodes: ['node-1'] },
  },
  'kubelets-older': {
    means: 'The configuration promises a newer Kubernetes than the node has.',
    example: { nodes: ['node-1'], version: '1.36' },
  },
  'nodes-fit': { example: { count: 3, versions: ['1.36'], delivery: 'init-container' } },
  'waiter-not-needed': {},
  'waiter-not-tried': {},
  'waiter-pulled': { example: { image, node: 'node-1' } },
  'waiter-present': { example: { image, node: 'node-1' } },
  'waiter-not-scheduled': {
    means: 'A short-lived pod should have pulled the image, and was placed nowhere.',
    example: { image, why: 'insufficient cpu', namespace },
  },
  'waiter-not-run': {
    means: 'Pods that get the waiter by an init container or an image volume will not start there.',
    example: { image, node: 'node-1', why: 'ErrImagePull' },
  },
  'waiter-ended': {
    means: "The image is not the waiter of this version, or does not run on the node's processor.",
    example: { image, node: 'node-1', exitCode: 1, why: 'exec format error' },
  },
  'waiter-slow': {
    means: 'The pull had not ended when the time was over.',
    example: { image, node: 'node-1', seconds: 30, why: 'ContainerCreating' },
  },
  'pods-counted': { example: { right: 12, left: 40 } },
  'pods-uncovered': {
    means: 'Pods ask for an order, and the API server does not send them.',
    example: { ...pods, due: 'envoy, before app', uncovered: { why: 'label', label: undefined, namespace: 'shop' } },
  },
  'pods-missed': {
    means: 'Pods run without the order that they should have.',
    example: { ...pods, due: 'envoy, before app', cause: 'before-webhook' },
  },
  'pods-would-be-refused': {
    means: 'They run, and their successors will not be created.',
    example: { ...pods, inFront: [], why: 'sidecar-first.dev/gate: "nativ" is not one of hook, native, auto' },
  },
  'pods-older': { example: { count: 3, versions: ['0.1.0'] } },
  'pods-outdated': {
    means: 'Their order is held, and another version or configuration would write them differently.',
    example: pods,
  },
  'pods-unlocked': {
    means:
      'They were locked when they were created, and run or wait without it: their order is held by the hook alone.',
    example: { ...pods, names: ['app'] },
  },
  unlocked: {
    means: 'It was locked when it was created, and runs or waits without it: its order is held by the hook alone.',
    example: { names: ['app'], renew: 'kubectl rollout restart -n shop deployment/web' },
  },
  'pods-lacking': {
    means: 'Apps run while a sidecar of theirs does not, whoever created the pods.',
    example: { ...pods, ...where, lacking },
  },
  'pods-stuck': {
    means: 'Apps have not started, because something before them does not end or get ready.',
    example: { ...pods, ...where, stuck, seconds: 240 },
  },
  'pods-too-early': {
    means: 'Apps began before their sidecars were ready. They may work by now; what they did first may have failed.',
    example: { ...pods, ...where, early },
  },
  'namespace-missing': { means: 'No namespace has that name.', example: { namespace: 'shop' }, next: 'Name another.' },
  'rollouts-unknown': {},
  'no-rollouts': {},
  'rollout-not-taken-up': {
    means: 'A SidecarRollout has no status: the controller is not installed, or does not run.',
    example: rollout,
  },
  'rollout-failed': {
    means: 'An upgrade in place went wrong and ended, or cannot go on.',
    example: { ...rollout, phase: 'Stopped', message: 'pod web-0 does not become ready' },
  },
  'rollout-under-way': { example: { ...rollout, phase: 'Progressing', done: 2, desired: 5 } },
  'rollout-undone': {
    means:
      'Pods of a completed rollout have another image, for example because they were created again from an old template.',
    example: { ...wanted, right: 4, desired: 5, others: 1, one: { name: 'web-0', image: 'envoy:1' } },
  },
  'rollout-template-behind': {
    means: 'The next pod of that template starts with the old image.',
    example: { ...wanted, template: { kind: 'Deployment', namespace: 'shop', name: 'web', image: 'envoy:1' } },
  },
  'exporter-counts': {},
  'exporter-idle': {
    means: 'The exporter of starts does not run; pods that start meanwhile may never be counted.',
    example: { namespace, why: 'no-pod' },
  },
  'exporter-twice': {
    means: 'Each replica counts every start by itself, and sums are too high.',
    example: { namespace, wanted: 2 },
  },
  'exporter-differs': {
    means: 'The exporter of starts is of another version than the replicas, and may judge pods differently.',
    example: { image: 'sidecar-first:0.1.0', ours: 'sidecar-first:0.2.0' },
  },
  'exporter-forbidden': {
    means: 'Without pods nothing is counted; without events no time is known to the millisecond.',
    example: { names: ['watch events'] },
  },
  'rollout-right': { example: { ...wanted, pods: 5 } },
  'subject-missing': {
    means: 'No such object in that namespace.',
    example: { subject: 'Pod', name: 'web-0', namespace: 'shop' },
  },
  'subject-ending': { means: 'What is being deleted is not judged.', example: { subject: 'Pod' } },
  'webhooks-unreadable': {
    means: 'Whether the API server sends the pod is not known.',
    example: { message: 'forbidden' },
    next: 'Grant the right that the message names.',
  },
  'default-configuration': {
    means: "Without the cluster's own configuration, its rules are missing here.",
    example: { live: 'missing or may not be read' },
    next: 'Grant the right to read the ConfigMap, or correct it.',
  },
  asks: { example: { sidecars: 'envoy' } },
  'patched-already': { example: { status: '{"version":"0.2.0"}' } },
  ruled: { example: { rule: 'mesh', container: 'envoy' } },
  'left-alone': { example: { why: 'a Windows pod' } },
  'opted-out': { means: 'The pod names sidecars and opts out, and opting out wins.' },
  'in-order': { example: { due: 'envoy, before app' } },
  should: {
    means: 'What the webhook would do to such a pod.',
    example: { would },
    next: 'Nothing, if the pod is about to be created.',
  },
  'should-no-webhooks': {
    means: 'The pod asks for an order, and nothing gives it.',
    example: { would, refusing: false, renew: undefined },
  },
  'should-uncovered': {
    means: 'The pod asks for an order, and the API server does not send it.',
    example: { would, uncovered: { why: 'excluded', namespace: 'kube-system' }, renew: undefined },
  },
  refused: {
    means: 'The next pod from this manifest will not be created.',
    example: { why: 'sidecar-first.dev/gate: "nativ" is not one of hook, native, auto', exists: true },
  },
  observed: { example: { would } },
  'template-right': { example: { would } },
  older: { example: { version: '0.1.0' } },
  outdated: {
    means: 'The order is held, and another version or configuration would write the pod differently.',
    example: { renew: pods.renew },
  },
  missed: {
    means: 'The pod runs without the order that it should have.',
    example: { would, because: { why: 'late' }, renew: pods.renew },
  },
  held: {},
  'too-early': {
    means: 'The app began before its sidecars were ready. It may work by now; what it did first may have failed.',
    example: { ...where, early },
  },
  stuck: {
    means: 'The app has not started, because something before it does not end or get ready.',
    example: { ...where, stuck, seconds: 240 },
  },
  'start-unknown': { example: { unsure: [{ why: 'events', sidecars: ['envoy'] }] } },
  lacking: {
    means: 'The app runs while a sidecar of its does not, whoever created the pod.',
    example: { ...where, lacking },
  },
  'unseen-warnings': {},
}
