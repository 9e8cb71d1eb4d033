import type { Problem } from './messages.ts'

/** What a parser returns: the value, or one problem that a user can act on. */
export type Parsed<T, P = Problem> = { readonly ok: true; readonly value: T } | Failed<P>
export interface Failed<P = Problem> {
  readonly ok: false
  readonly problem: P
}

export const parsed = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value })
export const problem = <P>(problem: P): Failed<P> => ({ ok: false, problem })
