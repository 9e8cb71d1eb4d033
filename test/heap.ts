import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** Bytes of the heap that somebody still refers to. */
export function heldBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}
