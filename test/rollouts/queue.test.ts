import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createQueue } from '../../rollouts/queue.ts'

/** A queue that notes what it works on; `work` may fail. */
function start(t: TestContext, work: (key: string) => Promise<void> | void) {
  const stop = new AbortController()
  const worked: string[] = []
  let waiting: { count: number; done: () => void } | undefined
  const queue = createQueue({
    async work(key) {
      worked.push(key)
      if (waiting && worked.length >= waiting.count) waiting.done()
      await work(key)
    },
    steady: () => performance.now(),
    signal: stop.signal,
    failed() {},
  })
  t.after(async () => {
    stop.abort()
    await queue.ended
  })
  return {
    queue,
    worked,
    after: (count: number) =>
      new Promise<void>((done) => {
        waiting = { count, done }
        if (worked.length >= count) done()
      }),
  }
}

test('a key that is added many times is worked on once, and once more if it was added meanwhile', async (t) => {
  const { queue, worked, after } = start(t, (key) => {
    if (worked.length === 1) for (let i = 0; i < 5; i++) queue.add(key)
  })
  for (let i = 0; i < 5; i++) queue.add('a')
  await after(2)
  queue.add('b')
  await after(3)
  assert.deepEqual(worked, ['a', 'a', 'b'])
})

test('what fails is tried again, and what is forgotten is not', async (t) => {
  const { queue, worked, after } = start(t, (key) => {
    if (key === 'forgotten') queue.forget(key)
    if (worked.filter((one) => one === key).length < 3) throw new Error('no')
  })
  queue.add('failing')
  await after(3)
  queue.add('forgotten')
  await after(4)
  queue.add('last', 300)
  await after(5)
  assert.deepEqual(worked, ['failing', 'failing', 'failing', 'forgotten', 'last'])
})
