import { readFile, rename, writeFile } from 'node:fs/promises'
import type { Handover } from './ledger.ts'

/** Older ones are forgotten, in ms: the events of starts before that are gone. */
const longest = 3_600_000

/** What the process before has counted. Without a file that can be read, what was due before now. */
export async function readHandover(path: string | undefined, now: number): Promise<Handover> {
  const nothing = { until: now, except: new Set<string>() }
  if (path === undefined) return nothing
  const text = await readFile(path, 'utf8').catch(() => '')
  return text === '' ? nothing : (parsed(text, now) ?? nothing)
}

function parsed(text: string, now: number): Handover | undefined {
  try {
    const { until, except } = JSON.parse(text)
    if (typeof until !== 'number' || until > now || until < now - longest || !Array.isArray(except)) return undefined
    return { until, except: new Set(except.filter((uid) => typeof uid === 'string')) }
  } catch {
    return undefined
  }
}

export function createKeeper(path: string, failed: (error: Error) => void) {
  let next: Handover | undefined
  let writing: Promise<void> | undefined
  async function write() {
    for (let now = next; now !== undefined; now = next) {
      next = undefined
      await replace(path, now).catch(failed)
    }
    writing = undefined
  }
  return {
    /** Writes it soon; of several that come meanwhile, the last. */
    keep(handover: Handover): void {
      next = handover
      writing ??= write()
    },
    /** Until everything is written. */
    done: async () => writing,
  }
}

/** All of it or nothing. */
async function replace(path: string, { until, except }: Handover): Promise<void> {
  const half = `${path}.new`
  await writeFile(half, JSON.stringify({ until, except: [...except] }))
  await rename(half, path)
}
