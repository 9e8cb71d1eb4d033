import type { ExitCode } from './command.ts'
import type { Values } from './define-command.ts'
import { port } from './flag.ts'
import { interrupted } from './interrupted.ts'
import { createLog, levels } from './log.ts'

/** Flags of a command that runs until it is stopped, with metrics and a log. */
export const runFlags = {
  options: {
    'metrics-port': { type: 'string', read: port, default: '8080' },
    'log-level': { type: 'string', choices: levels, default: 'info' },
  },
  help: {
    metrics: '  --metrics-port PORT   metrics and health over HTTP (8080); 0 picks a free port',
    log: `  --log-level LEVEL     ${levels.join(', ')} (info)`,
  },
} as const

/** What such a command is given. */
interface Running {
  readonly log: ReturnType<typeof createLog>['log']
  /** Aborts at Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal
  readonly metricsPort: number
}

/** Runs it until it ends, and everything is logged. */
export async function untilStopped(
  flags: Values<typeof runFlags.options>,
  run: (running: Running) => Promise<void>,
): Promise<ExitCode> {
  const { log, flush } = createLog(flags['log-level'])
  await run({ log, signal: interrupted(), metricsPort: flags['metrics-port'] })
  await flush()
  return 0
}
