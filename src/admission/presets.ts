import type { Check } from './check.ts'

/** What is known of a sidecar that people run, from its own documentation. */
export interface Preset {
  readonly name: string
  /** As people write it: `Istio`, `Cloud SQL Proxy`. */
  readonly title: string
  /** The names its injector or its documentation gives the container. */
  readonly containers: readonly string[]
  /** Globs of its image; for a container whose name people choose themselves. */
  readonly images: readonly string[]
  /** What ready means, in the grammar of checks. */
  readonly check: Check
  readonly tier: number
  readonly meshProxy: boolean
  /** A PostStart hook of its own with these words in its command already waits: it is left as it is. */
  readonly ownHook: readonly string[] | undefined
  /** Checks that wait for the app, and so would deadlock. */
  readonly deadlocks: readonly Deadlock[]
  /** What people trip over, one sentence each. */
  readonly traps: readonly string[]
  /** Where its documentation says so. */
  readonly source: string
}

/** A path (of an http check) that answers only when the app is up. */
export interface Deadlock {
  readonly path: string
  /** What to use instead. */
  readonly instead: string
}

export const presets: readonly Preset[] = []

export function presetOf(name: string): Preset | undefined {
  return presets.find((preset) => preset.name === name)
}
