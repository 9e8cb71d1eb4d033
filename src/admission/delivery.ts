import type { Configuration } from './configuration.ts'
import type { Intent } from './intent.ts'
import type { Json } from './operation.ts'
import type { Container, Spec } from './pod.ts'
import { emptyDirVolume, imageVolume, initContainer, installCommand, waiterDirectory, waiterName } from './waiter.ts'

/** What is still missing of the waiter's way into the pod. */
export interface DeliveryPlan {
  /** Containers without the waiter's mount. */
  readonly mounts: readonly Container[]
  readonly volume: Json | undefined
  readonly initContainer: Json | undefined
}

const nothing: DeliveryPlan = { mounts: [], volume: undefined, initContainer: undefined }

/**
 * Plans how the waiter reaches the containers whose hook runs it. What is there by our names and of our form stays as it is, even with
 * another image: somebody may have pointed it at a mirror.
 */
export function planDelivery(
  carriers: readonly Container[],
  firstSidecar: Container | undefined,
  intent: Intent,
  spec: Spec,
  { waiter }: Configuration,
  problems: string[],
): DeliveryPlan {
  if (carriers.length === 0 || firstSidecar === undefined) return nothing
  const taken = (what: string) => problems.push(`${what} is not ours; rename it, sidecar-first needs the name`)

  const volume = spec.volumes.find(({ name }) => name === waiterName)
  if (volume !== undefined && !volume.emptyDir && !volume.image) taken(`the volume ${waiterName}`)
  if (spec.containers.some(({ name }) => name === waiterName)) taken(`the container ${waiterName}`)
  const installer = spec.initContainers.find(({ name }) => name === waiterName)
  if (installer !== undefined && installer.command.join('\n') !== installCommand.join('\n'))
    taken(`the init container ${waiterName}`)
  const mounts = carriers.filter((container) => {
    const mount = container.mounts.find(({ mountPath }) => mountPath.replace(/\/+$/, '') === waiterDirectory)
    if (mount !== undefined && mount.name !== waiterName) taken(`the mount ${waiterDirectory} of ${container.name}`)
    return mount === undefined
  })

  const byImage = volume === undefined ? intent.delivery === 'image-volume' : volume.image
  return {
    mounts,
    volume: volume !== undefined ? undefined : byImage ? imageVolume(waiter) : emptyDirVolume,
    initContainer: byImage || installer !== undefined ? undefined : initContainer(waiter, firstSidecar.resources),
  }
}
