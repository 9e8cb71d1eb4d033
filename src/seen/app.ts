import { type Kind, kindOf } from '../admission/pod/kind.ts'
import type { Pod } from '../admission/pod/pod.ts'
import { partsOf } from '../admission/suggest/known.ts'

/** What presets know a container as, by its name or its image; `helper`: it belongs to an injector and to no start. Undefined: nothing. */
export type ByPreset = 'sidecar' | 'helper' | undefined

interface Candidate {
  readonly name: string
  readonly kind: Kind
  readonly byPreset: ByPreset
}

/**
 * Which containers are the app, for all who ask: regular ones that nobody names as sidecars, and that no preset knows as one: a mesh's proxy is none,
 * whether somebody names it or not. Where presets know all others, what isn't named is the app: a gateway's proxy beside a named sidecar.
 * @param named by annotations, rules or hooks
 */
export function appsOf<T extends Candidate>(containers: readonly T[], named: ReadonlySet<string>): readonly T[] {
  const regular = containers.filter(({ name, kind }) => kind === 'regular' && !named.has(name))
  const unknown = regular.filter(({ byPreset }) => byPreset === undefined)
  return unknown.length > 0 ? unknown : regular.filter(({ byPreset }) => byPreset !== 'helper')
}

/** The same, of a spec, by name. */
export function appNames(pod: Pod, named: ReadonlySet<string>): ReadonlySet<string> {
  const of = byPresets(pod)
  const all = [...pod.spec.initContainers, ...pod.spec.containers]
  const candidates = all.map((each) => ({ name: each.name, kind: kindOf(each), byPreset: of(each.name) }))
  return new Set(appsOf(candidates, named).map(({ name }) => name))
}

export function byPresets(pod: Pod): (name: string) => ByPreset {
  const { sidecars, apps } = partsOf(pod)
  const own = new Set(apps.map(({ name }) => name))
  const known = new Set(sidecars.map(({ container }) => container.name))
  return (name) => (own.has(name) ? undefined : known.has(name) ? 'sidecar' : 'helper')
}

/** For whom an app should wait: what is named and stays. */
export const isDue =
  (named: ReadonlySet<string>) =>
  ({ name, kind }: Pick<Candidate, 'name' | 'kind'>): boolean =>
    kind !== 'init' && named.has(name)
