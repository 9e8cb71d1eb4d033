import {
  emptyDirVolume,
  imageUser,
  imageVolume,
  initContainer,
  installs,
  waiterDirectory,
  waiterName,
} from '../hook/waiter.ts'
import type { Configuration } from '../intent/configuration.ts'
import type { Container, RunAs, Spec } from '../pod/pod.ts'
import type { Json } from '../words/json.ts'
import type { Problem } from '../words/messages.ts'
import { isDirectory } from './directories.ts'
import type { LineUp } from './line-up.ts'

/** What is still missing for the waiter to get into the pod. */
export interface Delivery {
  /** Containers without the waiter's mount. */
  readonly mounts: readonly Container[]
  readonly volume: { readonly kind: 'emptyDir' | 'image'; readonly json: Json } | undefined
  readonly initContainer: Json | undefined
}

const nothing: Delivery = { mounts: [], volume: undefined, initContainer: undefined }

/**
 * Plans how the waiter reaches the containers whose hook runs it. Parts that have our names and our form stay as they are, even with
 * another image: somebody may have pointed it at a mirror.
 */
export function planDelivery(
  { pod: { spec }, intent, tiers }: LineUp,
  carriers: readonly Container[],
  { waiter }: Configuration,
  locked: boolean,
): { readonly delivery: Delivery; readonly problems: readonly Problem[] } {
  const firstSidecar = tiers[0]?.[0]?.container
  if (carriers.length === 0 || firstSidecar === undefined) return { delivery: nothing, problems: [] }
  const problems: Problem[] = []
  const taken = (what: 'volume' | 'container' | 'init container') =>
    problems.push({ kind: 'name-taken', what, name: waiterName })

  const volume = spec.volumes.find(({ name }) => name === waiterName)
  if (volume !== undefined && !volume.emptyDir && !volume.image) taken('volume')
  if (spec.containers.some(({ name }) => name === waiterName)) taken('container')
  const installer = spec.initContainers.find(({ name }) => name === waiterName)
  if (installer !== undefined && installs(installer.command) === undefined) taken('init container')
  const mounts = carriers.filter(({ name, mounts }) => {
    const mount = mounts.find(({ mountPath }) => isDirectory(mountPath, waiterDirectory))
    if (mount !== undefined && mount.name !== waiterName) {
      problems.push({ kind: 'mount-taken', name, directory: waiterDirectory })
    }
    return mount === undefined
  })

  const byImage = volume === undefined ? intent.delivery === 'image-volume' : volume.image
  const added = byImage
    ? ({ kind: 'image', json: imageVolume(waiter) } as const)
    : ({ kind: 'emptyDir', json: emptyDirVolume } as const)
  const delivery: Delivery = {
    mounts,
    volume: volume === undefined ? added : undefined,
    initContainer:
      byImage || installer !== undefined
        ? undefined
        : initContainer(waiter, {
            resources: firstSidecar.resources,
            dropped: firstSidecar.dropped(),
            locked,
            runAs: runAs(spec, tiers),
          }),
  }
  return { delivery, problems }
}

/**
 * Whom the init container has to name. The pod's user and group are its own as well, and so is its image's user, or one that OpenShift chooses; but
 * where each container names one, a policy may want that, and then an app's passes it. A sidecar's may be special: a mesh lets its proxy's
 * traffic alone.
 */
function runAs(spec: Spec, tiers: LineUp['tiers']): RunAs {
  const sidecars = new Set(tiers.flat().map(({ container }) => container))
  const apps = spec.containers.filter((container) => !sidecars.has(container))
  const named = [...apps, ...spec.containers.filter((container) => sidecars.has(container))].map((each) => each.runAs())
  const everywhere = (ids: readonly (number | undefined)[]) =>
    ids.includes(undefined) ? undefined : ids.find((id) => id !== undefined && id > 0)
  const { user, group } = spec.runAs()
  return {
    user: user ? undefined : (everywhere(named.map((each) => each.user)) ?? (user === 0 ? imageUser : undefined)),
    group: group ? undefined : everywhere(named.map((each) => each.group)),
  }
}
