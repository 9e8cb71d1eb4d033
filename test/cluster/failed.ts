import type { TestEvent } from 'node:test/reporters'

/** A reporter of Node's test runner: the files in which a test failed, a line each. */
export default async function* failed(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files = new Set<string>()
  for await (const event of events) {
    if (event.type !== 'test:fail') continue
    const { file } = event.data
    if (file === undefined || files.has(file)) continue
    files.add(file)
    yield `${file}\n`
  }
}
