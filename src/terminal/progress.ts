import type { Writable } from 'node:stream'
import { harmless } from './look.ts'

/** Reports what is being done, one line for each thing. */
export interface Progress {
  /** A thing is finished. */
  done(thing: string, state: string): void
  /** Something is being waited for. On a terminal the next line overwrites it; elsewhere each state is printed once. */
  waiting(thing: string, state: string): void
}

const width = 52

export function createProgress(out: Writable): Progress {
  const terminal = 'isTTY' in out && out.isTTY === true
  let open = false
  let last = ''
  // States quote what an API server or a pod says.
  const lineOf = (thing: string, state: string) => harmless(`${thing.padEnd(width)} ${state}`)
  const clear = () => (open ? '\r\u001b[K' : '')
  return {
    done(thing, state) {
      out.write(`${clear()}${lineOf(thing, state)}\n`)
      open = false
    },
    waiting(thing, state) {
      const line = lineOf(thing, state)
      if (line === last) return
      last = line
      if (!terminal) return void out.write(`${line}\n`)
      // Cut, because of a wrapped line only the last row could be overwritten.
      const columns = 'columns' in out && Number(out.columns) > 0 ? Number(out.columns) : 80
      out.write(clear() + line.slice(0, columns - 1))
      open = true
    },
  }
}
