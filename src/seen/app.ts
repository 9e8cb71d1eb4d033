import { meshProxies } from '../admission/plan/order.ts'
import { type Kind, kindOf } from '../admission/pod/kind.ts'
import type { Container, Pod } from '../admission/pod/pod.ts'
import { partsOf } from '../admission/suggest/known.ts'

// Which containers of a pod are its app. There are three answers, each for those who ask it here, until one rule serves all.

type Named = { readonly name: string; readonly kind: Kind }

/** Of what happened: a regular container that nobody names as a sidecar. `check`, `timeline`, `starts` and the evidence of `scan` ask this. */
export const isApp =
  (named: ReadonlySet<string>) =>
  ({ name, kind }: Named): boolean =>
    kind === 'regular' && !named.has(name)

/** For whom such an app should wait: what is named and stays. */
export const isDue =
  (named: ReadonlySet<string>) =>
  ({ name, kind }: Named): boolean =>
    kind !== 'init' && named.has(name)

/** Of what is known by name or image: a regular container that no preset knows. Whether there is anything to scan for is decided by this. */
export const unknownApps = (pod: Pod, own?: ReadonlySet<string>): readonly Container[] => partsOf(pod, own).apps

/** Of a forecast: a regular container that isn't listed, and isn't a mesh's proxy with a hook of its own. */
export function forecastRole(container: Container, isListed: boolean): 'init' | 'sidecar' | 'app' {
  const kind = kindOf(container)
  if (isListed || kind === 'native') return 'sidecar'
  if (kind === 'init') return 'init'
  return meshProxies.has(container.name) && container.postStart !== undefined ? 'sidecar' : 'app'
}
