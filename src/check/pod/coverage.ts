import { isDeepStrictEqual } from 'node:util'
import type {
  KubernetesObject,
  V1LabelSelector,
  V1MutatingWebhook,
  V1Namespace,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node'
import { decide } from '../../admission/decide.ts'
import type { Decision } from '../../admission/decision.ts'
import type { Configuration } from '../../admission/intent/configuration.ts'
import { type LabelSelector, selects } from '../../admission/pod/selector.ts'
import { readStatus } from '../../admission/pod/status.ts'
import type { Surroundings } from '../../admission/pod/surroundings.ts'
import { keys } from '../../admission/words/keys.ts'
import { startText } from '../../admission/words/messages.ts'
import { objectKeys } from '../../kubernetes/names.ts'
import { callsForLocks, setOfPath } from '../../webhooks/path.ts'
import { workloads } from '../../webhooks/workloads.ts'
import type { Uncovered } from '../findings/pods.ts'

type Labels = Readonly<Record<string, string>> | undefined

/** Whether a selector as the API server stores it selects these labels; one that isn't there selects everything. */
export function selected(selector: V1LabelSelector | undefined, labels: Labels): boolean {
  return selects((selector ?? {}) as LabelSelector, new Map(Object.entries(labels ?? {})))
}

/** The webhooks whose namespaceSelector selects a namespace. */
export function covering<T extends Pick<V1MutatingWebhook, 'namespaceSelector'>>(
  webhooks: readonly T[],
  { metadata }: Pick<V1Namespace, 'metadata'>,
): readonly T[] {
  return webhooks.filter(({ namespaceSelector }) => selected(namespaceSelector, metadata?.labels))
}

/** Why the API server calls none of our webhooks for the pods of a namespace. */
export function whyUncovered(
  [webhook]: readonly V1MutatingWebhook[],
  { metadata }: Pick<V1Namespace, 'metadata'>,
): Uncovered {
  const { name: namespace = '', labels = {} } = metadata ?? {}
  const excluded = webhook?.namespaceSelector?.matchExpressions?.some(
    ({ key, operator, values }) =>
      key === objectKeys.namespaceName && operator === 'NotIn' && values?.includes(namespace),
  )
  if (excluded) return { why: 'excluded', namespace }
  const labelled = { ...labels, [objectKeys.injection]: 'enabled' }
  if (selected(webhook?.namespaceSelector, labelled)) {
    return { why: 'label', namespace, label: labels[objectKeys.injection] }
  }
  return { why: 'not-selected', namespace }
}

/** The sets that these webhooks mark. */
export function setsOf(webhooks: readonly V1MutatingWebhook[]): readonly string[] {
  return webhooks.flatMap(({ clientConfig }) => setOfPath(clientConfig.service?.path ?? clientConfig.url ?? '') ?? [])
}

/** How a pod compares with what the webhook would make of it now. */
export type Standing =
  | { readonly kind: 'left' | 'right' | 'refused'; readonly decision: Decision }
  /** Its order isn't held. `altered`: it was once patched. */
  | { readonly kind: 'missed'; readonly altered: boolean; readonly decision: Decision }
  /** Its order is held, but not in the way the configuration now has it: another timeout, say. */
  | { readonly kind: 'outdated'; readonly decision: Decision }
  /** It was locked, and these containers aren't any more: somebody dropped what he didn't know. */
  | { readonly kind: 'unlocked'; readonly containers: readonly string[]; readonly decision: Decision }
  /** Its order is held, in the tiers of today, but another version patched it, which writes details such as the waiter's arguments in another way. */
  | { readonly kind: 'older'; readonly version: string; readonly decision: Decision }

/**
 * Decides on a pod as it is, with the sets whose webhooks cover its namespace. What their matchConditions keep from them, `decide` leaves alone as well.
 * @param pod plain JSON
 * @param webhooks those that cover its namespace; without any, it decides as for a namespace without sets
 */
export function standingOf(
  pod: Manifest,
  configuration: Configuration,
  webhooks: readonly V1MutatingWebhook[],
  surroundings: Surroundings = { job: false },
): Standing {
  const unlocked = callsForLocks({ webhooks }) === false
  const asked = { ...surroundings, sets: setsOf(webhooks), ...(unlocked ? ({ asker: 'unlocked' } as const) : {}) }
  const decision = decide(pod, configuration, asked)
  switch (decision.verdict) {
    case 'refused':
      return { kind: 'refused', decision }
    case 'skipped':
      return { kind: 'left', decision }
    case 'unchanged':
      return { kind: 'right', decision }
    case 'patched': {
      // Another version writes another status, and nothing else.
      if (decision.change === 'notes') return { kind: 'right', decision }
      const altered = pod.metadata?.annotations?.[keys.status] !== undefined
      const held = altered && decision.change !== 'order'
      if (!held) return { kind: 'missed', altered, decision }
      const { version, tiers, lock } = readStatus(pod.metadata?.annotations?.[keys.status])
      const { unlocked: containers } = decision
      if (lock === 'on' && containers.length > 0) return { kind: 'unlocked', containers, decision }
      const now = decision.tiers.map((tier) => tier.map(({ name }) => name))
      const older = typeof version === 'string' && version !== configuration.version && isDeepStrictEqual(tiers, now)
      return older ? { kind: 'older', version, decision } : { kind: 'outdated', decision }
    }
    default:
      return decision satisfies never
  }
}

/** What a pod should start, in which order: `envoy, before app`. */
export const dueOf = ({ reasons }: Decision): string => startText(reasons)

/** A pod, or the template of one, as the API gives it. */
export interface Manifest {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** When it was made: times come as texts, whatever the client's types say. */
export const createdOf = ({ metadata }: { metadata?: { creationTimestamp?: Date } }): Date | undefined =>
  metadata?.creationTimestamp && new Date(metadata.creationTimestamp)

/**
 * Whether the API server asks the webhook for workloads about this one, whose warnings whoever applies it then sees. As its condition has it: it is
 * not made by a controller, and names us.
 */
export function authorIsWarned(
  { kind, object, pod }: { readonly kind: string; readonly object: KubernetesObject; readonly pod: Manifest },
  webhooks: V1ValidatingWebhookConfiguration | undefined,
  namespace: Pick<V1Namespace, 'metadata'>,
): boolean {
  const { annotations = {}, ownerReferences = [] } = object.metadata ?? {}
  const looked = workloads.some(({ resources }) => resources?.includes(`${kind.toLowerCase()}s`))
  const own = { ...annotations, ...pod.metadata?.annotations }
  const named =
    Object.keys(own).some((key) => key.includes('sidecar-f')) || pod.metadata?.labels?.[keys.sidecars] !== undefined
  const made = ownerReferences.some(({ controller }) => controller)
  return looked && named && !made && covering(webhooks?.webhooks ?? [], namespace).length > 0
}
