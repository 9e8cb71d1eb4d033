import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Configuration } from '../admission/intent/configuration.ts'
import { type Remark, remarkText } from '../configuration/faults.ts'

/** The configuration in force. Each request uses the one that is current when it is answered. */
export interface LiveConfiguration {
  readonly current: Configuration
  /** SHA-256 of the file's text, as the webhook configurations carry it; empty without a file. */
  readonly hash: string
  /** The file to watch; undefined without one. */
  readonly path: string | undefined
  /** About the version that was read at the start, `FILE:LINE:COLUMN: what`. */
  readonly notices: readonly string[]
  /** Reads the file again, once the call before has ended. A good new version is taken; a bad one is reported once, and the old one stays. */
  refresh(): Promise<Refreshed | undefined>
}

/** What a new version of the file came to; undefined if there is none. */
type Refreshed =
  | { readonly taken: true; readonly notices: readonly string[] }
  | { readonly taken: false; readonly problems: readonly string[] }

/** A configuration that doesn't come from a file. */
export function fixedConfiguration(current: Configuration): LiveConfiguration {
  return { current, hash: '', path: undefined, notices: [], refresh: async () => undefined }
}

type Reading = { readonly text: string; readonly problem?: never } | { readonly text?: never; readonly problem: string }

/** In ms. A file may be in the middle of being written: it is taken once two readings this far apart are the same. */
const settled = 100

/** Opens a configuration file, to be read again when it changes. `read` returns its text; if the first call throws, so does this. */
export async function openConfiguration(path: string, version: string, read: () => Promise<string>) {
  // Only here, since the YAML parser is large.
  const { readConfiguration } = await import('../configuration/read.ts')
  const { readApart } = await import('../configuration/apart.ts')
  const { configurationHash } = await import('../webhooks/configurations.ts')
  const lines = (remarks: readonly Remark[]) => remarks.map((remark) => remarkText(path, remark))
  let text = await read()
  const first = readConfiguration(text, version)
  if (!first.ok) return { ok: false as const, problems: lines(first.problems) }
  let current: Configuration = first.configuration
  let hash = configurationHash(text)
  // What was read last, good or bad, so that each bad version is reported once.
  let seen = text

  async function look(): Promise<Refreshed | undefined> {
    const found = await readSettled()
    const last = seen
    seen = found.text ?? found.problem
    // After a bad version, it may be back to the one in force.
    if (seen === last || seen === text) return undefined
    if (found.text === undefined) return { taken: false, problems: [found.problem] }
    try {
      const outcome = await readApart(found.text, version)
      if (!outcome.ok) return { taken: false, problems: lines(outcome.problems) }
      text = found.text
      current = outcome.configuration
      hash = configurationHash(text)
      return { taken: true, notices: lines(outcome.notices) }
    } catch (error) {
      // Not the text's fault: it is tried again the next time.
      seen = text
      const fault = { kind: 'unreadable', message: String(error) } as const
      return { taken: false, problems: lines([{ line: 1, column: 1, fault }]) }
    }
  }

  async function readSettled(): Promise<Reading> {
    for (let last = await attempt(); ; ) {
      if (last.text === seen) return last
      await sleep(settled)
      const next = await attempt()
      if (isDeepStrictEqual(next, last)) return next
      last = next
    }
  }

  async function attempt(): Promise<Reading> {
    try {
      return { text: await read() }
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) }
    }
  }

  const configuration: LiveConfiguration = {
    path,
    notices: lines(first.notices),
    get current() {
      return current
    },
    get hash() {
      return hash
    },
    refresh: look,
  }
  return { ok: true as const, configuration }
}
