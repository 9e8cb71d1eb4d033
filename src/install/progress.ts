import type { Writable } from 'node:stream'

/** Tells what is being done, a line a thing. */
export interface Progress {
  /** A thing is finished. */
  done(thing: string, state: string): void
  /** A thing is waited for. On a terminal the line is written over by what comes next; elsewhere it is said once for each state. */
  waiting(thing: string, state: string): void
}

const width = 52

export function createProgress(out: Writable): Progress {
  const terminal = 'isTTY' in out && out.isTTY === true
  let open = false
  let last = ''
  const lineOf = (thing: string, state: string) => `${thing.padEnd(width)} ${state}`
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
      // Cut, or a terminal would wrap it, and only its last row could be written over.
      const columns = 'columns' in out && Number(out.columns) > 0 ? Number(out.columns) : 80
      out.write(clear() + line.slice(0, columns - 1))
      open = true
    },
  }
}
