import { formatLockRestarts } from '../check/duration.ts'
import { kindOf } from '../pod/kind.ts'
import type { Container, Hook, RunAs } from '../pod/pod.ts'
import type { LockRestarts, Waiter as WaiterConfiguration } from '../words/choices.ts'
import type { Json } from '../words/json.ts'
import { lockDirectory, lockMount } from './lock-names.ts'

/** The names of what we add to a pod. */
export const waiterName = 'sidecar-first-waiter'
export const waiterDirectory = '/.sidecar-first'
export const waiterPath = `${waiterDirectory}/wait`

/** The kernel takes 128 KiB in one argument of a program, its final NUL included; a quarter is left for what a newer version adds. */
export const mostArgument = 96 * 1024

/** The waiter's `--spec`, version 1. */
export interface WaiterSpec {
  readonly v: 1
  readonly checks: readonly SpecCheck[]
  /** The hook that was there before ours; it runs first. */
  readonly before?: Json
  /** Where the reason of a failure is written: the container's terminationMessagePath. */
  readonly message: string
  readonly lock?: SpecLock
}

/** What the waiter does beside waiting where the app is locked. */
export interface SpecLock {
  /** Emptied when the hook begins, written when the app may start. */
  readonly file: string
  readonly key: string
  /** The checks of earlier gates, asked once more before the file is written. */
  readonly earlier?: readonly Asked[]
  /** After which the hook returns and the waiting goes on behind it; absent: it doesn't. */
  readonly handOver?: string
  /** Absent: the file is leased, as far as the node can. */
  readonly lease?: 'off'
  /** How long a later start waits; absent: as long as `defaultLockRestarts` says. Waiters of before refuse both. */
  readonly restarts?: string
}

export const defaultLockRestarts: LockRestarts = 5000

/** @param restarts how long a later start waits; undefined: the file isn't leased */
export function leaseOf(restarts: LockRestarts | undefined): Pick<SpecLock, 'lease' | 'restarts'> {
  if (restarts === undefined) return { lease: 'off' }
  return restarts === defaultLockRestarts ? {} : { restarts: formatLockRestarts(restarts) }
}

/** A check without its bounds. */
export type Asked = Omit<SpecCheck, 'timeout' | 'onTimeout'>

export interface SpecCheck {
  readonly container: string
  readonly check: string
  /** A duration such as `1m30s`. */
  readonly timeout: string
  readonly onTimeout: 'fail' | 'continue'
  readonly headers?: readonly { readonly name: string; readonly value: string }[]
  /** What to ask for, read as the kubelet reads a probe's path, where `check` can't say it. */
  readonly path?: string
  readonly attemptTimeout?: string
  readonly successes?: number
}

/** A hook as replicas of before write it, who know no lease. */
export function withoutLease(hook: Hook | undefined): Hook | undefined {
  if (hook?.kind !== 'exec' || !runsWaiter(hook)) return hook
  const command = hook.command.map((word) => word.replace(/(?:,"lease":"off")?(?:,"restarts":"\w{1,12}")?\}\}$/, '}}'))
  return { ...hook, command }
}

export function runsWaiter(hook: Hook): boolean {
  return hook.kind === 'exec' && hook.command[0] === waiterPath
}

/** Read-only: no sidecar may change what another one's hook runs. */
export const waiterMount: Json = { name: waiterName, mountPath: waiterDirectory, readOnly: true }

/** Policies want a limit. The program has 7 MB, and twice that while a new sandbox replaces it. */
export const emptyDirVolume: Json = { name: waiterName, emptyDir: { sizeLimit: '32Mi' } }

export function imageVolume({ image, imagePullPolicy }: WaiterConfiguration): Json {
  return { name: waiterName, image: { reference: image, pullPolicy: imagePullPolicy } }
}

/** Where the waiter's image has it. */
export const waiterProgram = '/wait'

/** What the waiter image runs to copy itself; it also distinguishes our init container from others. */
const installCommand = [waiterProgram, 'install', waiterDirectory] as const
/** With a lock it empties all files first, so that a new sandbox begins closed. */
export const resetCommand = [...installCommand, '--reset', lockDirectory] as const

/** Whether an init container's command is one of ours, and which. */
export function installs(command: readonly string[]): 'without-reset' | 'with-reset' | undefined {
  const text = command.join('\n')
  if (text === installCommand.join('\n')) return 'without-reset'
  return text === resetCommand.join('\n') ? 'with-reset' : undefined
}

/** Whether a container stands where ours does, by its name; what else it has somebody may have changed. */
export const isInstaller = (container: Pick<Container, 'name' | 'list' | 'restartPolicy'>): boolean =>
  container.name === waiterName && kindOf(container) === 'init'

/** The user of the waiter's image. */
export const imageUser = 65532

/**
 * The init container that copies the waiter into the emptyDir. `resources` are the first sidecar's, so that quotas, LimitRanges and
 * the QoS class stay as they are, and so are the capabilities `dropped` by name, which some policies want although `ALL` has them. The volume, still empty then, also hides the service account token from it.
 * @param runAs what it has to name: OpenShift refuses numbers outside the namespace's range, so it names none where it needn't
 */
export function initContainer(
  { image, imagePullPolicy }: WaiterConfiguration,
  {
    resources,
    dropped,
    locked,
    runAs: { user, group },
  }: {
    readonly resources: { readonly [key: string]: Json }
    readonly dropped: readonly string[]
    readonly locked: boolean
    readonly runAs: RunAs
  },
): Json {
  return {
    name: waiterName,
    image,
    imagePullPolicy,
    command: locked ? resetCommand : installCommand,
    ...(Object.keys(resources).length > 0 ? { resources } : {}),
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL', ...dropped] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      ...(user === undefined ? {} : { runAsUser: user }),
      ...(group === undefined ? {} : { runAsGroup: group }),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    volumeMounts: [
      { name: waiterName, mountPath: waiterDirectory },
      ...(locked ? [lockMount] : []),
      { name: waiterName, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true },
    ],
  }
}
