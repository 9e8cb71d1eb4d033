import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc')

/** Bytes of the heap that somebody still refers to. */
export function heldBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

/** The same and what V8 hasn't noticed yet, since most of the time it looks only through what is young. */
export function keptBytes(): number {
  collect({ type: 'minor' })
  return process.memoryUsage().heapUsed
}
