import { type Logger, pino } from 'pino'

export const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type Level = (typeof levels)[number]

/**
 * JSON lines on standard output. They are written in batches, at most a quarter second late: one system call for each
 * admission would cost as much as deciding it. `flush` writes what is left, before the process ends.
 */
export function createLog(level: Level): { log: Logger; flush(): void } {
  const destination = pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 250 })
  // A reader that went away must not end the service.
  destination.on('error', () => {})
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
  return {
    log,
    flush() {
      try {
        destination.flushSync()
      } catch {
        // The reader is gone.
      }
    },
  }
}
