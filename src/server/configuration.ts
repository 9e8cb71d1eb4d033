import { setTimeout as sleep } from 'node:timers/promises'
import type { Configuration } from '../admission/intent/configuration.ts'
import { type Remark, remarkText } from '../configuration/faults.ts'
import type { ReadConfiguration } from '../configuration/read.ts'
import { oneAtATime } from './one-at-a-time.ts'

/** The configuration in force. Each request uses the one that is current when it is answered. */
export interface LiveConfiguration {
  readonly current: Configuration
  /** SHA-256 of the file's text, as the webhook configurations carry it; empty without a file. */
  readonly hash: string
  /** The file to watch; undefined without one. */
  readonly path: string | undefined
  /** About the version that was read at the start, `FILE:LINE:COLUMN: what`. */
  readonly notices: readonly string[]
  /** Reads the file again. A good new version is taken; a bad one is reported once, and the old one stays. */
  refresh(): Promise<Refreshed>
}

type Refreshed =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'taken'; readonly notices: readonly string[] }
  | { readonly kind: 'rejected'; readonly problems: readonly string[] }

/** A configuration that doesn't come from a file. */
export function fixedConfiguration(current: Configuration): LiveConfiguration {
  return { current, hash: '', path: undefined, notices: [], refresh: async () => ({ kind: 'unchanged' }) }
}

type Opened =
  | { readonly ok: true; readonly configuration: LiveConfiguration }
  | { readonly ok: false; readonly problems: readonly string[] }

/** In ms. A file may be in the middle of being written: it is taken once two readings this far apart are the same. */
const settled = 100

/** Opens a configuration file, to be read again when it changes. `read` returns its text; if the first call throws, so does this. */
export async function openConfiguration(path: string, version: string, read: () => Promise<string>): Promise<Opened> {
  // Only here, since the YAML parser is large.
  const { readConfiguration } = await import('../configuration/read.ts')
  const { readApart } = await import('../configuration/apart.ts')
  const { configurationHash } = await import('../webhooks/configurations.ts')
  let text = await read()
  const first = readConfiguration(text, version)
  if (!first.ok) return { ok: false, problems: first.problems.map(lineOf) }
  let current: Configuration = first.configuration
  let hash = configurationHash(text)
  // What was read last, good or bad, so that each bad version is reported once.
  let seen = text

  async function look(): Promise<Refreshed> {
    const next = await readSettled()
    if (!next.ok) {
      const known = next.problem === seen
      seen = next.problem
      return known ? { kind: 'unchanged' } : { kind: 'rejected', problems: [next.problem] }
    }
    if (next.text === seen) return { kind: 'unchanged' }
    seen = next.text
    // After a bad version, back to the one in force.
    if (next.text === text) return { kind: 'unchanged' }
    const outcome = await readApart(next.text, version).catch((error) => {
      // Not the text's fault: it is tried again the next time.
      seen = text
      return ended(error)
    })
    if (!outcome.ok) return { kind: 'rejected', problems: outcome.problems.map(lineOf) }
    text = next.text
    current = outcome.configuration
    hash = configurationHash(text)
    return { kind: 'taken', notices: outcome.notices.map(lineOf) }
  }

  async function readSettled(): Promise<{ ok: true; text: string } | { ok: false; problem: string }> {
    let last = await attempt()
    while (!last.ok || last.text !== seen) {
      await sleep(settled)
      const next = await attempt()
      if (JSON.stringify(next) === JSON.stringify(last)) return next
      last = next
    }
    return last
  }

  async function attempt(): Promise<{ ok: true; text: string } | { ok: false; problem: string }> {
    try {
      return { ok: true, text: await read() }
    } catch (error) {
      return { ok: false, problem: error instanceof Error ? error.message : String(error) }
    }
  }

  const configuration: LiveConfiguration = {
    path,
    notices: first.notices.map(lineOf),
    get current() {
      return current
    },
    get hash() {
      return hash
    },
    refresh: oneAtATime(look),
  }
  return { ok: true, configuration }

  function ended(error: unknown): Extract<ReadConfiguration, { ok: false }> {
    return { ok: false, problems: [{ line: 1, column: 1, fault: { kind: 'unreadable', message: String(error) } }] }
  }

  function lineOf(remark: Remark): string {
    return remarkText(path, remark)
  }
}
