import { createHash } from 'node:crypto'
import type {
  AdmissionregistrationV1WebhookClientConfig,
  V1LabelSelector,
  V1MutatingWebhook,
  V1MutatingWebhookConfiguration,
  V1ValidatingWebhook,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node'
import type { Configuration } from '../admission/intent/configuration.ts'
import type { Rule } from '../admission/intent/rule.ts'
import { enforcedMark } from '../admission/mark.ts'
import type { LabelSelector } from '../admission/pod/selector.ts'
import type { FailurePolicy } from '../admission/words/choices.ts'
import type { Coded } from '../admission/words/values.ts'
import {
  labelsOf,
  mutatingReference,
  objectKeys,
  validatingReference,
  workloadsReference,
} from '../kubernetes/names.ts'
import type { Reference } from '../kubernetes/objects.ts'
import { writeYaml } from '../kubernetes/yaml.ts'
import { condition, markedByOthers } from './condition.ts'
import { coded } from './notices.ts'
import { paths } from './path.ts'
import { pods, workloads, workloadsCondition } from './workloads.ts'

/** Which namespaces are ours: those that opted in, or all that didn't opt out. */
export type InstallMode = 'namespace-opt-in' | 'cluster-wide'
export const installModes: readonly InstallMode[] = ['namespace-opt-in', 'cluster-wide']

export interface WebhookOptions {
  readonly mode: InstallMode
  /** Where the webhook runs; its own pods are never sent. */
  readonly namespace: string
  /** How the API server reaches it; a URL is without a path. */
  readonly endpoint: { readonly service: string; readonly port: number } | { readonly url: string }
  /** PEM; without it, `certs` writes it. */
  readonly caBundle?: string
}

export type WebhookConfigurations = ReturnType<typeof webhookConfigurations>

export function configurationHash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The mode that a cluster's webhooks were made for, from their selector. */
export function modeOf([webhook]: readonly Pick<V1MutatingWebhook, 'namespaceSelector'>[]): InstallMode {
  const expressions = webhook?.namespaceSelector?.matchExpressions ?? []
  const optsIn = expressions.some(({ key, operator }) => key === objectKeys.injection && operator === 'In')
  return optsIn ? 'namespace-opt-in' : 'cluster-wide'
}

/** What an outage means, but for enforced rules where the configuration says otherwise. */
export const failurePolicyOf = (mode: InstallMode): FailurePolicy => (mode === 'namespace-opt-in' ? 'Fail' : 'Ignore')

/**
 * How many webhooks are there in reserve, asleep: they have no rules, so they are never called. A webhook fails every call until `certs` has
 * written its caBundle, and by then a reserve has one: so many rules with selectors of their own can be added at once, and no call fails.
 */
const reserve = 4

/** etcd takes 1.5 MiB for an object. Two CAs of ours, in base64, take up to 3.5 kB in each webhook. */
const mostBytes = 1_500_000
const roomForCaBundle = 3_500
/** Leaves room for about 100 webhooks beside the expressions. */
const mostCharactersOfExpressions = 1_000_000

/**
 * The webhook configurations for a configuration. `text` is the file's. The API server calls the mutating webhooks in the order of their list:
 * one removes marks that aren't ours; one for each set of rules marks the pods of the namespaces that it selects; the last plans, with the
 * rules without a namespaceSelector and those of the marked sets. Only the last is called again after another injector has changed the pod.
 * Enforced rules for which an outage means something else than for the others have marking webhooks of their own. All that mark are numbered,
 * so that a name, and with it the caBundle, is there before a rule needs it.
 */
export function webhookConfigurations(
  { rules: { rules, sets }, enforced }: Configuration,
  text: string,
  options: WebhookOptions,
) {
  const usual = failurePolicyOf(options.mode)
  const ofEnforced = enforced.failurePolicy ?? usual
  const bySet = Map.groupBy(rules, ({ set }) => set)
  const split = (set: string | undefined) => {
    const isApart = ({ enforce }: Rule) => enforce && ofEnforced !== usual
    const own = bySet.get(set) ?? []
    return { apart: own.filter(isApart), others: own.filter((rule) => !isApart(rule)) }
  }
  /** What exceeds the API server's limits, and what that means. */
  const notices: Coded[] = []
  let room = mostCharactersOfExpressions
  const entry = (own: readonly Rule[], about: Omit<Entry, 'selector' | 'expression'>): Entry => {
    const selector = own.find(({ set }) => set !== undefined)?.match.namespaceSelector
    const { expression, fits } = condition(own, about.path === paths.mutate, room)
    room -= expression.length
    if (!fits) {
      notices.push(coded({ kind: 'rules-do-not-fit', count: own.length, selector }))
    }
    return { ...about, selector: selector ?? {}, expression }
  }
  const { apart, others } = split(undefined)
  const plans = { path: paths.mutate, validates: paths.validate }
  // Called last, but its expression is written first: it gets the room it needs.
  const base = entry(others, { name: '', ...plans, failurePolicy: usual })
  let marked = 0
  const marking = (own: readonly Rule[], about: Omit<Entry, 'name' | 'selector' | 'expression'>) =>
    own.length === 0 ? [] : [entry(own, { ...about, name: `set-${++marked}.` })]
  const marks = [
    ...marking(apart, { ...plans, path: paths.mark(enforcedMark), failurePolicy: ofEnforced }),
    ...[...sets].flatMap((set) => {
      const { apart, others } = split(set)
      const path = paths.mark(set)
      const validates = (some: readonly Rule[]) =>
        some.some(({ enforce }) => enforce) ? paths.validateSet(set) : undefined
      return [
        ...marking(apart, { path, validates: validates(apart), failurePolicy: ofEnforced }),
        ...marking(others, { path, validates: validates(others), failurePolicy: usual }),
      ]
    }),
  ]
  const reset: Entry = {
    name: 'reset.',
    path: paths.reset,
    validates: undefined,
    selector: {},
    expression: markedByOthers,
    // A forged mark can bring in a rule that takes a container from an enforced one.
    failurePolicy: marks.some(({ failurePolicy }) => failurePolicy === 'Fail') ? 'Fail' : usual,
  }
  const asleep = (name: string): Entry => ({ ...base, name, path: undefined, validates: undefined })
  const reserves = Array.from({ length: reserve }, (_, index) => asleep(`set-${marks.length + index + 1}.`))
  const numbered = [...marks, ...reserves]
  const entries = [marks.length > 0 ? reset : asleep('reset.'), ...numbered, base]
  const annotations = { [objectKeys.configurationHash]: configurationHash(text), [objectKeys.unenforced]: 'true' }
  const described = ({ apiVersion, kind, metadata }: Reference) => ({
    apiVersion,
    kind,
    metadata: { ...metadata, labels: labelsOf(), annotations },
  })
  const mutating: V1MutatingWebhookConfiguration = {
    ...described(mutatingReference),
    webhooks: entries.map(
      (each): V1MutatingWebhook => ({
        ...webhook(each, each.path, options),
        reinvocationPolicy: each === base ? 'IfNeeded' : 'Never',
      }),
    ),
  }
  const validating: V1ValidatingWebhookConfiguration = {
    ...described(validatingReference),
    webhooks: [base, ...numbered].map((each) => webhook(each, each.validates, options)),
  }
  const bytes =
    JSON.stringify(mutating).length + (options.caBundle === undefined ? entries.length * roomForCaBundle : 0)
  if (bytes > mostBytes) {
    notices.push(coded({ kind: 'too-many-selectors', count: sets.size, bytes }))
  }
  /** Has workloads looked at when they are applied. It only ever warns. */
  const ofWorkloads: V1ValidatingWebhookConfiguration = {
    ...described(workloadsReference),
    webhooks: [workloadsWebhook(options)],
  }
  return { mutating, validating, workloads: ofWorkloads, notices }
}

/** All as YAML documents, for `kubectl apply --server-side`: a client-side apply has a smaller limit. */
export function webhookYaml({ mutating, validating, workloads }: WebhookConfigurations): string {
  return [mutating, validating, workloads].map((each) => writeYaml(each)).join('---\n')
}

/** What a webhook is made from. */
interface Entry {
  /** A prefix of `pods.sidecar-first.dev`. */
  readonly name: string
  /** undefined while it is asleep. */
  readonly path: string | undefined
  /** The path of its validating webhook, if that one is awake: a set without an enforced rule needs none, as the last webhook sees its mark. */
  readonly validates: string | undefined
  readonly selector: LabelSelector
  readonly expression: string
  readonly failurePolicy: FailurePolicy
}

function webhook(
  { name, selector, expression, failurePolicy }: Omit<Entry, 'path' | 'validates'>,
  path: string | undefined,
  options: WebhookOptions,
): V1ValidatingWebhook {
  const awake = path !== undefined
  return {
    name: `${name}pods.sidecar-first.dev`,
    admissionReviewVersions: ['v1'],
    clientConfig: clientConfig(path, options),
    ...(awake ? { rules: [pods] } : {}),
    matchPolicy: 'Equivalent',
    namespaceSelector: namespaces(selector, options),
    ...(awake ? { matchConditions: [{ name: 'concerns-sidecar-first', expression }] } : {}),
    failurePolicy,
    sideEffects: 'None',
    timeoutSeconds: 5,
  }
}

/** An outage or a slow answer holds up no deployment. */
function workloadsWebhook(options: WebhookOptions): V1ValidatingWebhook {
  const about = { name: '', selector: {}, expression: workloadsCondition, failurePolicy: 'Ignore' } as const
  return {
    ...webhook(about, paths.workloads, options),
    name: 'workloads.sidecar-first.dev',
    rules: [...workloads],
    timeoutSeconds: 2,
  }
}

/** The mode's namespaces, narrowed by the rules' selector; never those that a failure of ours would keep from recovering. */
function namespaces({ matchLabels, matchExpressions = [] }: LabelSelector, options: WebhookOptions): V1LabelSelector {
  const excluded = ['kube-system', 'kube-node-lease', options.namespace]
  const expressions = [
    { key: objectKeys.namespaceName, operator: 'NotIn', values: [...new Set(excluded)] },
    options.mode === 'namespace-opt-in'
      ? { key: objectKeys.injection, operator: 'In', values: ['enabled'] }
      : { key: objectKeys.injection, operator: 'NotIn', values: ['disabled'] },
    ...matchExpressions.map(({ values, ...rest }) => ({ ...rest, ...(values ? { values: [...values] } : {}) })),
  ]
  return { ...(matchLabels ? { matchLabels: { ...matchLabels } } : {}), matchExpressions: expressions }
}

function clientConfig(
  path: string | undefined,
  { endpoint, namespace, caBundle }: WebhookOptions,
): AdmissionregistrationV1WebhookClientConfig {
  const trust = caBundle === undefined ? {} : { caBundle: Buffer.from(caBundle).toString('base64') }
  if ('url' in endpoint) return { url: endpoint.url + (path ?? ''), ...trust }
  const { service: name, port } = endpoint
  return { service: { name, namespace, ...(path === undefined ? {} : { path }), port }, ...trust }
}
