import { setTimeout as sleep } from 'node:timers/promises'
import type { Terminal } from './command.ts'

/** One line that is overwritten, on a terminal only. */
export function createStatusLine({ stderr }: Pick<Terminal, 'stderr'>): {
  say: (what: string) => void
  end: () => void
} {
  const shown = 'isTTY' in stderr && stderr.isTTY === true
  const columns = 'columns' in stderr && typeof stderr.columns === 'number' ? stderr.columns : 80
  let open = false
  return {
    say(what) {
      if (!shown) return
      stderr.write(`\r\u001b[K${what.slice(0, columns - 1)}`)
      open = true
    },
    end() {
      if (open) stderr.write('\r\u001b[K')
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
