import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/** One line that is overwritten, on a terminal only. */
export function createStatusLine(out: Writable) {
  const shown = 'isTTY' in out && out.isTTY === true
  const columns = 'columns' in out && Number(out.columns) > 0 ? Number(out.columns) : 80
  let open = false
  return {
    shown,
    say(what: string) {
      if (!shown) return
      // Cut, because of a wrapped line only the last row could be overwritten.
      out.write(`\r\u001b[K${what.slice(0, columns - 1)}`)
      open = true
    },
    end() {
      if (open) out.write('\r\u001b[K')
      open = false
    },
  }
}

/** Says that the API server is too busy, and waits for so many ms. */
export const waitOut = (say: (what: string) => void) => async (ms: number) => {
  say(`The API server is too busy and wants to be asked again in ${Math.ceil(ms / 1000)} s…`)
  await sleep(ms)
  say('Asking the API server again…')
}
