import type { V1Pod } from '@kubernetes/client-node'
import { defaultConfiguration } from '../admission/intent/configuration.ts'
import { mostContainers } from '../admission/pod/read.ts'
import { ownPreset } from '../admission/suggest/own.ts'
import type { SeenEvent } from '../seen/event.ts'
import { mostText } from '../seen/observe.ts'
import { type Owner, ownerText } from '../seen/owner.ts'
import { livePod } from '../seen/pod.ts'
import { workloadOf } from '../seen/workload.ts'
import { likeness as likeTrouble } from '../timeline/troubles.ts'
import { clockBehind, type Evidence, evidenceOf } from './evidence.ts'
import { type Mend, mendOf } from './mend.ts'
import { liveSubjectOf, noneOwn, type Own, type ScanSubject, without } from './subject.ts'
import { type StandingToday, standingToday, type Today, todayOf } from './today.ts'
import { type Certainty, certaintyOf, type Limit, type Sighting } from './words.ts'

/** A workload with a well-known sidecar. */
export interface ScannedWorkload {
  readonly owner: Owner
  /** 0 for a manifest. */
  readonly pods: number
  readonly sidecars: readonly ScannedSidecar[]
  /** Of the least guarded of its sidecars. */
  readonly standing: StandingToday
  /** What is surest first. */
  readonly seen: readonly Sighting[]
  readonly mend: Mend
  /** The pod to look at: one of which the surest thing was seen. */
  readonly example: string | undefined
  /** Where it stands in the input, for a manifest. */
  readonly place?: string
}

export interface ScannedSidecar {
  /** For people, as in `Istio`. */
  readonly title: string
  readonly preset: string
  readonly today: Today
  /** Whether nobody wants to hear of it. */
  readonly ignored?: boolean
}

/** What a scan has found. */
export interface Survey {
  readonly workloads: readonly ScannedWorkload[]
  /** Workloads and pods altogether, with and without such a sidecar, and the workloads with one. */
  readonly all: { readonly workloads: number; readonly pods: number; readonly known: number }
  readonly limits: readonly Limit[]
}

/** Takes pods one by one and keeps of each only what is said of its workload in the end. */
interface Surveyor {
  add(pod: V1Pod, warnings: readonly SeenEvent[] | undefined): void
  result(): Pick<Survey, 'workloads' | 'all' | 'limits'>
}

/** @param presets the only ones that are of interest; all if empty @param own sidecars, too @param now by the API server's clock, in ms */
export function createSurveyor({
  presets,
  own = noneOwn,
  version,
  now,
}: {
  presets: readonly string[]
  own?: Own
  version: string
  now: () => number
}): Surveyor {
  const configuration = defaultConfiguration(version)
  const owners = new Set<string>()
  const found = new Map<string, Tally>()
  const clocks = new Map<string, number>()
  let [pods, large] = [0, 0]
  let unmet = own
  return {
    add(pod, warnings) {
      // What is being deleted tells of its end, not of its start.
      if (pod.metadata?.deletionTimestamp !== undefined) return
      pods++
      const owner = workloadOf(pod)
      const key = ownerText(owner)
      owners.add(key)
      const behind = clockBehind(pod)
      const { nodeName: node = '' } = pod.spec ?? {}
      if (behind > (clocks.get(node) ?? 0)) clocks.set(node, behind)
      const { containers = [], initContainers = [] } = pod.spec ?? {}
      unmet = without(unmet, [...containers, ...initContainers])
      if (containers.length + initContainers.length > mostContainers) {
        large++
        return
      }
      const subject = narrowed(liveSubjectOf(pod, own), presets)
      if (!subject) return
      const today = todayOf(subject)
      const tally = found.get(key) ?? new Tally(owner)
      found.set(key, tally)
      const template = templateOf(pod)
      tally.newest(pod, template, () => ({
        sidecars: sidecarsOf(subject, today),
        mend: mendOf(pod, isGuarded(today), { job: ['Job', 'CronJob'].includes(owner.kind) }, configuration, own),
      }))
      tally.count(pod.metadata?.name ?? '', evidenceOf({ pod: livePod(pod, mostText), warnings, now: now() }, today))
    },
    result() {
      const workloads = [...found.values()].map((tally) => tally.workload()).toSorted(worstFirst)
      const [worst, ...others] = [...clocks].filter(([, ms]) => ms >= notable).toSorted(([, a], [, b]) => b - a)
      const limits: Limit[] = [
        ...(worst
          ? [
              {
                kind: 'clock-behind',
                node: worst[0],
                seconds: Math.floor(worst[1] / 1000),
                others: others.length,
              } as const,
            ]
          : []),
        ...(large > 0 ? [{ kind: 'pods-too-large', pods: large, most: mostContainers } as const] : []),
        ...nowhere(unmet),
      ]
      return { workloads, all: { workloads: owners.size, pods, known: found.size }, limits }
    },
  }
}

/** What `--sidecar` names and nothing has. */
export const nowhere = (unmet: Own): readonly Limit[] => [...unmet].map((name) => ({ kind: 'sidecar-nowhere', name }))

/** A clock that is so far behind is worth a word, in ms. */
const notable = 2000

