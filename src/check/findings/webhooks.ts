import { lockSince } from '../../admission/plan/lock.ts'
import type { FailurePolicy } from '../../admission/words/choices.ts'
import { define, wordsFor } from '../../admission/words/define.ts'
import type { Values } from '../../admission/words/values.ts'
import {
  mutatingReference,
  objectKeys,
  objectNames,
  validatingReference,
  workloadsReference,
} from '../../kubernetes/names.ts'
import type { InstallMode } from '../../webhooks/configurations.ts'

export const fullName = ({
  kind,
  metadata,
}: typeof mutatingReference | typeof validatingReference | typeof workloadsReference) => `${kind} ${metadata.name}`

/** An installation waits until somebody answers; new webhook configurations alone would refuse pods. */
export const reinstall = 'sidecar-first install --apply, with the flags of the first time'

interface Trait {
  readonly webhook: string
  readonly trait: string
  readonly is?: string
  readonly wanted?: string
}
interface OfWebhook {
  readonly webhook: string
}
/** How a webhook configuration differs from what it should be. */
const differences = {
  missing: { text: ({ webhook }: OfWebhook) => `the webhook ${webhook} is missing` },
  stray: { text: ({ webhook }: OfWebhook) => `the webhook ${webhook} doesn't belong there` },
  trait: {
    text: ({ webhook, trait, is, wanted }: Trait) =>
      `${trait} of ${webhook} ${wanted === undefined ? 'differs' : `is ${is}, not ${wanted}`}`,
  },
}
export type Difference = Values<typeof differences>
const differenceText = (difference: Difference) => wordsFor(differences, difference)

/** Why `lock: auto` locks no pod. */
const autoIdle = {
  default: { text: ({ lock }: { readonly lock: string }) => `the configuration says lock: ${lock}` },
  'no-version': { text: () => 'the configuration has no kubernetesVersion' },
  'old-version': {
    text: ({ version }: { readonly version: string }) =>
      `kubernetesVersion is ${version}, and the lock needs ${lockSince.major}.${lockSince.minor}`,
  },
  'old-webhooks': { text: () => 'the mutating webhook configuration is missing, or that of 0.1' },
  dropped: { text: () => 'the API server drops variables that come from files (the feature EnvFiles is off)' },
}
export type AutoIdle = Values<typeof autoIdle>

interface Renewable {
  readonly configuration: string
  readonly namespace: string
  readonly mode: InstallMode
}

/** Makes the webhook configurations again from what the replicas mount, under the name of `install`: another owner would stand in its way. */
function renewWebhooks({ namespace, mode }: Renewable): string {
  const read = `kubectl get configmap -n ${namespace} ${objectNames.configMap} -o 'jsonpath={.data.config\\.yaml}'`
  const make = `sidecar-first config --webhooks --mode ${mode} --namespace ${namespace} -`
  return `${read} | ${make} | kubectl apply --server-side --force-conflicts --field-manager=${objectNames.fieldManager} -f -`
}

function sortBefore({ configuration }: { readonly configuration: string }): string {
  return `give the MutatingWebhookConfiguration ${configuration} a name that sorts before ${objectNames.mutating}`
}

function trialPod(namespace: string): string {
  return `a pod that asks, in namespace ${namespace},`
}

const elsewhere =
  "see the other findings; if they are fine, a firewall may keep the API server from the pods' port 8443"

const namespace = 'sidecar-first'
const configuration = 'MutatingWebhookConfiguration zz-sidecar-first'
const [ok, warning, problem] = [define('ok'), define('warning'), define('problem')]

