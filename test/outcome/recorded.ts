import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Seen } from './seen.ts'

const folder = join(import.meta.dirname, 'recorded')

/** Pods of every case, as a real node (1.36.3) showed them: `record.ts` records them again. */
export const recordedNames = readdirSync(folder).map((name) => name.replace('.json', ''))

export function recordedPod(name: string): Seen {
  const { now, ...seen } = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))
  return { ...seen, now: Date.parse(now) }
}