export function narrowed(subject: ScanSubject | undefined, presets: readonly string[]): ScanSubject | undefined {
  if (!subject || presets.length === 0) return subject
  const sidecars = subject.sidecars.filter(({ preset }) => preset === ownPreset || presets.includes(preset.name))
  return sidecars.length > 0 ? { ...subject, sidecars } : undefined
}

export const sidecarsOf = ({ sidecars }: ScanSubject, today: readonly Today[]): readonly ScannedSidecar[] =>
  sidecars.flatMap(({ name, preset: { name: preset, title } }) => {
    const own = today.find(({ sidecar }) => sidecar === name)
    return own ? [{ title, preset, today: own }] : []
  })

export const isGuarded = (today: readonly Today[]): boolean =>
  today.every((each) => ['guarded', 'asks', 'late'].includes(standingToday(each)))

/** What pods of one template share; pods without it differ. */
function templateOf({ metadata }: V1Pod): string | undefined {
  const { labels = {} } = metadata ?? {}
  return labels['pod-template-hash'] ?? labels['controller-revision-hash'] ?? labels['rollouts-pod-template-hash']
}

type Described = Pick<ScannedWorkload, 'sidecars' | 'mend'>

class Tally {
  readonly #owner: Owner
  readonly #seen = new Map<string, { sighting: Sighting; example: string }>()
  #pods = 0
  #newest:
    | { readonly created: number; readonly template: string | undefined; readonly described: Described }
    | undefined

  constructor(owner: Owner) {
    this.#owner = owner
  }

  /** The newest pod says what the template is like now. */
  newest({ metadata }: V1Pod, template: string | undefined, describe: () => Described): void {
    const created = new Date(metadata?.creationTimestamp ?? 0).getTime()
    const before = this.#newest
    if (before && created <= before.created) return
    const same = before && template !== undefined && template === before.template
    this.#newest = { created, template, described: same ? before.described : describe() }
  }

  count(pod: string, evidence: readonly Evidence[]): void {
    this.#pods++
    for (const each of evidence) {
      const key = likeness(each)
      const before = this.#seen.get(key)
      const worse = !before || msOf(each) > msOf(before.sighting)
      const some = (before?.sighting.some ?? 0) + 1
      this.#seen.set(key, {
        sighting: { ...(worse ? each : before.sighting), some, all: 0 } as Sighting,
        example: worse ? pod : before.example,
      })
    }
  }

  workload(): ScannedWorkload {
    const { sidecars, mend } = this.#newest?.described ?? { sidecars: [], mend: { kind: 'nothing-to-mend' } as const }
    const seen = [...this.#seen.values()].toSorted((a, b) => rankOf(a.sighting) - rankOf(b.sighting))
    return {
      owner: this.#owner,
      pods: this.#pods,
      sidecars,
      standing: worstOf(sidecars),
      seen: seen.map(({ sighting }) => ({ ...sighting, all: this.#pods })),
      mend,
      example: seen[0]?.example,
    }
  }
}

const msOf = (evidence: object): number => ('ms' in evidence && typeof evidence.ms === 'number' ? evidence.ms : -1)

/** What containers say and how long things took differs from pod to pod. */
function likeness(evidence: Evidence): string {
  const { kind } = evidence
  switch (kind) {
    case 'started-later':
    case 'probe-failed':
      return `${kind} ${evidence.sidecar}`
    case 'trouble':
      return `${kind} ${likeTrouble(evidence)}`
    case 'down-beside':
      return `${kind} ${evidence.app} ${evidence.sidecar}`
    case 'app-failed':
      return `${kind} ${evidence.app} ${evidence.exitCode} ${evidence.ran}`
    case 'restarted':
      return `${kind} ${evidence.app}`
    case 'events-gone':
    case 'other-clock':
    case 'still-starting':
      return kind
    default:
      return kind satisfies never
  }
}

const standings: readonly StandingToday[] = ['unguarded', 'unknown', 'late', 'asks', 'guarded']
const certainties: readonly Certainty[] = ['sure', 'probable', 'unknown']

export const worstOf = (sidecars: readonly ScannedSidecar[]): StandingToday =>
  standings.find((standing) => sidecars.some(({ today, ignored }) => !ignored && standingToday(today) === standing)) ??
  'guarded'

/** The surest first, of those what was seen of most pods. */
const rankOf = (sighting: Sighting): number => certainties.indexOf(certaintyOf(sighting)) - sighting.some / 1e6

export const howMany = ({ seen }: ScannedWorkload, certainty: Certainty): number =>
  Math.max(0, ...seen.filter((each) => certaintyOf(each) === certainty).map(({ some }) => some))

/** By evidence, then by how little guards it. */
export function worstFirst(a: ScannedWorkload, b: ScannedWorkload): number {
  const title = ({ owner: { namespace, name, kind } }: ScannedWorkload) => `${namespace}/${name} ${kind}`
  return (
    howMany(b, 'sure') - howMany(a, 'sure') ||
    howMany(b, 'probable') - howMany(a, 'probable') ||
    standings.indexOf(a.standing) - standings.indexOf(b.standing) ||
    b.pods - a.pods ||
    (title(a) < title(b) ? -1 : 1)
  )
}
