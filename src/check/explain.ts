import type { V1MutatingWebhook, V1MutatingWebhookConfiguration, V1Namespace } from '@kubernetes/client-node'
import type { Configuration } from '../admission/configuration.ts'
import type { Decision, Surroundings } from '../admission/decision.ts'
import { keys } from '../admission/keys.ts'
import { readMetadata, readSpec } from '../admission/pod.ts'
import { ruledContainers } from '../admission/rules.ts'
import { isCost } from '../admission/warning.ts'
import { covering, createdOf, type Manifest, setOf, standingOf } from './coverage.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { whyUncovered } from './uncovered.ts'

/** All that says why a pod was patched or wasn't. */
export interface Case {
  /** Plain JSON: a pod, or what a template makes. */
  readonly pod: Manifest
  /** Undefined for a template: nothing has been made of it yet. */
  readonly made: { readonly created: Date | undefined; readonly renew: string } | undefined
  readonly surroundings: Surroundings
  readonly namespace: Pick<V1Namespace, 'metadata'>
  readonly configuration: Configuration
  readonly mutating: V1MutatingWebhookConfiguration | 'unreadable' | undefined
}

/** In the order of the causes: what it asks for, whether the API server calls the webhook, what the webhook makes of it. */
export function explain(asked: Case): readonly Finding[] {
  const { pod, made, namespace, configuration } = asked
  const mutating = asked.mutating === 'unreadable' ? undefined : asked.mutating
  const webhooks = mutating?.webhooks ?? []
  const covers = covering(webhooks, namespace)
  const standing = standingOf(pod, configuration, covers, asked.surroundings)
  const { decision, kind } = standing
  const findings = [...written(pod, made !== undefined), ...rulesOf(pod, configuration, covers)]
  const warnings = decision.warnings.filter((each) => !isCost(each)).map(({ text }) => warning(text))
  const why = decision.reasons.join('; ')
  const then = made ? `; then ${made.renew}` : ''

  if (kind === 'left') return [...findings, ok(`it is left alone: ${why}`), ...optOut(pod), ...warnings]
  if (kind === 'right')
    return [...findings, ok(`its order is as it should be: ${why.replace(/^already /, '')}`), ...warnings]
  if (asked.mutating === 'unreadable') return [...findings, warning(`it should ${would(decision)}`), ...warnings]
  if (!mutating) {
    const what = `it should ${would(decision)}, but there is no MutatingWebhookConfiguration zz-sidecar-first`
    return [...findings, problem(what, `sidecar-first check tells how to make it${then}`)]
  }
  const uncovered = covers.length > 0 ? undefined : whyUncovered(webhooks, namespace)
  if (uncovered) {
    const { text, next } = uncovered
    return [...findings, problem(`it should ${would(decision)}, but ${text}`, `${next}${then}`), ...warnings]
  }
  if (kind === 'refused') {
    const text = `${made ? 'made anew, it would be' : 'its pods are'} refused: ${why}`
    return [...findings, problem(text, 'correct the manifest'), ...warnings]
  }
  if (configuration.mode === 'observe') {
    return [...findings, ok(`mode: observe; otherwise it would ${would(decision)}`), ...warnings]
  }
  if (!made) return [...findings, ok(`its pods ${would(decision)}`), ...warnings]
  if (kind === 'outdated') {
    const text = 'its order is held, but another configuration or version would patch it differently today'
    return [...findings, warning(text, made.renew), ...warnings]
  }
  const altered = kind === 'missed' && standing.altered
  return [
    ...findings,
    problem(`it should ${would(decision)}, and doesn't: ${cause(altered, made.created, mutating)}`, made.renew),
    ...warnings,
  ]
}

/** `starts envoy, before app` as `start envoy, before app`. */
const would = ({ verdict, reasons }: Decision) =>
  verdict === 'refused' ? 'be patched' : (reasons[0] ?? '').replace(/^starts /, 'start ')

function cause(
  altered: boolean,
  created: Date | undefined,
  { metadata, webhooks = [] }: V1MutatingWebhookConfiguration,
): string {
  if (altered)
    return 'it was patched when it was created; another webhook moved its containers afterwards, or the configuration has changed'
  const since = createdOf({ ...(metadata && { metadata }) })
  if (created && since && created < since) {
    return `it was created ${created.toISOString()}, before the webhook configuration (${since.toISOString()})`
  }
  const closed = webhooks.every(({ failurePolicy }) => failurePolicy !== 'Ignore')
  const late = 'before its namespace was labelled, or before the configuration named its containers'
  return closed ? `it was created ${late}` : `it was created while no replica answered (failurePolicy Ignore), ${late}`
}

/** What the pod itself says of us. */
function written({ metadata }: Manifest, exists: boolean): Finding[] {
  const { annotations = {} } = metadata ?? {}
  const status = annotations[keys.status]
  const asks = annotations[keys.sidecars]
  return [
    ...(asks === undefined ? [] : [ok(`${keys.sidecars}: ${asks}`)]),
    ...(status === undefined || !exists ? [] : [ok(`the webhook has patched it: ${status}`)]),
  ]
}

/** Which containers are sidecars by a rule. */
function rulesOf(pod: unknown, configuration: Configuration, covers: readonly V1MutatingWebhook[]): Finding[] {
  const metadata = readMetadata(pod)
  const spec = readSpec(pod)
  if (!metadata.ok || !spec.ok) return []
  const sets = covers.length === 0 ? [undefined] : covers.map(setOf)
  const found = sets.flatMap((set) => [...ruledContainers(configuration.rules, spec.value, metadata.value.labels, set)])
  return [...new Map(found)].map(([container, { name }]) => ok(`the rule ${name} makes ${container} a sidecar`))
}

/** An opt-out hides what a pod asks for. */
function optOut({ metadata }: Manifest): Finding[] {
  const { annotations = {}, labels = {} } = metadata ?? {}
  const out = annotations[keys.inject] === 'false' || labels[keys.inject] === 'false'
  if (!out || annotations[keys.sidecars] === undefined) return []
  return [
    warning(
      `${keys.sidecars} has no effect beside ${keys.inject}: "false"`,
      `remove ${keys.inject} to have it patched`,
    ),
  ]
}
