import type { V1MutatingWebhook, V1Namespace, V1Pod } from '@kubernetes/client-node'
import type { Configuration } from '../admission/configuration.ts'
import { covering, plain, type Standing, standingOf } from './coverage.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { type Owner, ownerOf, renewal } from './owner.ts'
import { type Check, needed, Unseen, validConfiguration } from './site.ts'

/** How many namespaces are read at a time. */
const ATONCE = 8

/** Running pods that should have been patched and weren't, such as those created during an outage. */
export const pods: Check = {
  name: 'pods',
  async run({ objects, installed, progress }) {
    const { configuration } = validConfiguration(installed)
    const { webhooks = [], metadata } = needed(installed.mutating) ?? {}
    const covered = needed(installed.namespaces).filter((each) => covering(webhooks, each).length > 0)
    if (configuration.mode === 'observe') throw new Unseen('mode: observe patches none')
    const judged: JudgedPod[] = []
    const waiting = covered.slice()
    const read = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        progress(`Looking at the pods of ${covered.length} namespaces…`)
        const namespace = next.metadata?.name ?? ''
        const found = await objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, fieldSelector })
        judged.push(...found.map((pod) => judgePod(pod, next, configuration, webhooks)))
      }
    }
    await Promise.all(Array.from({ length: ATONCE }, read))
    return judgePods(judged, covered.length, metadata?.creationTimestamp)
  },
}

const fieldSelector = 'status.phase!=Succeeded,status.phase!=Failed'

export interface JudgedPod {
  readonly name: string
  readonly owner: Owner
  readonly created: Date | undefined
  readonly standing: Standing
}

export function judgePod(
  pod: V1Pod,
  namespace: V1Namespace,
  configuration: Configuration,
  webhooks: readonly V1MutatingWebhook[],
): JudgedPod {
  const { name = '', creationTimestamp: created } = pod.metadata ?? {}
  const standing = standingOf(plain(pod), configuration, covering(webhooks, namespace))
  return { name, owner: ownerOf(pod), created, standing }
}

/** @param since when the webhook configuration was created */
export function judgePods(all: readonly JudgedPod[], namespaces: number, since: Date | undefined): readonly Finding[] {
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
  if (findings.length > 0) return findings
  const right = all.filter(({ standing }) => standing.kind === 'right').length
  return [
    ok(
      `${right} patched, ${all.length - right} that ask for nothing, in ${namespaces} covered ${namespaces === 1 ? 'namespace' : 'namespaces'}`,
    ),
  ]
}

function causeOf(some: readonly JudgedPod[], since: Date | undefined): string {
  if (some.every(({ standing }) => standing.kind === 'missed' && standing.altered)) {
    return 'patched once, and changed afterwards by another webhook or a new configuration'
  }
  if (since && some.every(({ created }) => created && created < since)) return 'created before the webhook was there'
  return 'created while no replica answered, or before the namespace or the configuration named them'
}
