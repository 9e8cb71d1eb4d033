import type { FailureKind } from './failure.ts'

/** Where a controller's lines for people go; never anything of a key. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** A line for a failed call. A conflict is how replicas and other writers take turns: the loop looks again. */
export function logFailure(log: Log, kind: FailureKind, error: unknown): void {
  log[kind === 'conflict' ? 'info' : 'warn']({ kind }, error instanceof Error ? error.message : String(error))
}
