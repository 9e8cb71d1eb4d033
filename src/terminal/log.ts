import { write } from 'node:fs'
import { type Logger, pino } from 'pino'

export const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
type Level = (typeof levels)[number]

/**
 * JSON lines on standard output. They are written in batches, at most a quarter of a second late: one system call for each
 * admission would cost as much as deciding it. `flush` waits up to a second until everything is written.
 */
export function createLog(level: Level): { log: Logger; inform: Inform; flush(): Promise<void> } {
  const lines = createLines(1)
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    lines,
  )
  const informs = log.isLevelEnabled('info')
  const inform: Inform = (fields, msg) => {
    if (informs) lines.write(`${JSON.stringify({ level: 'info', time: new Date().toISOString(), ...fields, msg })}\n`)
  }
  return { log, inform, flush: lines.flush }
}

/** Writes the line that `log.info` would, in a fraction of the time: each admission has one. */
export type Inform = (fields: Readonly<Record<string, unknown>>, message: string) => void

const batch = 65_536
const delay = 250
/** How many characters may wait for a reader that has stopped reading. */
const room = 4 * 1024 * 1024

// process.stdout blocks on a full pipe, and pino's own destination retries for ever once the reader is gone. Here a slow or missing reader
// costs log lines, never an admission.
function createLines(fd: number) {
  let waiting = ''
  let writing = false
  let timer: NodeJS.Timeout | undefined
  let idle = Promise.withResolvers<void>()

  function send(rest?: Buffer): void {
    clearTimeout(timer)
    timer = undefined
    if (rest === undefined && (writing || waiting === '')) {
      if (!writing) idle.resolve()
      return
    }
    const chunk = rest ?? Buffer.from(waiting)
    if (rest === undefined) waiting = ''
    writing = true
    write(fd, chunk, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(send, delay, chunk)
      else if (!error && written < chunk.length) send(chunk.subarray(written))
      else {
        writing = false
        if (waiting.length >= batch) send()
        else schedule()
      }
    })
  }
  function schedule(): void {
    if (waiting === '') idle.resolve()
    else timer ??= setTimeout(() => send(), delay)
  }

  return {
    write(line: string): void {
      if (waiting.length > room) return
      waiting += line
      if (writing) return
      if (waiting.length >= batch) send()
      else schedule()
    },
    async flush(): Promise<void> {
      idle = Promise.withResolvers()
      send()
      const limit = setTimeout(idle.resolve, 1000)
      await idle.promise
      clearTimeout(limit)
    },
  }
}
