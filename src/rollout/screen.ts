import type { Writable } from 'node:stream'
import type { Look } from '../cli/look.ts'
import { changesOf } from './changes.ts'
import { renderRollout } from './render.ts'
import type { RolloutView } from './view.ts'

/** Shows each view as it comes: on a terminal in place of the one before, elsewhere what has changed, a line each. */
export interface Screen {
  show(view: RolloutView): void
}

/** @param look as it is at that moment: a window may be resized */
export function screen(out: Writable, look: () => Look): Screen {
  return 'isTTY' in out && out.isTTY === true ? redrawn(out, look) : logged(out)
}

function redrawn(out: Writable, look: () => Look): Screen {
  let drawn = 0
  return {
    show(view) {
      const height = 'rows' in out && typeof out.rows === 'number' ? out.rows : 24
      // The lines that are no pods must fit, too, or what scrolled away could not be drawn over.
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
      for (const line of changesOf(before, view)) out.write(`${line}\n`)
      before = view
    },
  }
}
