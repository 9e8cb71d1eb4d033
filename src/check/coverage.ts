import type { V1LabelSelector, V1MutatingWebhook, V1Namespace } from '@kubernetes/client-node'
import type { Configuration } from '../admission/configuration.ts'
import { decide } from '../admission/decide.ts'
import type { Decision, Surroundings } from '../admission/decision.ts'
import { keys } from '../admission/keys.ts'
import { type LabelSelector, selects } from '../admission/selector.ts'

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

/** The set in a webhook's path; undefined: the webhook for all namespaces. */
export function setOf({ clientConfig }: V1MutatingWebhook): string | undefined {
  return /\/mutate\/([^/?]+)$/.exec(clientConfig.service?.path ?? clientConfig.url ?? '')?.[1]
}

/** How a pod stands to what the webhook would make of it now. */
export type Standing =
  | { readonly kind: 'left' | 'right' | 'refused'; readonly decision: Decision }
  /** Its order isn't held. `altered`: it was once patched. */
  | { readonly kind: 'missed'; readonly altered: boolean; readonly decision: Decision }
  /** Its order is held, but not in the way the configuration now has it: another timeout, say. */
  | { readonly kind: 'outdated'; readonly decision: Decision }

/**
 * Decides on a pod as it is, by every webhook that sees it. What their matchConditions keep from them, `decide` leaves alone as well.
 * @param pod plain JSON
 * @param webhooks those that cover its namespace; none: as the webhook for all namespaces would
 */
export function standingOf(
  pod: Manifest,
  configuration: Configuration,
  webhooks: readonly V1MutatingWebhook[],
  surroundings: Surroundings = { job: false },
): Standing {
  const seeing = webhooks.filter(({ objectSelector }) => selected(objectSelector, pod.metadata?.labels))
  const sets = webhooks.length === 0 ? [undefined] : seeing.map(setOf)
  const decisions = sets.map((set) =>
    decide(pod, configuration, set === undefined ? surroundings : { ...surroundings, set }),
  )
  const of = (verdict: Decision['verdict']) => decisions.find((each) => each.verdict === verdict)
  const refused = of('refused')
  if (refused) return { kind: 'refused', decision: refused }
  const patched = decisions.find((each) => each.verdict === 'patched' && !onlyNotes(each))
  if (patched?.verdict === 'patched') {
    const altered = pod.metadata?.annotations?.[keys.status] !== undefined
    const held = altered && !patched.patch.some(({ op, path }) => op === 'move' || path.endsWith('/lifecycle'))
    return held ? { kind: 'outdated', decision: patched } : { kind: 'missed', altered, decision: patched }
  }
  const right = of('unchanged') ?? of('patched')
  if (right) return { kind: 'right', decision: right }
  const left = decisions[0] ?? { verdict: 'skipped', reasons: [`${keys.inject} is "false"`], warnings: [] }
  return { kind: 'left', decision: left }
}

/** Another version writes another status, and nothing else. */
const onlyNotes = (decision: Decision) =>
  decision.verdict === 'patched' && decision.patch.every(({ path }) => path.startsWith('/metadata/'))

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
