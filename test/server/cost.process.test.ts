import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { cpuTimeOf } from '../../bench/process.ts'
import { realisticReview } from '../../bench/server/review.ts'
import { hostilePods, type Manifest, reviewOf } from '../hostile/pods.ts'
import { runs } from '../runs.ts'
import { call } from './call.ts'
import { folder } from './pairs.ts'
import { type ServeProcess, startServe } from './process.ts'

const MiB = 1024 * 1024
/** MiB: what an admission may take, and what the server has already. */
const heap = 64 + 32
/** A probe's command may expand to 96 KiB, in the JSON of a patch twice that, in base64 a third more. */
const expanded = 256 * 1024
/** What an admission may cost, beside a plain body of its size that is parsed and then turned away. */
const most = 60
/** Nanoseconds that any admission may take: what small bodies cost is a matter of luck with V8's compiler. */
const floor = 20_000_000

const rules = Array.from({ length: 300 }, (_, index) => {
  const match = index % 3 === 0 ? `container: "*a*${index}"` : `image: "*/x${index}*"`
  return `- {name: r${index}, tier: ${index % 7}, match: {${match}, podSelector: {matchLabels: {a: b}}}}\n`
})
const files = await folder()
const servers: Readonly<Record<string, ServeProcess>> = {
  'without rules': await serve('none.yaml', ''),
  'with 300 rules and one for all': await serve(
    'many.yaml',
    `rules:\n${rules.join('')}- {name: all, tier: 8, match: {container: "*"}}\n`,
  ),
}
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
after(async () => {
  agent.destroy()
  for (const server of Object.values(servers)) await server[Symbol.asyncDispose]()
  await files[Symbol.asyncDispose]()
})

async function serve(file: string, lines: string): Promise<ServeProcess> {
  const config = `${files.path}/${file}`
  await writeFile(config, `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${lines}`)
  return startServe(['--config', config], [`--max-old-space-size=${heap}`])
}

const hostile = fc.record({
  kinds: fc.array(fc.constantFrom(...Object.keys(hostilePods)), { minLength: 1, maxLength: 2 }),
  // From a kilobyte to what can be stored, small ones as often as large ones.
  bytes: fc.double({ min: 3, max: 6.15, noNaN: true }).map((power) => Math.round(10 ** power)),
  to: fc.constantFrom(...Object.keys(servers)),
  path: fc.constantFrom('/mutate', '/validate'),
})

test('whatever a pod holds, CPU, heap and answer are within a fixed multiple of its size', async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async ({ kinds, bytes, to, path }) => {
      const server = servers[to]
      assert.ok(server)
      const body = reviewOf(mixed(kinds.map((kind) => hostilePods[kind]?.(Math.ceil(bytes / kinds.length)) ?? {})))
      const { cpu, answer } = await costOf(server, path, body, floor)
      assert.ok(answer <= Math.min(1.1 * MiB, 16 * body.length + expanded), `${body.length} bytes get ${answer}`)
      if (cpu <= floor) return
      const plain = await costOf(server, path, plainBody(body.length))
      assert.ok(
        cpu <= most * plain.cpu + floor,
        `${body.length} bytes take ${cpu / 1e6} ms of CPU, a plain body ${plain.cpu / 1e6}`,
      )
    }),
    // Smaller ones say nothing more: the size is part of what is tried.
    { ...runs(60), endOnFailure: true },
  )
})

/** The metadata of one, and the spec of another. */
function mixed(pods: readonly Manifest[]): Manifest {
  const [first = {}, second = first] = pods
  return { ...second, metadata: { ...(second.metadata as Manifest), ...(first.metadata as Manifest) } }
}

const review = realisticReview()
/** Ordinary reviews in a list. */
const plainBody = (length: number): string =>
  `[${Array(Math.max(1, Math.round(length / review.length)))
    .fill(review)
    .join(',')}]`

/** The CPU, in ns, is the least of three, or the first that is little enough: whatever else runs can only add to it. */
async function costOf({ url, child, errors }: ServeProcess, path: string, body: string, enough = 0) {
  const times: number[] = []
  let answer = 0
  for (let turn = 0; turn < 3; turn++) {
    const before = await cpuTimeOf(child.pid)
    const reply = await call(url + path, { body, agent }).catch((error: Error) => {
      throw new Error(`${body.length} bytes: ${error.message}; ${errors().slice(0, 200)}`)
    })
    answer = reply.text.length
    times.push((await cpuTimeOf(child.pid)) - before)
    if (Math.min(...times) <= enough) break
  }
  return { cpu: Math.min(...times), answer }
}
