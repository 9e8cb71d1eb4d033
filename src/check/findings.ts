import { type CertificateProblem, problemCode, problemText } from '../../certs/problems.ts'
import { rolloutCodes } from '../../rollouts/codes.ts'
import { lockSince } from '../admission/plan/lock.ts'
import type { FailurePolicy } from '../admission/words/choices.ts'
import { keys } from '../admission/words/keys.ts'
import { codeOf, textOf, type Warning } from '../admission/words/messages.ts'
import type { Code, Values } from '../admission/words/values.ts'
import { faultCode, type Remark, remarkWords } from '../configuration/faults.ts'
import {
  configurationFile,
  mutatingReference,
  objectKeys,
  objectNames,
  selectorOf,
  validatingReference,
  workloadsReference,
} from '../kubernetes/names.ts'
import type { Early, Lacking, Stuck, Unknown } from '../outcome/outcome.ts'
import {
  earlyText,
  lackingCode,
  lackingNext,
  lackingText,
  outcomeCodes,
  stuckNext,
  stuckText,
  unknownText,
} from '../outcome/words.ts'
import type { InstallMode } from '../webhooks/configurations.ts'

/** `warning`: it works, but somebody should know about it. */
export type Level = 'ok' | 'warning' | 'problem'

/** A finding as it is shown. */
export interface Told {
  readonly code: Code
  readonly level: Level
  /** One sentence, without a full stop. */
  readonly text: string
  /** What to do: a sentence, or a command to paste. */
  readonly next?: string
  /** Where in the object that was asked about: `spec.template.metadata.annotations[sidecar-first.dev/gate]`. */
  readonly path?: string
}

/** What keeps a check from looking. */
export type Obstacle =
  | { readonly why: 'no-configuration' | 'no-webhooks' | 'observe' | 'interrupted' }
  | { readonly why: 'pod-removed'; readonly pod: string }
  | { readonly why: 'call-failed'; readonly message: string }

/** Why the API server calls none of our webhooks for the pods of a namespace. */
export type Uncovered = { readonly namespace: string } & (
  | { readonly why: 'excluded' | 'not-selected' }
  /** The value of its label, if it has one. */
  | { readonly why: 'label'; readonly label: string | undefined }
)

/** Why the webhook has patched a running pod otherwise than it would today, or not at all. */
export type MissedBecause =
  | { readonly why: 'altered' | 'outage-or-late' | 'late' }
  | { readonly why: 'before-webhook'; readonly created: string; readonly since: string }

/** Why no pod of a Deployment does its work. */
export type Idle =
  | { readonly why: 'no-pod' }
  | { readonly why: 'not-ready'; readonly pod: string; readonly reason: string }

/** How a webhook configuration differs from what it should be. */
export type Difference =
  | { readonly kind: 'missing' | 'stray'; readonly webhook: string }
  | {
      readonly kind: 'trait'
      readonly webhook: string
      readonly trait: string
      readonly is?: string
      readonly wanted?: string
    }

interface Template {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly image: string
}

/** What findings are about. */
interface Data {
  readonly account: string
  readonly affected: { readonly some: number; readonly all: number } | undefined
  readonly at: string
  readonly because: MissedBecause
  readonly cause: keyof typeof manyMissed
  readonly check: string
  readonly configuration: string
  readonly container: string
  readonly count: number
  readonly delivery: string
  readonly desired: number
  readonly difference: Difference
  readonly differences: readonly Difference[]
  readonly done: number
  /** What a pod should start, and in which order: `envoy, before app`. */
  readonly due: string
  readonly early: readonly Early[]
  /** What an outage means for enforced rules, if it differs. */
  readonly enforced: FailurePolicy | undefined
  readonly exists: boolean
  readonly exitCode: number
  readonly flags: string
  /** Entries of `enforced.inFront`, as YAML. */
  readonly inFront: readonly string[]
  readonly image: string
  readonly lacking: Lacking
  readonly least: string
  readonly left: number
  readonly live: 'invalid' | 'missing or may not be read'
  readonly message: string
  readonly mode: InstallMode
  readonly names: readonly string[]
  readonly name: string
  readonly namespace: string
  readonly node: string
  readonly nodes: readonly string[]
  readonly obstacle: Obstacle
  /** Another pod, and its image. */
  readonly one: { readonly name: string; readonly image: string }
  readonly others: number
  readonly ours: string
  /** `Deployment shop/web`. */
  readonly owner: string
  readonly phase: string
  readonly places: number
  readonly pod: string
  readonly pods: number
  readonly problem: CertificateProblem
  readonly ready: number
  readonly reason: string
  readonly remark: Remark
  /** How to create pods again. */
  readonly renew: string
  readonly right: number
  /** Whether the validating webhook refuses what the mutating one would have patched. */
  readonly refusing: boolean
  readonly rule: string
  readonly rules: number
  readonly runtime: string
  readonly seconds: number
  readonly servername: string
  readonly sidecars: string
  readonly status: string
  readonly stuck: Stuck
  /** The kind of the object that was asked about. */
  readonly subject: string
  readonly template: Template
  readonly theirs: string
  readonly to: string
  readonly uncovered: Uncovered
  readonly unsure: readonly Unknown[]
  readonly version: string
  readonly versions: readonly string[]
  readonly wanted: number
  readonly warning: Warning
  readonly webhook: string
  readonly why: string
  /** What the webhook would do to a pod: `start envoy, before app`. */
  readonly would: string
}
type Of<K extends keyof Data> = Pick<Data, K>
type In = Of<'namespace'>
type Where = Of<'namespace' | 'pod'>
type Pods = Of<'owner' | 'affected' | 'renew'>
type Rollout = Of<'namespace' | 'name'>
type Wanted = Of<'namespace' | 'name' | 'container' | 'image'>
/** Why `lock: auto` locks no pod. */
export type AutoIdle =
  | { readonly kind: 'default'; readonly lock: string }
  | { readonly kind: 'no-version' }
  | { readonly kind: 'old-version'; readonly version: string }
  | { readonly kind: 'old-webhooks' }
  | { readonly kind: 'dropped' }

