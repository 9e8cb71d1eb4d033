import type { TestEvent } from 'node:test/reporters'

/** A reporter of Node's test runner: the files in which a test failed, a line each, with the first failure after a tab. */
export default async function* failed(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Set<string>()
  for await (const event of events) {
    if (event.type !== 'test:fail') continue
    const { file, name, details } = event.data
    if (file === undefined || files.has(file)) continue
    files.add(file)
    const { message } = details.error.cause instanceof Error ? details.error.cause : details.error
    yield `${file}\t${`${name}: ${message}`.replaceAll(/\s+/g, ' ').slice(0, 300).trim()}\n`
  }
}
