import type { Writable } from 'node:stream'
import type { Look } from '../../src/terminal/look.ts'
import { logLines } from './log-lines.ts'
import { renderRollout } from './render.ts'
import type { RolloutView } from './view.ts'

/** Shows each view as it comes: on a terminal it replaces the previous one, elsewhere each change is a line. */
export interface Screen {
  show(view: RolloutView): void
}

/** @param look called for each view, since a window may be resized */
export function screen(out: Writable, look: () => Look): Screen {
  return 'isTTY' in out && out.isTTY === true ? redrawn(out, look) : logged(out)
}

function redrawn(out: Writable, look: () => Look): Screen {
  let drawn = 0
  return {
    show(view) {
      const height = 'rows' in out && typeof out.rows === 'number' ? out.rows : 24
      // All other lines must fit as well: what has scrolled away can't be drawn over.
      const lines = renderRollout(view, look(), Math.max(1, height - 11))
      const up = drawn > 0 ? `\u001b[${drawn}A\r\u001b[J` : ''
      out.write(`${up}${lines.join('\n')}\n`)
      drawn = lines.length
    },
  }
}

function logged(out: Writable): Screen {
  let before: RolloutView | undefined
  return {
    show(view) {
      for (const line of logLines(before, view)) out.write(`${line}\n`)
      before = view
    },
  }
}
