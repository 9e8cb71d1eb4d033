import type { ExitCode } from './command.ts'
import { oneOf, port } from './flag.ts'
import { interrupted } from './interrupted.ts'
import { createLog, levels } from './log.ts'

/** Flags of a command that runs until it is stopped, with metrics and a log. */
export const runFlags = {
  options: {
    'metrics-port': { type: 'string', default: '8080' },
    'log-level': { type: 'string', default: 'info' },
  },
  choices: { 'log-level': levels },
  help: {
    metrics: '  --metrics-port PORT   metrics and health over HTTP (8080); 0 picks a free port',
    log: `  --log-level LEVEL     ${levels.join(', ')} (info)`,
  },
} as const

interface Values {
  readonly 'metrics-port': string
  readonly 'log-level': string
}

/** What such a command is given. */
interface Running {
  readonly log: ReturnType<typeof createLog>['log']
  /** Aborts at Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal
  readonly metricsPort: number
}

/** @throws UsageError that names the flag */
export const logOf = (values: Pick<Values, 'log-level'>): ReturnType<typeof createLog> =>
  createLog(oneOf('--log-level', values['log-level'], levels))

/** Runs it until it ends, and everything is logged. @throws UsageError that names the flag */
export async function untilStopped(values: Values, run: (running: Running) => Promise<void>): Promise<ExitCode> {
  const metricsPort = port('--metrics-port', values['metrics-port'])
  const { log, flush } = logOf(values)
  await run({ log, signal: interrupted(), metricsPort })
  await flush()
  return 0
}
