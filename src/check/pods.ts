import type { V1MutatingWebhook, V1Namespace, V1Pod } from '@kubernetes/client-node'
import type { Configuration } from '../admission/configuration.ts'
import { keys } from '../admission/keys.ts'
import { covering, createdOf, type Standing, standingOf } from './coverage.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { type Owner, ownerOf, renewal } from './owner.ts'
import { type Check, liveMutating, needed, Unseen, validConfiguration } from './site.ts'
import { injection, whyUncovered } from './uncovered.ts'

/** How many namespaces are read at a time. */
const ATONCE = 8

/** Running pods that should have been patched and weren't, such as those created during an outage. */
export const pods: Check = {
  name: 'pods',
  async run({ objects, installed, progress }) {
    const { configuration } = validConfiguration(installed)
    const mutating = liveMutating(installed)
    const { webhooks = [] } = mutating
    const namespaces = needed(installed.namespaces)
    if (configuration.mode === 'observe') throw new Unseen('mode: observe patches none')
    const judged: JudgedPod[] = []
    const waiting = namespaces.slice()
    const read = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        progress(`Looking at the pods of ${namespaces.length} namespaces, ${waiting.length} to go…`)
        const namespace = next.metadata?.name ?? ''
        const found = await objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, fieldSelector })
        const live = found.filter((pod) => pod.metadata?.deletionTimestamp === undefined)
        judged.push(...live.flatMap((pod) => judgePod(pod, next, configuration, webhooks) ?? []))
      }
    }
    await Promise.all(Array.from({ length: ATONCE }, read))
    return judgePods(judged, createdOf(mutating))
  },
}

const fieldSelector = 'status.phase!=Succeeded,status.phase!=Failed'

export interface JudgedPod {
  readonly name: string
  readonly owner: Owner
  readonly created: Date | undefined
  readonly standing: Standing
  /** Why no webhook sees its namespace, where none does. */
  readonly uncovered: { readonly text: string; readonly next: string } | undefined
}

/** Undefined for a pod that nobody expects to be patched: its namespace isn't covered, and it doesn't ask or somebody opted out. */
export function judgePod(
  pod: V1Pod,
  namespace: V1Namespace,
  configuration: Configuration,
  webhooks: readonly V1MutatingWebhook[],
): JudgedPod | undefined {
  const { name = '', annotations = {} } = pod.metadata ?? {}
  const covers = covering(webhooks, namespace)
  if (covers.length === 0) {
    const optedOut = namespace.metadata?.labels?.[injection] === 'disabled'
    if (optedOut || annotations[keys.sidecars] === undefined) return undefined
  }
  const standing = standingOf(pod, configuration, covers)
  const uncovered = covers.length > 0 ? undefined : whyUncovered(webhooks, namespace)
  return { name, owner: ownerOf(pod), created: createdOf(pod), standing, uncovered }
}

/** @param since when the webhook configuration was created */
export function judgePods(all: readonly JudgedPod[], since: Date | undefined): readonly Finding[] {
  const owners = Map.groupBy(all, ({ owner: { kind, namespace, name } }) => `${kind} ${namespace}/${name}`)
  const findings = [...owners].flatMap(([title, group]) => {
    const of = (kind: Standing['kind'], what: (one: JudgedPod, some: readonly JudgedPod[]) => Finding) => {
      const some = group.filter(({ standing }) => standing.kind === kind)
      return some[0] ? [what(some[0], some)] : []
    }
    const count = (some: readonly JudgedPod[]) => {
      const one = group[0]?.owner.kind === 'Pod'
      return one ? title : `${title}: ${some.length} of ${group.length} ${group.length === 1 ? 'pod' : 'pods'}`
    }
    const again = ({ owner }: JudgedPod, some: readonly JudgedPod[]) =>
      renewal(
        owner,
        some.map(({ name }) => name),
      )
    return [
      ...of('missed', (one, some) => {
        const [reason = ''] = one.standing.decision.reasons
        const due = reason.replace(/^starts /, '')
        if (one.uncovered) {
          const { text, next } = one.uncovered
          return warning(`${count(some)} should start ${due}, but ${text}`, `${next}; then ${again(one, some)}`)
        }
        return problem(`${count(some)} without the order ${due} (${causeOf(some, since)})`, again(one, some))
      }),
      ...of('refused', (one, some) => {
        const why = one.standing.decision.reasons.join('; ')
        return warning(
          `${count(some)} would be refused if created now: ${why}`,
          'correct the manifest before it is needed',
        )
      }),
      ...of('outdated', (one, some) => {
        return warning(`${count(some)} patched by another configuration or version than today's`, again(one, some))
      }),
    ]
  })
  const right = all.filter(({ standing }) => standing.kind === 'right').length
  const left = all.filter(({ standing }) => standing.kind === 'left').length
  return [ok(`in the covered namespaces, ${right} are in order and ${left} ask for nothing`), ...findings]
}

function causeOf(some: readonly JudgedPod[], since: Date | undefined): string {
  if (some.every(({ standing }) => standing.kind === 'missed' && standing.altered)) {
    return 'patched once, and changed afterwards by another webhook or a new configuration'
  }
  if (since && some.every(({ created }) => created && created < since)) return 'created before the webhook was there'
  return 'created while no replica answered, or before the namespace or the configuration named them'
}
