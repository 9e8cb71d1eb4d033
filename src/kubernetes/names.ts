import { selectorText } from './selector.ts'

/** The names of our objects in a cluster and the keys on them. The manifests, which kubectl also applies without us, repeat them. */

const name = 'sidecar-first'

export const objectNames = {
  namespace: name,
  service: name,
  deployment: name,
  configMap: name,
  secret: name,
  lease: name,
  /** Webhook configurations are called in the order of their names: ours comes last, to see what the others have added. */
  mutating: 'zz-sidecar-first',
  validating: name,
  /** The validating configuration for what pods are made from. */
  workloads: `${name}-workloads`,
  /** The Deployment, ServiceAccount and policy of `certs run`. */
  certs: `${name}-certs`,
  /** The policy that limits which Secret certs may create. */
  certsSecret: `${name}-certs-secret`,
  /** The Deployment, ServiceAccount and Lease of `rollouts run`. */
  rollouts: `${name}-rollouts`,
  /** The Deployment of `starts run`. */
  starts: `${name}-starts`,
  /** Its fields are ours in a server-side apply. */
  fieldManager: name,
  /** The prefix of the namespaces in which an installation tries out a pod. */
  trialNamespace: `${name}-trial-`,
} as const

/** How the API server reaches the server. */
export const endpoint = { service: objectNames.service, port: 443 } as const
/** The key of the configuration in its ConfigMap. */
export const configurationFile = 'config.yaml'

export const registration = 'admissionregistration.k8s.io/v1'
const registered = <Kind extends string>(kind: Kind, name: string) =>
  ({ apiVersion: registration, kind, metadata: { name } }) as const
export const mutatingReference = registered('MutatingWebhookConfiguration', objectNames.mutating)
export const validatingReference = registered('ValidatingWebhookConfiguration', objectNames.validating)
export const workloadsReference = registered('ValidatingWebhookConfiguration', objectNames.workloads)

export const objectKeys = {
  /** Label of a namespace: `enabled` opts in, `disabled` opts out. */
  injection: 'sidecar-first.dev/injection',
  /** Annotation of webhook configurations: SHA-256 of the text of the configuration file that they were made from. */
  configurationHash: 'sidecar-first.dev/configuration-hash',
  /** Annotation of the Secret: a person asks for a new `leaf` or `ca`. */
  rotate: 'sidecar-first.dev/rotate',
  /** Annotation of webhook configurations whose caBundle cert-manager keeps. */
  certManager: 'cert-manager.io/inject-ca-from',
  /** Annotation of webhook configurations: AKS's Admissions Enforcer, which rewrites their selectors and then owns them, leaves these alone. */
  unenforced: 'admissions.enforcer/disabled',
  component: 'app.kubernetes.io/component',
  namespaceName: 'kubernetes.io/metadata.name',
} as const

export const nameLabel = 'app.kubernetes.io/name'
type Component = 'serve' | 'certs' | 'rollouts' | 'starts' | 'check'

/** The labels of all our objects, or of those of one component. */
export const labelsOf = (component?: Component): Record<string, string> => ({
  [nameLabel]: name,
  ...(component && { [objectKeys.component]: component }),
})
/** The same as a selector, as kubectl and the API take it. */
export const selectorOf = (component?: Component): string => selectorText({ matchLabels: labelsOf(component) })
