import type { V1MutatingWebhook, V1Namespace, V1Pod } from '@kubernetes/client-node'
import type { Configuration } from '../../admission/intent/configuration.ts'
import { repositoryOf } from '../../admission/intent/glob.ts'
import type { Surroundings } from '../../admission/pod/surroundings.ts'
import { keys } from '../../admission/words/keys.ts'
import { coded } from '../../admission/words/messages.ts'
import { objectKeys } from '../../kubernetes/names.ts'
import type { Objects } from '../../kubernetes/objects.ts'
import { type Owner, ownerOf, ownerText, renewal } from '../../seen/owner.ts'
import type { Obstacle } from '../findings/configuration.ts'
import type { Uncovered } from '../findings/pods.ts'
import type { Finding } from '../findings.ts'
import { covering, createdOf, dueOf, type Standing, standingOf, whyUncovered } from '../pod/coverage.ts'
import { sidecarsOf } from '../pod/start.ts'
import { closely, judgeStarts, type StartedPod } from '../pod/started.ts'
import { lastingKinds, manifestOf } from '../pod/subject.ts'
import { type Check, type Installed, needed, type Site, validConfiguration } from '../site.ts'

/** How many namespaces are read at a time. */
const atOnce = 8

/** Running pods that should have been patched and weren't, such as those created during an outage. */
export const pods: Check = {
  name: 'pods',
  async run({ objects, installed, only, now, progress }) {
    const { configuration } = validConfiguration(installed)
    const observes = configuration.mode === 'observe'
    const { mutating } = installed
    const { webhooks = [] } = (mutating.ok && mutating.value) || {}
    const namespaces = await namespacesOf(objects, installed, only)
    if (!namespaces) return [{ kind: 'namespace-missing', namespace: only ?? '' }]
    const judged: JudgedPod[] = []
    const started: StartedPod[] = []
    const look = closely(objects, now)
    await eachPod({ objects, progress, namespaces }, async (pod, namespace) => {
      const found = judgePod(pod, namespace, configuration, webhooks)
      if (found) judged.push(found)
      started.push(await look(pod, found && !observes ? sidecarsOf(found.standing.decision) : []))
    })
    // A start that nothing held back is left to those who judge whether something should have.
    const starts = judgeStarts(started, now(), ({ what }) => what.why === 'never-gated')
    if (!mutating.ok) return [notLooked({ kind: 'call-failed', message: mutating.error.message }), ...starts]
    if (!mutating.value) return [notLooked({ kind: 'no-webhooks' }), ...starts]
    if (observes) return [notLooked({ kind: 'observe' }), ...starts]
    return [...judgePods(judged, createdOf(mutating.value)), ...starts]
  },
}

const notLooked = (obstacle: Obstacle): Finding => ({ kind: 'not-looked-at', obstacle })

/** Undefined if the only one that is of interest doesn't exist. */
async function namespacesOf(
  objects: Objects,
  installed: Installed,
  only: string | undefined,
): Promise<readonly V1Namespace[] | undefined> {
  if (only === undefined) return needed(installed.namespaces)
  const found = await objects.read<V1Namespace>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: only } })
  return found && [found]
}

/** Where running pods are read. */
interface Place extends Pick<Site, 'objects' | 'progress'> {
  readonly namespaces: readonly V1Namespace[]
}

async function eachPod(
  { objects, progress, namespaces }: Place,
  look: (pod: V1Pod, namespace: V1Namespace) => void | Promise<void>,
): Promise<void> {
  const waiting = namespaces.slice()
  const read = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      progress(`Looking at the pods of ${namespaces.length} namespaces, ${waiting.length} to go…`)
      const namespace = next.metadata?.name ?? ''
      const found = await objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, fieldSelector })
      for (const pod of found) if (pod.metadata?.deletionTimestamp === undefined) await look(pod, next)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, read))
}

