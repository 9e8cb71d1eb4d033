import type { Writable } from 'node:stream'
import { harmless } from './look.ts'
import { createStatusLine } from './status-line.ts'

/** Reports what is being done, one line for each thing. */
export interface Progress {
  /** A thing is finished. */
  done(thing: string, state: string): void
  /** Something is being waited for. On a terminal the next line overwrites it; elsewhere each state is printed once. */
  waiting(thing: string, state: string): void
}

const width = 52

export function createProgress(out: Writable): Progress {
  const { shown, say, end } = createStatusLine(out)
  let last = ''
  // States quote what an API server or a pod says.
  const lineOf = (thing: string, state: string) => harmless(`${thing.padEnd(width)} ${state}`)
  return {
    done(thing, state) {
      end()
      out.write(`${lineOf(thing, state)}\n`)
    },
    waiting(thing, state) {
      const line = lineOf(thing, state)
      if (line === last) return
      last = line
      if (shown) say(line)
      else out.write(`${line}\n`)
    },
  }
}