/** Of the webhook configurations and those of others, of what keeps others from changing them, and of a pod created as a dry run. */
export const webhookFindings = {
  // webhooks
  'no-webhook-configurations': problem('SF509', {
    text: 'there is no webhook configuration: pods start as they are',
    means: 'The API server does not know of sidecar-first.',
    next: () => reinstall,
  }),
  'mutating-missing': problem('SF510', {
    text: `there is no ${fullName(mutatingReference)}: pods start as they are`,
    means: 'The API server sends no pod to be changed.',
    next: () => reinstall,
  }),
  'mutating-missing-refused': problem('SF559', {
    text: `there is no ${fullName(mutatingReference)}, and ${fullName(validatingReference)} is there: pods that ask are refused, since nobody puts them in order; so are those of enforced rules`,
    means: 'Nothing patches pods, and the validating webhook refuses those that should have been patched.',
    next: () => reinstall,
  }),
  'validating-missing': problem('SF511', {
    text: `there is no ${fullName(validatingReference)}: nothing refuses a pod whose order another webhook has undone`,
    means: 'Final pods are not looked at: an order that another webhook undoes goes unnoticed.',
    next: () => reinstall,
  }),
  'workloads-missing': warning('SF564', {
    text: `there is no ${fullName(workloadsReference)}: nobody is warned when a mistyped workload is applied`,
    means: 'The third webhook configuration only warns. Pods are patched and refused all the same.',
    next: () => reinstall,
  }),
  'webhooks-behind': problem<{
    configuration: string
    differences: Difference[]
    namespace: string
    mode: InstallMode
  }>('SF512', {
    example: {
      configuration,
      differences: [{ kind: 'missing', webhook: 'set-1.pods.sidecar-first.dev' }],
      namespace,
      mode: 'namespace-opt-in',
    },
    text: ({ configuration, differences }) =>
      `${configuration} is behind the configuration: ${differences.map(differenceText).join(', ')}`,
    means: 'The configuration has changed and the webhook configurations have not: rules may not take effect.',
    next: renewWebhooks,
  }),
  'webhooks-of-another-text': warning<{ configuration: string; namespace: string; mode: InstallMode }>('SF513', {
    example: { configuration, namespace, mode: 'namespace-opt-in' },
    text: ({ configuration }) =>
      `${configuration} was made from another version of the configuration; it does the same`,
    means: 'Only comments or formatting differ.',
    next: renewWebhooks,
  }),
  'webhooks-changed': warning<{ configuration: string; difference: Difference; namespace: string; mode: InstallMode }>(
    'SF514',
    {
      example: {
        configuration,
        difference: {
          kind: 'trait',
          webhook: 'pods.sidecar-first.dev',
          trait: 'timeoutSeconds',
          is: '10',
          wanted: '5',
        },
        namespace,
        mode: 'namespace-opt-in',
      },
      text: ({ configuration, difference }) => `somebody changed ${configuration}: ${differenceText(difference)}`,
      means: 'Somebody edited the webhook configuration, perhaps on purpose.',
      next: renewWebhooks,
    },
  ),
  'webhooks-right': ok<{ mode: InstallMode; enforced: FailurePolicy | undefined }>('SF515', {
    example: { mode: 'namespace-opt-in', enforced: undefined },
    text: ({ mode, enforced }) =>
      `all match the configuration: ${
        mode === 'namespace-opt-in'
          ? 'labelled namespaces, failurePolicy Fail'
          : 'all namespaces but those that opted out, failurePolicy Ignore'
      }${enforced ? `; for enforced rules ${enforced}` : ''}`,
  }),

  // policies
  'policy-in-force': ok('SF525', {
    example: { account: 'sidecar-first-certs', to: 'caBundle' },
    text: ({ account, to }) => `${account} may patch nothing but ${to}`,
  }),
  'policy-missing': warning('SF526', {
    example: { account: 'sidecar-first-certs', to: 'caBundle', flags: '' },
    text: ({ account, to }) =>
      `no policy limits what ${account} may patch to ${to}: its token is as powerful as an administrator's`,
    means: 'RBAC cannot limit a right to a field; the policy does, and it is missing or does not deny.',
    next: ({ flags }) => `sidecar-first install --apply${flags}, with your flags`,
  }),
  'no-policy-needed': ok('SF527', { text: 'nothing runs here that needs one' }),

  // dry run
  'no-namespace-covered': warning('SF528', {
    text: 'no namespace is covered: no pod is ever patched',
    means: 'No namespace has opted in.',
    next: () => `kubectl label namespace NAME ${objectKeys.injection}=enabled`,
  }),
  'trial-observed': ok('SF529', {
    example: { namespace: 'shop' },
    text: ({ namespace }) => `${trialPod(namespace)} comes back as it was: mode: observe`,
  }),
  'trial-unpatched': problem('SF530', {
    example: { namespace: 'shop' },
    text: ({ namespace }) => `${trialPod(namespace)} comes back unpatched: the API server gets no usable answer`,
    means: 'A pod was created as a dry run and came back unchanged.',
    next: () => elsewhere,
  }),
  'trial-patched': ok('SF531', {
    example: { namespace: 'shop' },
    text: ({ namespace }) => `${trialPod(namespace)} comes back patched`,
  }),
  'lock-stored': ok('SF581', { text: 'variables that come from files are stored: pods can be locked' }),
  'auto-locks': ok('SF585', { text: 'lock: auto locks the apps of pods that ask for their sidecars' }),
  'auto-idle': ok<{ idle: AutoIdle }>('SF586', {
    example: { idle: { kind: 'no-version' } },
    text: ({ idle }) => `lock: auto locks nothing: ${wordsFor(autoIdle, idle)}`,
  }),
  'auto-could': warning<{ idle: AutoIdle; version: string }>('SF592', {
    example: { idle: { kind: 'no-version' }, version: '1.36' },
    text: ({ idle }) => `lock: auto locks nothing, though every node could: ${wordsFor(autoIdle, idle)}`,
    means: 'Every node knows the lock, so the apps of pods that ask could wait for their sidecars whatever crashes.',
    next: ({ idle, version }) =>
      idle.kind === 'old-webhooks'
        ? reinstall
        : `set kubernetesVersion: "${version}" in the configuration; install --apply finds it, the chart has a value for it`,
  }),
  'lock-dropped': problem('SF582', {
    text: 'the API server drops variables that come from files: it refuses pods that are to be locked',
    means: 'The configuration locks pods, and this API server is older than 1.35 or has the feature EnvFiles off.',
    next: () => 'turn the feature EnvFiles on, or set lock: off in the configuration',
  }),
  'other-version': warning('SF532', {
    example: { theirs: '0.1.0', ours: '0.2.0' },
    text: ({ theirs, ours }) => `the replicas are version ${theirs}, this is ${ours}: it may judge pods differently`,
    means: 'This command and the replicas may judge pods differently.',
    next: ({ theirs }) => `use sidecar-first ${theirs} for check`,
  }),
  'trial-blocked': problem('SF533', {
    example: { namespace: 'shop', message: 'failed calling webhook' },
    text: ({ namespace, message }) => `pods that ask can't be created in namespace ${namespace}: ${message}`,
    means: 'A pod was created as a dry run and refused.',
    next: () => elsewhere,
  }),
  'trial-impossible': warning('SF534', {
    example: { namespace: 'shop', message: 'exceeded quota' },
    text: ({ namespace, message }) => `no pod could be tried out in namespace ${namespace}: ${message}`,
    means: 'A pod could not be created for a reason that has nothing to do with sidecar-first.',
    next: 'Look at the message; a quota or a policy is usual.',
  }),

  // other webhooks
  'called-after-ours': problem('SF535', {
    example: { configuration: 'zzz-injector' },
    text: ({ configuration }) => `${configuration} is called after ours, which never sees what it changes`,
    means: 'Mutating webhooks are called in the order of their names, and ours is not asked again after this one.',
    next: sortBefore,
  }),
  'called-after-ours-again': warning('SF536', {
    example: { configuration: 'zzz-injector' },
    text: ({ configuration }) =>
      `${configuration} is called after ours: rules don't see containers that only it adds, and if it insists on their place, it wins`,
    means:
      'Mutating webhooks are called in the order of their names. Ours is called again after it, which is enough for most.',
    next: sortBefore,
  }),
  'guards-our-pods': warning('SF537', {
    example: { webhook: 'x.example.com', configuration: 'x', namespace },
    text: ({ webhook, configuration }) =>
      `${webhook} (${configuration}, failurePolicy Fail) is called for our own pods too: while it is down, no replica can be created`,
    means: 'Two outages can hold each other: that webhook is down, and sidecar-first cannot start.',
    next: ({ namespace }) => `exclude the namespace ${namespace} from its namespaceSelector`,
  }),
  'others-harmless': ok('SF538', {
    example: { count: 4 },
    text: ({ count }) =>
      count === 0
        ? 'there are no others'
        : `none of ${count} is called after ours or stands in the way of our replicas`,
  }),
}