/**
 * Running pods, and templates without pods, that a configuration would refuse once it is installed, because of its enforced rules. Pods with the image that the former
 * configuration names aren't meant: their successors get the new one.
 */
export async function refusedByRules(
  place: Place,
  configuration: Configuration,
  { webhooks, former }: { readonly webhooks: readonly V1MutatingWebhook[]; readonly former: Configuration | undefined },
): Promise<readonly Finding[]> {
  const { waiter, rules } = configuration
  if (configuration.mode === 'observe' || !rules.rules.some(({ enforce }) => enforce)) return []
  const mirrors = [...waiter.mirrors, ...(former ? [repositoryOf(former.waiter.image)] : [])]
  const mirrored = { ...configuration, waiter: { ...waiter, mirrors } }
  const lax = { ...mirrored, rules: { ...rules, rules: rules.rules.map((rule) => ({ ...rule, enforce: false })) } }
  const concerned: JudgedPod[] = []
  const look = (pod: V1Pod, namespace: V1Namespace, template?: Template) => {
    const found = judgePod(pod, namespace, mirrored, webhooks, template)
    if (found === undefined) return
    const isRefused = found.standing.kind === 'refused'
    // What is refused whether its rules are enforced or not, check tells.
    if (isRefused && judgePod(pod, namespace, lax, webhooks, template)?.standing.kind === 'refused') return
    concerned.push(found)
  }
  await eachPod(place, look)
  const known = new Set(concerned.map(({ owner }) => ownerText(owner)))
  await eachTemplate(place, (pod, namespace, template) => {
    if (!known.has(ownerText(template.owner))) look(pod, namespace, template)
  })
  return judgePods(concerned, undefined).filter(({ kind }) => kind === 'pods-would-be-refused')
}

/** What pods are made from. */
interface Template {
  readonly owner: Owner
  readonly surroundings: Surroundings
}

/** The templates from which more pods will be made, but for those of workloads that something else makes again. */
async function eachTemplate(
  { objects, namespaces }: Place,
  look: (pod: V1Pod, namespace: V1Namespace, template: Template) => void,
): Promise<void> {
  const homes = new Map(namespaces.map((each) => [each.metadata?.name, each]))
  for (const kind of lastingKinds) {
    for await (const object of objects.items(kind)) {
      const { namespace = '', name = '', ownerReferences = [] } = object.metadata ?? {}
      const home = homes.get(namespace)
      if (home === undefined || ownerReferences.some(({ controller }) => controller)) continue
      const pod = manifestOf(object as unknown as Record<string, unknown>, kind, namespace)
      look(pod, home, { owner: { kind: kind.kind, namespace, name }, surroundings: kind.surroundings })
    }
  }
}

const fieldSelector = 'status.phase!=Succeeded,status.phase!=Failed'

interface JudgedPod {
  readonly name: string
  readonly owner: Owner
  /** No pod yet. */
  readonly isTemplate: boolean
  readonly created: Date | undefined
  readonly standing: Standing
  /** What would have to be let by in front of an enforced sidecar. */
  readonly inFront: readonly string[]
  /** Why no webhook sees its namespace, if none does. */
  readonly uncovered: Uncovered | undefined
}

/** undefined for a pod that nobody expects to be patched: its namespace isn't covered, and it doesn't ask or somebody opted out. */
export function judgePod(
  pod: V1Pod,
  namespace: V1Namespace,
  configuration: Configuration,
  webhooks: readonly V1MutatingWebhook[],
  template?: Template,
): JudgedPod | undefined {
  const { name = '', annotations = {} } = pod.metadata ?? {}
  const covers = covering(webhooks, namespace)
  if (covers.length === 0) {
    const optedOut = namespace.metadata?.labels?.[objectKeys.injection] === 'disabled'
    if (optedOut || annotations[keys.sidecars] === undefined) return undefined
  }
  const standing = standingOf(pod, configuration, covers, template?.surroundings)
  const uncovered = covers.length > 0 ? undefined : whyUncovered(webhooks, namespace)
  const owner = template?.owner ?? ownerOf(pod)
  const made = { isTemplate: template !== undefined, created: createdOf(pod) }
  return { name, owner, ...made, standing, inFront: inFront(pod, standing), uncovered }
}