function whyIdle(idle: AutoIdle): string {
  switch (idle.kind) {
    case 'default':
      return `the configuration says lock: ${idle.lock}`
    case 'no-version':
      return 'the configuration has no kubernetesVersion'
    case 'old-version':
      return `kubernetesVersion is ${idle.version}, and the lock needs ${lockSince.major}.${lockSince.minor}`
    case 'old-webhooks':
      return 'the mutating webhook configuration is missing, or that of 0.1'
    case 'dropped':
      return 'the API server drops variables that come from files (the feature EnvFiles is off)'
    default:
      return idle satisfies never
  }
}

/** A template has no pods to create again. */
type MaybeRenewed = { readonly renew: string | undefined }

interface Words<D> {
  /** Its own, or that of what it passes on. */
  readonly code: Code | ((data: D) => Code)
  readonly level: Level
  readonly text: (data: D) => string
  readonly next?: (data: D) => string
}
const kind =
  (level: Level) =>
  <D, N = unknown>(
    code: Words<D & N>['code'],
    text: (data: D) => string,
    next?: (data: N) => string,
  ): Words<D & N> => ({
    code,
    level,
    text,
    ...(next && { next }),
  })
const ofRemark = ({ remark }: Of<'remark'>) => faultCode(remark.fault)
const ofCertificate = ({ problem }: Of<'problem'>) => problemCode(problem)
const [ok, warning, problem] = [kind('ok'), kind('warning'), kind('problem')]

