import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createQueue } from '../../../rollouts/controller/queue.ts'

/** A queue that notes what it works on; `work` may fail. */
function start(t: TestContext, work: (key: string) => Promise<void> | void) {
  const stop = new AbortController()
  const worked: string[] = []
  let waiting: { count: number; done: () => void } | undefined
  const queue = createQueue<string>({
    groupOf: (key) => key,
    async work(key) {
      worked.push(key)
      if (waiting && worked.length >= waiting.count) waiting.done()
      await work(key)
      return false
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

test('the keys of a group one at a time, those of others at the same time, and a failure holds up its own group alone', async (t) => {
  const stop = new AbortController()
  const busy = new Set<string>()
  const done: string[] = []
  const all = Promise.withResolvers<void>()
  const others = Promise.withResolvers<void>()
  const queue = createQueue<string>({
    workers: 3,
    groupOf: (key) => key[0] ?? '',
    steady: () => performance.now(),
    signal: stop.signal,
    failed() {},
    async work(key) {
      const group = key[0] ?? ''
      assert.ok(!busy.has(group), `two of ${group} at once`)
      busy.add(group)
      // A group whose calls hang, until another has had all its turns.
      if (group === 'a') await Promise.race([others.promise, sleep(10_000, undefined, { ref: false })])
      else await sleep(1)
      busy.delete(group)
      done.push(key)
      if (key === 'b3') others.resolve()
      if (group === 'c' && done.filter((one) => one === key).length < 2) throw new Error('no')
      if (new Set(done).size === 6 && done.filter((one) => one === 'c1').length === 2) all.resolve()
      return false
    },
  })
  t.after(async () => {
    stop.abort()
    await queue.ended
  })
  for (const key of ['a1', 'a2', 'b1', 'b2', 'b3', 'c1']) queue.add(key)
  await all.promise
  assert.deepEqual(done.filter((key) => key.startsWith('b')).toSorted(), ['b1', 'b2', 'b3'])
  assert.ok(done.indexOf('b3') < done.indexOf('a1'), 'b does not wait for a')
})

test('a key that fails, urgent or not, never comes before those of its group that have waited for their turn', async (t) => {
  for (const [first, ...rest] of [
    ['bad', 'a', 'b'],
    ['a', 'bad', 'b'],
  ]) {
    const stop = new AbortController()
    const worked: string[] = []
    const enough = Promise.withResolvers<void>()
    const queue = createQueue<string>({
      groupOf: () => 'all',
      steady: () => performance.now(),
      signal: stop.signal,
      failed() {},
      async work(key) {
        worked.push(key)
        // What happens in the namespace wakes all of its keys, again and again.
        for (const one of ['bad', 'a', 'b']) queue.add(one)
        if (worked.length >= 10) enough.resolve()
        // The first time it says that it's urgent.
        if (key === 'bad' && worked.indexOf(key) < worked.length - 1) throw new Error('no')
        return key === 'bad'
      },
    })
    t.after(async () => {
      stop.abort()
      await queue.ended
    })
    for (const key of [first, ...rest]) queue.add(key ?? '')
    await enough.promise
    stop.abort()
    for (const key of ['a', 'b']) {
      assert.ok(worked.filter((one) => one === key).length >= 2, `${key} is starved: ${worked.join(' ')}`)
    }
  }
})
