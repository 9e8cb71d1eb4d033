import { setTimeout as sleep } from 'node:timers/promises'
import type { Configuration } from '../admission/configuration.ts'
import { type Remark, readConfiguration } from '../configuration/read.ts'
import { configurationHash } from '../webhooks/configurations.ts'
import type { LiveConfiguration, Refreshed } from './live-configuration.ts'
import { oneAtATime } from './one-at-a-time.ts'

export type Opened =
  | { readonly ok: true; readonly configuration: LiveConfiguration }
  | { readonly ok: false; readonly problems: readonly string[] }

/** A file may be in the middle of being written: it is taken once it has stayed the same for so many ms. */
const settled = 100

/** Opens a configuration file that is looked at again when it changes. `read` gives its text; what it throws at first is thrown on. */
export async function openConfiguration(path: string, version: string, read: () => Promise<string>): Promise<Opened> {
  let text = await read()
  const first = readConfiguration(text, version)
  if (!first.ok) return { ok: false, problems: first.problems.map(lineOf) }
  let current: Configuration = first.configuration
  let hash = configurationHash(text)
  // What was looked at last, good or bad, so that each bad version is reported once.
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
    // Back to what is in force, after a bad version.
    if (next.text === text) return { kind: 'unchanged' }
    const outcome = readConfiguration(next.text, version)
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

  function lineOf({ line, column, message }: Remark): string {
    return `${path}:${line}:${column}: ${message}`
  }
}