/** Every finding of `check`, each kind once: its level, its words, and what to do. */
const findings = {
  'not-installed': problem(
    'SF501',
    ({ namespace }: In) =>
      `it is not installed: there is no webhook configuration, and no configuration in namespace ${namespace}`,
    () => 'sidecar-first install --apply',
  ),
  'not-looked-at': warning('SF502', ({ obstacle }: Of<'obstacle'>) => `not looked at: ${obstacleText(obstacle)}`),
  'not-looked-at-either': warning(
    'SF503',
    ({ check }: Of<'check'>) => `not looked at, for the same reason as ${check}`,
  ),

  // configuration
  'configuration-missing': problem(
    'SF504',
    ({ namespace }: In) =>
      `ConfigMap ${namespace}/${objectNames.configMap} with ${configurationFile} is missing: replicas can't start`,
    () => 'install sidecar-first again',
  ),
  'configuration-invalid': problem(
    ofRemark,
    ({ remark }: Of<'remark'>) =>
      `${remarkWords(configurationFile, remark)}; replicas keep the last good one, new ones don't start`,
    editConfiguration,
  ),
  'configuration-notice': warning(
    ofRemark,
    ({ remark }: Of<'remark'>) => remarkWords(configurationFile, remark),
    editConfiguration,
  ),
  'configuration-observes': warning(
    'SF507',
    () => 'mode: observe, so no pod is patched; warnings say what would be done',
    (data: In) => `set mode: enforce to have pods patched: ${editConfiguration(data)}`,
  ),
  'configuration-valid': ok('SF508', ({ rules }: Of<'rules'>) => `valid, ${rules} ${rules === 1 ? 'rule' : 'rules'}`),

  // webhooks
  'no-webhook-configurations': problem(
    'SF509',
    () => 'there is no webhook configuration: pods start as they are',
    () => reinstall,
  ),
  'mutating-missing': problem(
    'SF510',
    () => `there is no ${fullName(mutatingReference)}: pods start as they are`,
    () => reinstall,
  ),
  'mutating-missing-refused': problem(
    'SF559',
    () =>
      `there is no ${fullName(mutatingReference)}, and ${fullName(validatingReference)} is there: pods that ask are refused, since nobody puts them in order; so are those of enforced rules`,
    () => reinstall,
  ),
  'validating-missing': problem(
    'SF511',
    () => `there is no ${fullName(validatingReference)}: nothing refuses a pod whose order another webhook has undone`,
    () => reinstall,
  ),
  'workloads-missing': warning(
    'SF564',
    () => `there is no ${fullName(workloadsReference)}: nobody is warned when a mistyped workload is applied`,
    () => reinstall,
  ),
  'webhooks-behind': problem(
    'SF512',
    ({ configuration, differences }: Of<'configuration' | 'differences'>) =>
      `${configuration} is behind the configuration: ${differences.map(differenceText).join(', ')}`,
    renewWebhooks,
  ),
  'webhooks-of-another-text': warning(
    'SF513',
    ({ configuration }: Of<'configuration'>) =>
      `${configuration} was made from another version of the configuration; it does the same`,
    renewWebhooks,
  ),
  'webhooks-changed': warning(
    'SF514',
    ({ configuration, difference }: Of<'configuration' | 'difference'>) =>
      `somebody changed ${configuration}: ${differenceText(difference)}`,
    renewWebhooks,
  ),
  'webhooks-right': ok(
    'SF515',
    ({ mode, enforced }: Of<'mode' | 'enforced'>) =>
      `all match the configuration: ${
        mode === 'namespace-opt-in'
          ? 'labelled namespaces, failurePolicy Fail'
          : 'all namespaces but those that opted out, failurePolicy Ignore'
      }${enforced ? `; for enforced rules ${enforced}` : ''}`,
  ),

  // replicas
  'deployment-missing': problem(
    'SF516',
    ({ namespace }: In) => `there is no Deployment ${namespace}/${objectNames.deployment}`,
    () => reinstall,
  ),
  'scaled-to-0': problem('SF517', () => 'the Deployment is scaled to 0', scaleUp),
  'no-replica-ready': problem(
    'SF518',
    ({ wanted }: Of<'wanted'>) => `no replica of ${wanted} is ready`,
    describeReplicas,
  ),
  'replica-blocked': problem('SF519', notReady, describeReplicas),
  'replica-not-ready': warning('SF520', notReady, describeReplicas),
  'replicas-missing': warning(
    'SF521',
    ({ ready, wanted }: Of<'ready' | 'wanted'>) => `${ready} of ${wanted} replicas are ready`,
    describeReplicas,
  ),
  'one-replica': warning('SF522', () => 'only one replica: while it restarts, no pod is patched', scaleUp),
  'replicas-together': warning(
    'SF523',
    ({ ready, node }: Of<'ready' | 'node'>) => `all ${ready} ready replicas are on the node ${node}`,
    ({ namespace }: In) => `kubectl rollout restart -n ${namespace} deployment/${objectNames.deployment}`,
  ),
  'replicas-ready': ok(
    'SF524',
    ({ ready, wanted, places }: Of<'ready' | 'wanted' | 'places'>) =>
      `${ready} of ${wanted} ready, on ${places === 1 ? 'one node' : `${places} nodes`}`,
  ),

  // certificate
  'certificate-problem': problem(
    ofCertificate,
    certificateText,
    ({ namespace }: In) => `certs repairs it within a minute: kubectl logs -n ${namespace} deploy/${objectNames.certs}`,
  ),
  'certificate-problem-stays': problem(
    ofCertificate,
    certificateText,
    () => 'certs would repair it, but is not running',
  ),
  'certificate-see-replicas': problem(ofCertificate, certificateText, () => 'see replicas'),
  'certificate-see-webhooks': problem(ofCertificate, certificateText, () => 'see webhooks'),
  'certs-stopped': problem('SF725', idleText('certs'), idleNext('certs')),
  'certs-idle': warning(
    'SF726',
    (data: In & Idle) => `${idleText('certs')(data)}: nothing renews the certificate`,
    idleNext('certs'),
  ),
  'replicas-not-asked': warning('SF727', ({ message }: Of<'message'>) => `no replica was asked: ${message}`),
  'certificate-kept': ok(
    'SF728',
    ({ phase }: Of<'phase'>) => `every replica serves what the API server trusts (phase ${phase})`,
  ),
  'certificate-right': ok('SF729', () => 'every replica serves what the API server trusts (not kept by certs)'),
  'no-ready-endpoint': problem(
    () => problemCode({ kind: 'endpoints-missing' }),
    () => problemText({ kind: 'endpoints-missing' }),
    () => 'see replicas',
  ),
  'foreign-silent': problem(ofCertificate, ({ problem }: Of<'problem'>) => problemText(problem)),
  'foreign-not-a-certificate': problem(
    'SF732',
    ({ name }: Of<'name'>) => `${name} serves something that is not a certificate`,
    foreignCertificate,
  ),
  'foreign-untrusted': problem(
    'SF733',
    ({ name, configuration }: Of<'name' | 'configuration'>) =>
      `${name} serves a leaf that the caBundle of ${configuration} doesn't cover`,
    foreignCertificate,
  ),
  'foreign-expired': problem(
    'SF734',
    ({ name, at }: Of<'name' | 'at'>) => `${name} serves a leaf that expired at ${at}`,
    foreignCertificate,
  ),
  'foreign-name': problem(
    'SF735',
    ({ name, servername }: Of<'name' | 'servername'>) => `${name} serves a leaf that isn't for ${servername}`,
    foreignCertificate,
  ),

  // policies
  'policy-in-force': ok('SF525', ({ account, to }: Of<'account' | 'to'>) => `${account} may patch nothing but ${to}`),
  'policy-missing': warning(
    'SF526',
    ({ account, to }: Of<'account' | 'to' | 'flags'>) =>
      `no policy limits what ${account} may patch to ${to}: its token is as powerful as an administrator's`,
    ({ flags }: Of<'flags'>) => `sidecar-first install --apply${flags}, with your flags`,
  ),
  'no-policy-needed': ok('SF527', () => 'nothing runs here that needs one'),

  // dry run
  'no-namespace-covered': warning(
    'SF528',
    () => 'no namespace is covered: no pod is ever patched',
    () => `kubectl label namespace NAME ${objectKeys.injection}=enabled`,
  ),
  'trial-observed': ok('SF529', ({ namespace }: In) => `${trialPod(namespace)} comes back as it was: mode: observe`),
  'trial-unpatched': problem(
    'SF530',
    ({ namespace }: In) => `${trialPod(namespace)} comes back unpatched: the API server gets no usable answer`,
    () => elsewhere,
  ),
  'trial-patched': ok('SF531', ({ namespace }: In) => `${trialPod(namespace)} comes back patched`),
  'lock-stored': ok('SF581', () => 'variables that come from files are stored: pods can be locked'),
  'auto-locks': ok('SF585', () => 'lock: auto locks the apps of pods that ask for their sidecars'),
  'auto-idle': ok('SF586', ({ idle }: { readonly idle: AutoIdle }) => `lock: auto locks nothing: ${whyIdle(idle)}`),
  'lock-dropped': problem(
    'SF582',
    () => 'the API server drops variables that come from files: it refuses pods that are to be locked',
    () => 'turn the feature EnvFiles on, or set lock: off in the configuration',
  ),
  'other-version': warning(
    'SF532',
    ({ theirs, ours }: Of<'theirs' | 'ours'>) =>
      `the replicas are version ${theirs}, this is ${ours}: it may judge pods differently`,
    ({ theirs }: Of<'theirs'>) => `use sidecar-first ${theirs} for check`,
  ),
  'trial-blocked': problem(
    'SF533',
    ({ namespace, message }: Of<'namespace' | 'message'>) =>
      `pods that ask can't be created in namespace ${namespace}: ${message}`,
    () => elsewhere,
  ),
  'trial-impossible': warning(
    'SF534',
    ({ namespace, message }: Of<'namespace' | 'message'>) =>
      `no pod could be tried out in namespace ${namespace}: ${message}`,
  ),

  // other webhooks
  'called-after-ours': problem(
    'SF535',
    ({ configuration }: Of<'configuration'>) =>
      `${configuration} is called after ours, which never sees what it changes`,
    sortBefore,
  ),
  'called-after-ours-again': warning(
    'SF536',
    ({ configuration }: Of<'configuration'>) =>
      `${configuration} is called after ours: rules don't see containers that only it adds, and if it insists on their place, it wins`,
    sortBefore,
  ),
  'guards-our-pods': warning(
    'SF537',
    ({ webhook, configuration }: Of<'webhook' | 'configuration'>) =>
      `${webhook} (${configuration}, failurePolicy Fail) is called for our own pods too: while it is down, no replica can be created`,
    ({ namespace }: In) => `exclude the namespace ${namespace} from its namespaceSelector`,
  ),
  'others-harmless': ok('SF538', ({ count }: Of<'count'>) =>
    count === 0 ? 'there are no others' : `none of ${count} is called after ours or stands in the way of our replicas`,
  ),

  // nodes
  'kubelets-without-image-volumes': problem(
    'SF539',
    ({ nodes, least }: Of<'nodes' | 'least'>) =>
      `${nodesText(nodes)} has a kubelet before ${least}, which mounts no image volumes unless it's told to`,
    () => useInitContainer,
  ),
  'runtimes-without-image-volumes': problem(
    'SF540',
    ({ nodes, runtime, least }: Of<'nodes' | 'runtime' | 'least'>) =>
      `${nodesText(nodes)} has a ${runtime} before ${least}, which mounts no image volumes`,
    () => useInitContainer,
  ),
  'runtimes-unknown': warning(
    'SF541',
    ({ nodes }: Of<'nodes'>) => `${nodesText(nodes)} has a runtime that may not be able to mount image volumes`,
    () => useInitContainer,
  ),
  'kubelets-without-native': problem(
    'SF542',
    ({ nodes }: Of<'nodes'>) =>
      `${nodesText(nodes)} has a kubelet before 1.29, for which a native sidecar is an init container that never ends`,
    () => 'set gate: hook in the configuration, or upgrade the nodes',
  ),
  'kubelets-older': warning(
    'SF543',
    ({ nodes, version }: Of<'nodes' | 'version'>) =>
      `${nodesText(nodes)} is older than the configuration's kubernetesVersion, ${version}`,
    () => 'set kubernetesVersion to that of the oldest node: gate: auto depends on it',
  ),
  'nodes-fit': ok(
    'SF544',
    ({
      count,
      versions,
      delivery,
    }: {
      readonly count: number
      readonly versions: readonly string[]
      readonly delivery: string
    }) => `${count} with kubelets ${versions.join(', ')}: fit for the delivery ${delivery}`,
  ),

  // waiter image
  'waiter-not-needed': ok('SF545', () => 'not needed: waiter.delivery is shell'),
  'waiter-not-tried': ok('SF546', () => 'not looked at: --no-pods'),
  'waiter-pulled': ok(
    'SF547',
    ({ image, node }: Of<'image' | 'node'>) => `${image} was pulled by the node ${node}, and runs`,
  ),
  'waiter-present': ok(
    'SF548',
    ({ image, node }: Of<'image' | 'node'>) =>
      `${image} was already on the node ${node} (so no registry was asked), and runs`,
  ),
  'waiter-not-scheduled': warning(
    'SF549',
    ({ image, why }: Of<'why' | 'image'>) => `no node took the pod that tries to pull ${image}: ${why}`,
    ({ namespace }: In) => `see kubectl get events -n ${namespace}`,
  ),
  'waiter-not-run': problem(
    'SF550',
    ({ image, node, why }: Of<'image' | 'node' | 'why'>) => `the node ${node} can't run ${image}: ${why}`,
    () => otherWaiter,
  ),
  'waiter-ended': problem(
    'SF551',
    ({ image, node, exitCode, why }: Of<'image' | 'node' | 'why' | 'exitCode'>) =>
      `${image} on the node ${node} ended with exit code ${exitCode}: ${why}`,
    () => otherWaiter,
  ),
  'waiter-slow': warning(
    'SF552',
    ({ image, node, seconds, why }: Of<'image' | 'node' | 'why' | 'seconds'>) =>
      `${image} was not there after ${seconds} s on the node ${node}: ${why}`,
    () => 'check again; a pull may be slow',
  ),

  // pods
  'pods-counted': ok(
    'SF553',
    ({ right, left }: Of<'right' | 'left'>) =>
      `in the covered namespaces, ${right} are in order and ${left} ask for nothing`,
  ),
  'pods-uncovered': warning(
    'SF554',
    (data: Pods & Of<'due' | 'uncovered'>) =>
      `${podsText(data)} should start ${data.due}, but ${uncoveredText(data.uncovered)}`,
    ({ uncovered, renew }: Pods & Of<'uncovered'>) => `${uncoveredNext(uncovered)}; then ${renew}`,
  ),
  'pods-missed': problem(
    'SF555',
    (data: Pods & Of<'due' | 'cause'>) => `${podsText(data)} without the order ${data.due} (${manyMissed[data.cause]})`,
    ({ renew }: Pods) => renew,
  ),
  'pods-would-be-refused': warning(
    'SF556',
    (data: Pods & Of<'why' | 'inFront'>) =>
      `${podsText(data)} would be refused if created now: ${data.why}${data.inFront.length === 0 ? '' : `; this would let by what runs: enforced: {inFront: [${data.inFront.join(', ')}]}`}`,
    () => 'correct the manifest or the configuration before the next pod is created',
  ),
  'pods-older': ok(
    'SF557',
    ({ count, versions }: { readonly count: number } & Of<'versions'>) =>
      `${count} patched by version ${versions.join(', ')} are in order, too; only details differ from what this version writes`,
  ),
  'pods-outdated': warning(
    'SF558',
    (data: Pods) => `${podsText(data)} patched by another configuration or version than today's`,
    ({ renew }: Pods) => renew,
  ),
  'pods-unlocked': warning(
    'SF580',
    (data: Pods & Of<'names'>) =>
      `${podsText(data)} without the lock of ${data.names.join(', ')}: another webhook or client wrote them and dropped the field fileKeyRef, which its libraries don't know`,
    ({ renew }: Pods) => `update it to libraries of Kubernetes 1.34 or later; then ${renew}`,
  ),
  unlocked: warning(
    'SF583',
    ({ names }: Of<'names'>) =>
      `${names.join(', ')} lost the lock: another webhook or client wrote the pod and dropped the field fileKeyRef, which its libraries don't know`,
    ({ renew }: MaybeRenewed) =>
      `update it to libraries of Kubernetes 1.34 or later${renew === undefined ? '' : `; then ${renew}`}`,
  ),
  'pods-lacking': problem(
    'SF560',
    (data: Of<'owner' | 'affected' | 'lacking'>) =>
      `${podsText(data)} run without ${data.lacking.sidecar}: ${lackingText(data.lacking)}`,
    ({ lacking, namespace, pod }: Where & Of<'lacking'>) => lackingNext(lacking, `-n ${namespace} ${pod}`),
  ),
  'pods-stuck': problem(
    'SF561',
    (data: Of<'owner' | 'affected' | 'stuck' | 'seconds'>) =>
      `${podsText(data)} stuck${forText(data)}: ${stuckText(data.stuck)}`,
    ({ stuck, namespace, pod }: Where & Of<'stuck'>) => stuckNext(stuck, `-n ${namespace} ${pod}`),
  ),
  'pods-too-early': warning(
    'SF562',
    (data: Of<'owner' | 'affected' | 'early'>) =>
      `${podsText(data)} started an app too early: ${data.early.map(earlyText).join('; ')}`,
    ({ namespace, pod }: Where) => `sidecar-first timeline -n ${namespace} pod/${pod}`,
  ),
  'namespace-missing': problem('SF563', ({ namespace }: In) => `there is no namespace ${namespace}`),

  // rollouts
  'rollouts-unknown': ok('SF801', () => 'no SidecarRollout is known here: sidecars are not upgraded in place'),
  'no-rollouts': ok(rolloutCodes.none, () => 'there are none'),
  'rollout-not-taken-up': warning(
    rolloutCodes.unseen,
    ({ namespace, name }: Rollout) => `no controller has taken up ${namespace}/${name}`,
    rolloutStatus,
  ),
  'rollout-failed': warning(
    rolloutCodes.failed,
    ({ namespace, name, phase, message }: Rollout & Of<'phase' | 'message'>) =>
      `${namespace}/${name} ${phase === 'Stopped' ? 'has stopped' : 'was rolled back'}: ${message}`,
    rolloutStatus,
  ),
  'rollout-under-way': ok(
    'SF805',
    ({ namespace, name, phase, done, desired }: Rollout & Of<'phase' | 'done' | 'desired'>) =>
      `${namespace}/${name}: ${phase}, ${done} of ${desired} pods are done`,
  ),
  'rollout-undone': warning(
    'SF806',
    ({
      namespace,
      name,
      container,
      image,
      right,
      desired,
      others,
      one,
    }: Wanted & {
      readonly right: number
      readonly desired: number
      readonly others: number
      readonly one: Of<'name' | 'image'>
    }) =>
      `${namespace}/${name}: ${right} of the ${desired} pods that should have ${container} ${image} have it; ${others} have another, such as ${one.name} with ${one.image}`,
    ({ namespace, container, image, one }: Wanted & Of<'one'>) =>
      `kubectl set image -n ${namespace} pod/${one.name} ${container}=${image}`,
  ),
  'rollout-template-behind': warning(
    'SF807',
    ({ namespace, name, container, image, template }: Wanted & Of<'template'>) =>
      `${template.kind} ${template.namespace}/${template.name} makes new pods with ${container} ${template.image}, and ${namespace}/${name} says ${image}`,
    setTemplate,
  ),
  'rollout-right': ok(
    'SF808',
    ({ namespace, name, container, image, pods }: Wanted & Of<'pods'>) =>
      `${namespace}/${name}: ${pods} pods have ${container} ${image}, as it says`,
  ),

  // counted starts
  'exporter-counts': ok('SF587', () => `${objectNames.starts} counts how pods start`),
  'exporter-idle': warning(
    'SF588',
    (data: In & Idle) => `${idleText('starts')(data)}: no starts are counted`,
    idleNext('starts'),
  ),
  'exporter-twice': warning(
    'SF589',
    ({ wanted }: In & Of<'wanted'>) => `${wanted} replicas of ${objectNames.starts} count each start as often`,
    ({ namespace }: In) => `kubectl scale -n ${namespace} deployment/${objectNames.starts} --replicas=1`,
  ),
  'exporter-differs': warning(
    'SF590',
    ({ image, ours }: Of<'image' | 'ours'>) => `${objectNames.starts} runs ${image}, the replicas ${ours}`,
    () => reinstallStarts,
  ),
  'exporter-forbidden': warning(
    'SF591',
    ({ names }: Of<'names'>) => `the account of ${objectNames.starts} may not ${names.join(', ')}`,
    () => reinstallStarts,
  ),

  // one pod
  'subject-missing': problem(
    'SF601',
    ({ subject, name, namespace }: Of<'subject' | 'name' | 'namespace'>) =>
      `there is no ${subject} ${name} in namespace ${namespace}`,
    () => 'name its namespace with -n',
  ),
  'subject-ending': warning(
    'SF602',
    ({ subject }: Of<'subject'>) => `this ${subject} is being deleted`,
    () => 'name the one that takes its place',
  ),
  'webhooks-unreadable': warning(
    'SF603',
    ({ message }: Of<'message'>) => `the webhook configuration can't be read: ${message}`,
  ),
  'default-configuration': warning(
    'SF604',
    ({ live }: Of<'live'>) => `judged by the default configuration: the live one is ${live}`,
  ),
  asks: ok('SF605', ({ sidecars }: Of<'sidecars'>) => `${keys.sidecars}: ${sidecars}`),
  'patched-already': ok(
    'SF606',
    ({ status }: Of<'status'>) => `patched by sidecar-first, in its webhook or by inject: ${status}`,
  ),
  ruled: ok(
    'SF607',
    ({ rule, container }: Of<'rule' | 'container'>) => `the rule ${rule} makes ${container} a sidecar`,
  ),
  'admission-warning': warning(
    ({ warning }: Of<'warning'>) => codeOf(warning),
    ({ warning }: Of<'warning'> & { readonly path?: string }) => textOf(warning),
  ),
  'left-alone': ok('SF609', ({ why }: Of<'why'>) => `it is left alone: ${why}`),
  'opted-out': warning(
    'SF610',
    () => `${keys.sidecars} has no effect beside ${keys.inject}: "false"`,
    () => `remove ${keys.inject} to have it patched`,
  ),
  'in-order': ok('SF611', ({ due }: Of<'due'>) => `its order is as it should be: starts ${due}`),
  should: warning('SF612', ({ would }: Of<'would'>) => `it should ${would}`),
  'should-no-webhooks': problem(
    'SF613',
    ({ would, refusing }: Of<'would' | 'refusing'>) =>
      `it should ${would}, but there is no ${fullName(mutatingReference)}${refusing ? `, and ${fullName(validatingReference)} refuses such pods` : ''}`,
    ({ renew }: MaybeRenewed) => `sidecar-first check says how to create it${then(renew)}`,
  ),
  'should-uncovered': problem(
    'SF614',
    ({ would, uncovered }: Of<'would' | 'uncovered'>) => `it should ${would}, but ${uncoveredText(uncovered)}`,
    ({ uncovered, renew }: MaybeRenewed & Of<'uncovered'>) => `${uncoveredNext(uncovered)}${then(renew)}`,
  ),
  refused: problem(
    'SF615',
    ({ why, exists }: Of<'why' | 'exists'>) =>
      `${exists ? 'created again, it would be' : 'its pods are'} refused: ${why}`,
    () => 'correct the manifest',
  ),
  observed: ok('SF616', ({ would }: Of<'would'>) => `mode: observe; otherwise it would ${would}`),
  'template-right': ok('SF617', ({ would }: Of<'would'>) => `its pods ${would}`),
  older: ok(
    'SF618',
    ({ version }: Of<'version'>) =>
      `its order is held: version ${version} has patched it, and only details differ from what this version writes`,
  ),
  outdated: warning(
    'SF619',
    () => 'its order is held, but another configuration or version would patch it differently today',
    ({ renew }: Of<'renew'>) => renew,
  ),
  missed: problem(
    'SF620',
    ({ would, because }: Of<'would' | 'because'>) => `it should ${would}, and doesn't: ${missedText(because)}`,
    ({ renew }: Of<'renew'>) => renew,
  ),
  held: ok(outcomeCodes.held, () => 'its app began after its sidecars were ready'),
  'too-early': warning(
    outcomeCodes['too-early'],
    ({ early }: Of<'early'>) => `its app began too early: ${early.map(earlyText).join('; ')}`,
    ({ namespace, pod }: Where) => `sidecar-first timeline -n ${namespace} pod/${pod}`,
  ),
  stuck: problem(
    outcomeCodes.stuck,
    (data: Of<'stuck' | 'seconds'>) => `stuck${forText(data)}: ${stuckText(data.stuck)}`,
    ({ stuck, namespace, pod }: Where & Of<'stuck'>) => stuckNext(stuck, `-n ${namespace} ${pod}`),
  ),
  'start-unknown': ok(
    outcomeCodes.unknown,
    ({ unsure }: Of<'unsure'>) =>
      `whether its app began after its sidecars were ready is not known: ${unsure.map(unknownText).join('; ')}`,
  ),
  lacking: problem(
    lackingCode,
    ({ lacking }: Of<'lacking'>) => `it runs without ${lacking.sidecar}: ${lackingText(lacking)}`,
    ({ lacking, namespace, pod }: Where & Of<'lacking'>) => lackingNext(lacking, `-n ${namespace} ${pod}`),
  ),
  'unseen-warnings': ok(
    'SF626',
    () =>
      'whoever applies it sees no warnings about its pods: the API server sends them to the controller that creates the pods',
  ),
}

