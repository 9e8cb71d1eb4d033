import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { Previewer, previewLimits } from '../../src/preview/previewer.ts'
import { share } from '../runs.ts'
import { SECOND, until } from '../until.ts'
import { slow } from './slow.ts'

const pod = 'kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: app}]}\n'
const configuration = defaultConfiguration('0.0.0')
const request = (body: string) => ({ body, contentType: undefined, wanted: 'application/json' as const, query: '' })

/** One with limits of its own, and as patient as a full machine needs; what it reports as its own fault ends up in `failures`. */
function start(limits = {}) {
  const failures: string[] = []
  const previewer = new Previewer((what) => failures.push(what), {
    ...previewLimits,
    patience: 10 * 60 * SECOND,
    ...limits,
  })
  return {
    failures,
    answer: (...asked: Parameters<Previewer['answer']>) => previewer.answer(...asked),
    async ask(body: string, signal?: AbortSignal) {
      const { status, body: answer, headers } = await previewer.answer(request(body), configuration, signal)
      return { status, headers, json: JSON.parse(answer) }
    },
    [Symbol.dispose]: () => previewer.stop(),
  }
}

test('what takes too long is ended, and said; the next one is answered', async () => {
  using previewer = start({ time: 1000 })
  const [late, next] = await Promise.all([previewer.ask(slow), previewer.ask(pod)])
  assert.deepEqual([late.status, late.json.problems], [422, []])
  assert.equal(late.json.error, 'the manifests take more than 1 s of CPU to preview; send fewer at a time')
  assert.equal(next.status, 200)
  // Its process has a copy of the configuration, and knows that there are no rules.
  assert.equal(next.json.results[0].reasons[0], 'no sidecar-first.dev/sidecars annotation')
  assert.deepEqual(previewer.failures, [])
})

/** The process that previews, a child of this one. */
async function processOf(): Promise<number> {
  const children = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
  return Number(children.trim().split(' ').at(-1))
}

test('what counts is the CPU a preview takes: a machine that is busy with other things costs it nothing', async () => {
  using previewer = start({ time: 2000 })
  assert.equal((await previewer.ask(pod)).status, 200)
  const pid = await processOf()
  process.kill(pid, 'SIGSTOP')
  const answer = previewer.ask(pod)
  await sleep(3000)
  process.kill(pid, 'SIGCONT')
  assert.equal((await answer).status, 200)
})

test('a process that gets no CPU at all holds nobody up for ever', async () => {
  using previewer = start({ patience: 15_000 })
  // On a full machine it may be stopped all by itself.
  const answered = () => until('an answer', 10 * 60 * SECOND, async () => (await previewer.ask(pod)).status === 200)
  await answered()
  process.kill(await processOf(), 'SIGSTOP')
  const [late] = await Promise.all([previewer.ask(pod), answered()])
  assert.equal(late.status, 503)
  assert.equal(late.json.error, 'this machine is too busy to preview that within 15 s; try again')
  assert.equal(late.headers?.['retry-after'], '1')
})

// In a thread this one would end the whole process: V8 finds the heap full in the middle of JSON.parse.
test('what takes too much memory ends its process alone, and is said', async () => {
  using previewer = start({ heap: 64 })
  const all = [`{"kind":"a","x":[${'{},'.repeat(2_000_000)}1]}`, '- a\n'.repeat(1_000_000)]
  for (const body of share(all)) {
    const { status, json } = await previewer.ask(body)
    assert.equal(status, 422)
    assert.equal(json.error, 'the manifests take more than 64 MiB to preview; send fewer at a time')
  }
  assert.equal((await previewer.ask(pod)).status, 200)
  assert.deepEqual(previewer.failures, [])
})

test('more than may wait are turned away, and who left is not waited for', async () => {
  using previewer = start({ time: 500, waiting: 2 })
  const gone = new AbortController()
  const answers = [previewer.ask(slow), previewer.ask(pod, gone.signal), previewer.ask(pod)]
  const { status, headers, json } = await previewer.ask(pod)
  assert.deepEqual([status, headers?.['retry-after']], [429, '1'])
  assert.match(json.error, /^2 previews are waiting/)
  gone.abort()
  const instead = await previewer.ask(pod)
  assert.equal(instead.status, 200)
  assert.equal((await answers[2])?.status, 200)
})

test('a changed configuration is taken from the next request on; an idle process ends and comes back', async () => {
  using previewer = start({ idle: 1 })
  const wanting =
    'kind: Pod\nmetadata: {annotations: {sidecar-first.dev/sidecars: "a,,"}}\nspec: {containers: [{name: a}]}\n'
  const verdict = async (changed = configuration) =>
    JSON.parse((await previewer.answer(request(wanting), changed)).body).results[0].verdict
  assert.equal(await verdict(), 'refused')
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(await verdict({ ...configuration, invalid: 'warn' }), 'skipped')
})

test('where no process can be started, the answer says so and the server goes on', async () => {
  using previewer = start()
  const path = process.execPath
  process.execPath = '/nowhere/node'
  try {
    const { status, json } = await previewer.ask(pod)
    assert.deepEqual([status, json.problems], [500, []])
  } finally {
    process.execPath = path
  }
  assert.match(previewer.failures.join(), /ENOENT/)
  assert.equal((await previewer.ask(pod)).status, 200)
})
