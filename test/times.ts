import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/** A reporter for scripts/test, which deals files by what it writes into the file TEST_TIMES: of each, how many ms its tests took. */
export default async function* (events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const took = new Map<string, number>()
  for await (const { type, data } of events) {
    if (type !== 'test:complete' || data.nesting > 0 || data.file === undefined) continue
    const file = relative('.', data.file)
    took.set(file, (took.get(file) ?? 0) + data.details.duration_ms)
  }
  const lines = [...took].map(([file, ms]) => `${Math.round(ms)} ${file}\n`)
  // Node's own way to write a reporter's file asks for what tests without processes may not do.
  if (process.env.TEST_TIMES) writeFileSync(process.env.TEST_TIMES, lines.join(''))
}