export type Finding = Values<typeof findings>
/** Those that only pass on what something else says, under its code. */
export type PassedOn =
  | 'configuration-invalid'
  | 'configuration-notice'
  | 'certificate-problem'
  | 'certificate-problem-stays'
  | 'certificate-see-replicas'
  | 'certificate-see-webhooks'
  | 'no-ready-endpoint'
  | 'foreign-silent'
  | 'admission-warning'

/** The words for a finding. Its kind is known by then, so its data fits. */
export function told(finding: Finding): Told {
  const { code, level, text, next } = findings[finding.kind] as Words<Finding>
  return {
    code: typeof code === 'string' ? code : code(finding),
    level,
    text: text(finding),
    ...(next && { next: next(finding) }),
    ...('path' in finding && finding.path !== '' && { path: finding.path }),
  }
}

function obstacleText(obstacle: Obstacle): string {
  switch (obstacle.why) {
    case 'no-configuration':
      return 'there is no valid configuration to judge it by'
    case 'no-webhooks':
      return 'there is no MutatingWebhookConfiguration'
    case 'observe':
      return 'mode: observe patches no pod'
    case 'interrupted':
      return 'interrupted'
    case 'pod-removed':
      return `somebody removed the pod ${obstacle.pod}`
    case 'call-failed':
      return obstacle.message
    default:
      return obstacle satisfies never
  }
}

