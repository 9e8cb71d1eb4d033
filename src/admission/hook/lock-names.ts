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

/**
 * What a gate's file has to hold, and the name of the variable. Gates are counted from 1 in the order in which they open.
 * @param sidecar that the gate waits for: the kubelet's message has the key, and so names it. Containers' names have neither capitals nor `_`, so none
 * is written like another. The waiter takes nothing else in a key, and shells no `-` in a variable's name. Of a longer name the beginning is enough: an
 * answer may have 2048 of them, and the number says which it is.
 */
export function lockKey(gate: number, sidecar = ''): string {
  const number = `SIDECAR_FIRST_READY_${gate}`
  // The API server refuses a container with another name; until then anything may stand there.
  return /^[-a-z0-9]{1,63}$/.test(sidecar)
    ? `${number}_${sidecar.slice(0, 40).replaceAll('-', '_').toUpperCase()}`
    : number
}

/** A key, with or without a name. */
const keyPattern = /^SIDECAR_FIRST_READY_([1-9][0-9]{0,2})(?:_[_A-Z0-9]{1,40})?$/

export const lockFile = (gate: number): string => `${lockDirectory}/ready-${gate}`

/** Never `optional`: the file is empty while the gate is closed, and the container would start. */
export function lockVariable(key: string): Json {
  return { name: key, valueFrom: { fileKeyRef: { volumeName: lockVolume, path: fileOf(key), key } } }
}

/** In the lock's volume. */
const fileOf = (key: string): string => `ready-${keyPattern.exec(key)?.[1]}`

/** Whether a variable's name is the lock's, or looks like it. */
export const isLockKey = (name: string): boolean => /^SIDECAR_FIRST_READY_[0-9]+(?:_[_A-Z0-9]*)?$/.test(name)

/** Whether a variable reads our volume, rightly or not, or did until a client dropped what it doesn't know: then it is ours to put right. */
export const readsLock = ({ name, file, isBare }: Variable): boolean =>
  file?.volume === lockVolume || (isBare && isLockKey(name))

/** Whether a pod with these volumes locks by a variable: without the volume, one that reads nothing is only a name. */
export const lockedBy =
  (volumes: Spec['volumes']) =>
  (variable: Variable): boolean =>
    readsLock(variable) && (!variable.isBare || volumes.some(({ name }) => name === lockVolume))

/** The key that a variable waits for; undefined if it isn't exactly what we write. */
export function lockOf({ name, file }: Variable): string | undefined {
  if (!keyPattern.test(name) || file === undefined || file.volume !== lockVolume || file.optional) return undefined
  return file.key === name && file.path === fileOf(name) ? name : undefined
}
