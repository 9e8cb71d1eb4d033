import type { Spec, Variable } from '../pod/pod.ts'
import type { Json } from '../words/json.ts'

/**
 * The lock: a variable that comes from a file. As long as the file doesn't hold the key, the kubelet can't create the container. The names of what
 * it takes.
 */
export const lockVolume = 'sidecar-first-lock'
export const lockDirectory = '/.sidecar-first-lock'

/** In memory, so that a node that reboots forgets what was open. */
export const lockDir: Json = { medium: 'Memory', sizeLimit: '1Mi' }
export const lockMount: Json = { name: lockVolume, mountPath: lockDirectory }

/** Of the gate with a number, counted from 1 in the order in which they open. */
export const lockKey = (gate: number): string => `SIDECAR_FIRST_READY_${gate}`
export const lockFile = (gate: number): string => `${lockDirectory}/ready-${gate}`

/** Never `optional`: the file is empty while the gate is closed, and the container would start. */
export function lockVariable(gate: number): Json {
  const key = lockKey(gate)
  return { name: key, valueFrom: { fileKeyRef: { volumeName: lockVolume, path: `ready-${gate}`, key } } }
}

export const isLockKey = (name: string): boolean => /^SIDECAR_FIRST_READY_[0-9]+$/.test(name)

/** Whether a variable reads our volume, rightly or not, or did until a client dropped what it doesn't know: then it is ours to put right. */
export const readsLock = ({ name, file, isBare }: Variable): boolean =>
  file?.volume === lockVolume || (isBare && isLockKey(name))

/** Whether a pod with these volumes locks by a variable: without the volume, one that reads nothing is only a name. */
export const lockedBy =
  (volumes: Spec['volumes']) =>
  (variable: Variable): boolean =>
    readsLock(variable) && (!variable.isBare || volumes.some(({ name }) => name === lockVolume))

/** The gate whose lock a variable is; undefined if it isn't exactly what we write. */
export function lockOf({ name, file }: Variable): number | undefined {
  const gate = Number(/^SIDECAR_FIRST_READY_([1-9][0-9]{0,2})$/.exec(name)?.[1])
  if (Number.isNaN(gate) || file === undefined || file.volume !== lockVolume || file.optional) return undefined
  return file.key === name && file.path === `ready-${gate}` ? gate : undefined
}