function uncoveredText(uncovered: Uncovered): string {
  const { namespace } = uncovered
  switch (uncovered.why) {
    case 'excluded':
      return `pods of the namespace ${namespace} are never patched`
    case 'label': {
      const { injection } = objectKeys
      const { label } = uncovered
      return `the namespace ${namespace} ${label === undefined ? `isn't labelled ${injection}` : `is labelled ${injection}: ${label}`}`
    }
    case 'not-selected':
      return `the namespaceSelector of ${objectNames.mutating} doesn't select the namespace ${namespace}`
    default:
      return uncovered satisfies never
  }
}

function uncoveredNext({ why, namespace }: Uncovered): string {
  switch (why) {
    case 'excluded':
      return 'put it into another namespace'
    case 'label':
      return `kubectl label namespace ${namespace} --overwrite ${objectKeys.injection}=enabled`
    case 'not-selected':
      return `compare kubectl get namespace ${namespace} --show-labels with it`
    default:
      return why satisfies never
  }
}

function missedText(because: MissedBecause): string {
  const late = 'before its namespace was labelled, or before the configuration named its containers'
  switch (because.why) {
    case 'altered':
      return 'it was patched when it was created; another webhook moved its containers afterwards, or the configuration has changed'
    case 'before-webhook':
      return `it was created ${because.created}, before the webhook configuration (${because.since})`
    case 'outage-or-late':
      return `it was created while no replica answered (failurePolicy Ignore), ${late}`
    case 'late':
      return `it was created ${late}`
    default:
      return because satisfies never
  }
}