/** The entries of `enforced.inFront` for what starts in front of an enforced sidecar. */
function inFront({ spec }: V1Pod, { kind, decision }: Standing): readonly string[] {
  if (kind !== 'refused') return []
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  return decision.reasons.flatMap((reason) => {
    if (reason.kind !== 'starts-in-front') return []
    const { image = '' } = all.find(({ name }) => name === reason.name) ?? {}
    // What nobody has pulled yet may be anything, a glob for all images, too.
    return image.includes('*') ? [] : [`{container: ${reason.name}, image: ${JSON.stringify(repositoryOf(image))}}`]
  })
}

/** @param since when the webhook configuration was created */
export function judgePods(all: readonly JudgedPod[], since: Date | undefined): readonly Finding[] {
  const owners = Map.groupBy(all, ({ owner }) => ownerText(owner))
  const findings = [...owners].flatMap(([owner, group]): Finding[] => {
    const of = (kind: Standing['kind'], finding: (about: About, one: JudgedPod) => Finding): Finding[] => {
      const some = group.filter(({ standing }) => standing.kind === kind)
      const [one] = some
      if (one === undefined) return []
      const names = some.map(({ name }) => name)
      if (one.isTemplate) return [finding({ owner: `pods of ${owner}`, affected: undefined, renew: '', some }, one)]
      const affected = one.owner.kind === 'Pod' ? undefined : { some: some.length, all: group.length }
      return [finding({ owner, affected, renew: renewal(one.owner, names), some }, one)]
    }
    return [
      ...of('missed', ({ some, ...about }, { standing, uncovered }) => {
        const due = dueOf(standing.decision)
        if (uncovered) return { kind: 'pods-uncovered', ...about, due, uncovered }
        return { kind: 'pods-missed', ...about, due, cause: causeOf(some, since) }
      }),
      ...of('refused', ({ some, ...about }, { standing }) => ({
        kind: 'pods-would-be-refused',
        ...about,
        why: standing.decision.reasons.map(coded).join('; '),
        inFront: [...new Set(some.flatMap(({ inFront }) => inFront))],
      })),
      ...of('unlocked', ({ some, ...about }) => {
        const lost = some.flatMap(({ standing }) => (standing.kind === 'unlocked' ? standing.containers : []))
        return { kind: 'pods-unlocked', ...about, names: [...new Set(lost)] }
      }),
      ...of('outdated', ({ some, ...about }) => ({ kind: 'pods-outdated', ...about })),
    ]
  })
  const right = all.filter(({ standing }) => standing.kind === 'right').length
  const left = all.filter(({ standing }) => standing.kind === 'left').length
  // One finding, as after an upgrade these are most of the pods.
  const older = all.flatMap(({ standing }) => (standing.kind === 'older' ? [standing.version] : []))
  const versions = [...new Set(older)].toSorted()
  const made = older.length === 0 ? [] : [{ kind: 'pods-older', count: older.length, versions } as const]
  return [{ kind: 'pods-counted', right, left }, ...made, ...findings]
}

/** Pods of one owner that stand alike. */
interface About {
  readonly owner: string
  readonly affected: { readonly some: number; readonly all: number } | undefined
  readonly renew: string
  readonly some: readonly JudgedPod[]
}

function causeOf(some: readonly JudgedPod[], since: Date | undefined): 'altered' | 'before-webhook' | 'late' {
  if (some.every(({ standing }) => standing.kind === 'missed' && standing.altered)) return 'altered'
  return since && some.every(({ created }) => created && created < since) ? 'before-webhook' : 'late'
}
