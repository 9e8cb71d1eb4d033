import { createHash } from 'node:crypto'
import type {
  AdmissionregistrationV1WebhookClientConfig,
  V1LabelSelector,
  V1MutatingWebhook,
  V1MutatingWebhookConfiguration,
  V1ObjectMeta,
  V1ValidatingWebhook,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node'
import { stringify } from 'yaml'
import type { Configuration } from '../admission/configuration.ts'
import { keys } from '../admission/keys.ts'
import type { Rule } from '../admission/rules.ts'
import type { LabelSelector } from '../admission/selector.ts'
import { condition } from './condition.ts'

/** Which namespaces are ours: those that opted in, or all that didn't opt out. */
export type InstallMode = 'namespace-opt-in' | 'cluster-wide'
export const installModes: readonly InstallMode[] = ['namespace-opt-in', 'cluster-wide']

export interface WebhookOptions {
  readonly mode: InstallMode
  /** Where the webhook runs; its own pods are never sent. */
  readonly namespace: string
  /** How the API server reaches it; a URL is without a path. */
  readonly endpoint: { readonly service: string; readonly port: number } | { readonly url: string }
  /** PEM; `certs` writes it where it is left out. */
  readonly caBundle?: string
}

export interface WebhookConfigurations {
  readonly mutating: V1MutatingWebhookConfiguration
  readonly validating: V1ValidatingWebhookConfiguration
  /** What doesn't fit the API server's limits, and what that means. */
  readonly notices: readonly string[]
}

/** Annotation of both: SHA-256 of the text of the configuration file that they were made from. */
export const configurationHashKey = 'sidecar-first.dev/configuration-hash'

export function configurationHash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const namespaceKey = 'sidecar-first.dev/injection'

/** The mode of webhooks that a cluster has, by what only one of them selects. */
export function modeOf([webhook]: readonly Pick<V1MutatingWebhook, 'namespaceSelector'>[]): InstallMode {
  const expressions = webhook?.namespaceSelector?.matchExpressions ?? []
  const optsIn = expressions.some(({ key, operator }) => key === namespaceKey && operator === 'In')
  return optsIn ? 'namespace-opt-in' : 'cluster-wide'
}

/** etcd takes 1.5 MiB for an object. Two CAs of ours, in base64, take up to 3.5 kB in each webhook. */
const mostBytes = 1_500_000
const roomForCaBundle = 3_500
/** Leaves room for about 100 webhooks beside the expressions. */
const mostCharactersOfExpressions = 1_000_000

/**
 * The webhook configurations that go with a configuration: a webhook for all pods, and one for each distinct namespaceSelector of
 * the rules. `text` is the file's.
 */
export function webhookConfigurations(
  { rules: { rules, sets } }: Configuration,
  text: string,
  options: WebhookOptions,
): WebhookConfigurations {
  const bySet = Map.groupBy(rules, ({ set }) => set)
  const notices: string[] = []
  let room = mostCharactersOfExpressions
  const entry = (set: string | undefined): Entry => {
    const own = bySet.get(set) ?? []
    const selector = (set === undefined ? undefined : own[0]?.match.namespaceSelector) ?? {}
    const { expression, fits } = condition(own, set === undefined, room)
    room -= expression.length
    if (!fits) {
      const which =
        set === undefined ? 'without a namespaceSelector' : `of the namespaceSelector ${JSON.stringify(selector)}`
      const what = 'are more than matchConditions can hold: every pod of the selected namespaces is sent to the webhook'
      notices.push(
        `the ${own.length} rules ${which} ${what}; use fewer rules, or list container names instead of globs`,
      )
    }
    return { set, selector, rules: own, expression }
  }
  const entries = [undefined, ...sets].map(entry)
  const metadata = (name: string): V1ObjectMeta => ({
    name,
    labels: { 'app.kubernetes.io/name': 'sidecar-first' },
    annotations: { [configurationHashKey]: configurationHash(text) },
  })
  const mutating: V1MutatingWebhookConfiguration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    // Called in the order of names: this one wants to see what the others added.
    metadata: metadata('zz-sidecar-first'),
    webhooks: entries.map(
      (each): V1MutatingWebhook => ({ ...webhook(each, '/mutate', options), reinvocationPolicy: 'IfNeeded' }),
    ),
  }
  const validating: V1ValidatingWebhookConfiguration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: metadata('sidecar-first'),
    webhooks: entries.map((each) => webhook(each, '/validate', options)),
  }
  const bytes =
    JSON.stringify(mutating).length + (options.caBundle === undefined ? entries.length * roomForCaBundle : 0)
  if (bytes > mostBytes) {
    notices.push(
      `${sets.size} distinct namespaceSelectors make webhook configurations of ${bytes} bytes, and the API server stores 1.5 MB: let rules share selectors`,
    )
  }
  return { mutating, validating, notices }
}

/** Both, as YAML documents to apply with `kubectl apply --server-side`: on the client's side an apply has a smaller limit. */
export function webhookYaml({ mutating, validating }: WebhookConfigurations): string {
  return [mutating, validating]
    .map((each) => stringify(each, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n')
}

/** A webhook to be: the rules of one namespaceSelector, or those of none. */
interface Entry {
  readonly set: string | undefined
  readonly selector: LabelSelector
  readonly rules: readonly Rule[]
  readonly expression: string
}

function webhook(
  { set, selector, rules, expression }: Entry,
  path: string,
  options: WebhookOptions,
): V1ValidatingWebhook {
  const seesOptedOut = rules.some(({ enforce }) => enforce)
  const optedOut = { key: keys.inject, operator: 'NotIn', values: ['false'] }
  return {
    name: `${set === undefined ? '' : `${set}.`}pods.sidecar-first.dev`,
    admissionReviewVersions: ['v1'],
    clientConfig: clientConfig(set === undefined ? path : `${path}/${set}`, options),
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'], scope: 'Namespaced' }],
    matchPolicy: 'Equivalent',
    namespaceSelector: namespaces(selector, options),
    ...(seesOptedOut ? {} : { objectSelector: { matchExpressions: [optedOut] } }),
    matchConditions: [{ name: 'concerns-sidecar-first', expression }],
    failurePolicy: options.mode === 'namespace-opt-in' ? 'Fail' : 'Ignore',
    sideEffects: 'None',
    timeoutSeconds: 5,
  }
}

/** The mode's own namespaces, narrowed by the rules' selector; never those that a fault of ours would keep from healing. */
function namespaces({ matchLabels, matchExpressions = [] }: LabelSelector, options: WebhookOptions): V1LabelSelector {
  const excluded = ['kube-system', 'kube-node-lease', options.namespace]
  const expressions = [
    { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [...new Set(excluded)] },
    options.mode === 'namespace-opt-in'
      ? { key: namespaceKey, operator: 'In', values: ['enabled'] }
      : { key: namespaceKey, operator: 'NotIn', values: ['disabled'] },
    ...matchExpressions.map(({ values, ...rest }) => ({ ...rest, ...(values ? { values: [...values] } : {}) })),
  ]
  return { ...(matchLabels ? { matchLabels: { ...matchLabels } } : {}), matchExpressions: expressions }
}

function clientConfig(
  path: string,
  { endpoint, namespace, caBundle }: WebhookOptions,
): AdmissionregistrationV1WebhookClientConfig {
  const trust = caBundle === undefined ? {} : { caBundle: Buffer.from(caBundle).toString('base64') }
  if ('url' in endpoint) return { url: endpoint.url + path, ...trust }
  const { service: name, port } = endpoint
  return { service: { name, namespace, path, port }, ...trust }
}