const manyMissed = {
  altered: 'patched once, and changed afterwards by another webhook or a new configuration',
  'before-webhook': 'created before the webhook',
  late: 'created while no replica answered, or before the namespace or the configuration named them',
} as const

function differenceText(difference: Difference): string {
  const { kind, webhook } = difference
  switch (kind) {
    case 'missing':
      return `the webhook ${webhook} is missing`
    case 'stray':
      return `the webhook ${webhook} doesn't belong there`
    case 'trait': {
      const { trait, is, wanted } = difference
      return `${trait} of ${webhook} ${wanted === undefined ? 'differs' : `is ${is}, not ${wanted}`}`
    }
    default:
      return kind satisfies never
  }
}

function forText({ seconds }: Of<'seconds'>): string {
  return seconds < 120 ? ` for ${seconds} s` : ` for ${Math.floor(seconds / 60)} minutes`
}

function podsText({ owner, affected }: Of<'owner' | 'affected'>): string {
  return affected === undefined
    ? owner
    : `${owner}: ${affected.some} of ${affected.all} ${affected.all === 1 ? 'pod' : 'pods'}`
}

/** Some of them by name: a cluster has thousands. */
function nodesText([first, ...others]: readonly string[]): string {
  return others.length === 0 ? `node ${first}` : `each of ${others.length + 1} nodes (${first} and others)`
}

