import type { Waiter as WaiterConfiguration } from './configuration.ts'
import type { Json } from './operation.ts'

/** What is ours in a pod, by name. */
export const waiterName = 'sidecar-first-waiter'
export const waiterDirectory = '/.sidecar-first'
export const waiterPath = `${waiterDirectory}/wait`

/** The waiter's `--spec`, version 1. */
export interface WaiterSpec {
  readonly v: 1
  readonly checks: readonly SpecCheck[]
  /** The hook that was there before ours; it runs first. */
  readonly before?: Json
  /** Where the reason of a failure is written: the container's terminationMessagePath. */
  readonly message: string
}

export interface SpecCheck {
  readonly container: string
  readonly check: string
  /** In the grammar of durations. */
  readonly timeout: string
  readonly onTimeout: 'fail' | 'continue'
  readonly headers?: readonly { readonly name: string; readonly value: string }[]
  readonly attemptTimeout?: string
  readonly successes?: number
}

/** Read-only: nothing in a sidecar may change what another one's hook runs. */
export const waiterMount: Json = { name: waiterName, mountPath: waiterDirectory, readOnly: true }

export const emptyDirVolume: Json = { name: waiterName, emptyDir: {} }

export function imageVolume({ image, imagePullPolicy }: WaiterConfiguration): Json {
  return { name: waiterName, image: { reference: image, pullPolicy: imagePullPolicy } }
}

/** What the waiter image runs to copy itself; also how our init container is told from somebody else's. */
export const installCommand = ['/wait', 'install', waiterDirectory] as const

/**
 * The init container that copies the waiter into the emptyDir. `resources` are the first sidecar's, so that quotas, LimitRanges and
 * the QoS class stay as they are. The volume, still empty then, also hides the service account token from it.
 */
export function initContainer(
  { image, imagePullPolicy }: WaiterConfiguration,
  resources: { readonly [key: string]: Json },
): Json {
  return {
    name: waiterName,
    image,
    imagePullPolicy,
    command: installCommand,
    ...(Object.keys(resources).length > 0 ? { resources } : {}),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    volumeMounts: [
      { name: waiterName, mountPath: waiterDirectory },
      { name: waiterName, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true },
    ],
  }
}
