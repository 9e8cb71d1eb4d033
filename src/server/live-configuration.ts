import type { Configuration } from '../admission/configuration.ts'

/** The configuration in force. Each request takes the one of its moment. */
export interface LiveConfiguration {
  readonly current: Configuration
  /** SHA-256 of the file's text, as the webhook configurations carry it; empty without a file. */
  readonly hash: string
  /** The file to watch; undefined where there is none. */
  readonly path: string | undefined
  /** Of the version at the start, `FILE:LINE:COLUMN: what`. */
  readonly notices: readonly string[]
  /** Looks at the file. A sound new version is taken; of a bad one the problems are given once, and the old one stays. */
  refresh(): Promise<Refreshed>
}

export type Refreshed =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'taken'; readonly notices: readonly string[] }
  | { readonly kind: 'rejected'; readonly problems: readonly string[] }

/** One without a file. */
export function fixedConfiguration(current: Configuration): LiveConfiguration {
  return { current, hash: '', path: undefined, notices: [], refresh: async () => ({ kind: 'unchanged' }) }
}