function certificateText({ problem }: In & Of<'problem'>): string {
  return problemText(problem)
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

function notReady({ pod, reason }: Of<'pod' | 'reason'>): string {
  return `${pod} is not ready: ${reason}`
}

/** Makes the webhook configurations again from what the replicas mount, under the name of `install`: another owner would stand in its way. */
function renewWebhooks({ namespace, mode }: Of<'namespace' | 'mode'>): string {
  const read = `kubectl get configmap -n ${namespace} ${objectNames.configMap} -o 'jsonpath={.data.config\\.yaml}'`
  const make = `sidecar-first config --webhooks --mode ${mode} --namespace ${namespace} -`
  return `${read} | ${make} | kubectl apply --server-side --force-conflicts --field-manager=${objectNames.fieldManager} -f -`
}

function setTemplate({ container, image, template }: Wanted & Of<'template'>): string {
  const { kind, namespace, name } = template
  const set = `kubectl set image -n ${namespace} ${kind.toLowerCase()}/${name} ${container}=${image}`
  switch (kind) {
    case 'Job':
      return 'a Job keeps its template: correct the manifest that the next one is made from'
    case 'CronJob':
    case 'ReplicaSet':
      return set
    case 'Deployment':
    case 'StatefulSet':
    case 'DaemonSet':
      return `${set}   (recreates its pods: best with the next release)`
    default:
      return `correct the template of ${kind} ${name}`
  }
}

function editConfiguration({ namespace }: In): string {
  return `kubectl edit configmap -n ${namespace} ${objectNames.configMap}`
}
function scaleUp({ namespace }: In): string {
  return `kubectl scale -n ${namespace} deployment/${objectNames.deployment} --replicas=2`
}
function describeReplicas({ namespace }: In): string {
  return `kubectl describe pod -n ${namespace} -l ${selectorOf('serve')}`
}
function foreignCertificate(): string {
  return 'sidecar-first certs does not keep it: see what does, such as cert-manager'
}
function sortBefore({ configuration }: Of<'configuration'>): string {
  return `give the MutatingWebhookConfiguration ${configuration} a name that sorts before ${objectNames.mutating}`
}
function rolloutStatus({ namespace, name }: Rollout): string {
  return `sidecar-first rollout status -n ${namespace} ${name}`
}
function trialPod(namespace: string): string {
  return `a pod that asks, in namespace ${namespace},`
}
function then(renew: string | undefined): string {
  return renew === undefined ? '' : `; then ${renew}`
}
const fullName = ({
  kind,
  metadata,
}: typeof mutatingReference | typeof validatingReference | typeof workloadsReference) => `${kind} ${metadata.name}`

/** An installation waits until somebody answers; new webhook configurations alone would refuse pods. */
const reinstall = 'sidecar-first install --apply, with the flags of the first time'
const reinstallStarts = 'sidecar-first install --apply --starts, with your flags'
const otherWaiter =
  'sidecar-first install --apply with a --waiter-image that your nodes can pull, and the flags of the first time'
const useInitContainer = 'set waiter.delivery: init-container in the configuration'
const elsewhere =
  "see the other findings; if they are fine, a firewall may keep the API server from the pods' port 8443"
