// npm run test:hostile [-- --short]: what somebody can send to do harm, played against the shipped program in a cgroup of the shipped size, beside good
// traffic. Ends with 1 where a creation of a good pod failed, the process ended, or a bound is broken. Never for being slow.
import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type HostileBody, knownBodies, oddBodies, podBodies } from './bodies.ts'
import { manyImages, reviewOf, wideRules } from './pods.ts'
import { answerOf, post } from './post.ts'
import { type Attack, floods, rawRequests } from './requests.ts'
import { type Serving, serveCaged } from './serve.ts'
import { failures, startGood } from './traffic.ts'

const { values } = parseArgs({
  options: { short: { type: 'boolean', default: false }, only: { type: 'string' }, program: { type: 'string' } },
})
/** `hold`: in the long form beyond Node's limits on slow headers (10 s) and slow requests (30 s). `bytes`: a megabyte is almost what can be stored. */
const effort = values.short ? { hold: 3000, bytes: 250_000 } : { hold: 35_000, bytes: 1_000_000 }

interface Case {
  readonly name: string
  readonly run: (server: Serving) => Promise<Came>
}
/** What came of it, and how many megabytes it took, where it was a body. */
interface Came {
  readonly answered: string
  readonly megabytes?: number
}

const bodyCase = ({ name, make, times = 1, contentType }: HostileBody): Case => ({
  name: times > 1 ? `${name}, ${times} times` : name,
  async run({ url }) {
    const bytes = Buffer.from(make())
    const answered = new Set<string>()
    for (let time = 0; time < times; time++) answered.add(await post(`${url}/mutate`, bytes, contentType))
    return { answered: [...answered].join(', '), megabytes: (bytes.length * times) / 1e6 }
  },
})

const attackCase = ({ name, run }: Attack): Case => ({
  name,
  run: async ({ port }) => ({ answered: await run(port, effort) }),
})

const rulesCase: Case = {
  name: '10,000 globs are read, then 200 containers',
  async run(server) {
    await server.writeConfiguration(wideRules(10_000))
    await sleep(3000)
    const body = Buffer.from(reviewOf(manyImages(200)))
    return { answered: await post(`${server.url}/mutate`, body), megabytes: body.length / 1e6 }
  },
}

function* cases(): Generator<Case> {
  yield { name: 'good traffic alone', run: () => sleep(effort.hold, { answered: '' }) }
  for (const attack of rawRequests) yield attackCase(attack)
  for (const body of [...knownBodies, ...oddBodies, ...podBodies(effort.bytes)]) yield bodyCase(body)
  for (const attack of floods) yield attackCase(attack)
  yield rulesCase
}

const columns = [48, 32, 8, 8, 10, 6, 7, 5, 10] as const
const row = (...cells: readonly (string | number)[]): void => {
  const shown = cells.map((cell, index) => {
    const text = String(cell)
    const width = columns[index] ?? 8
    return index < 2 ? text.slice(0, width).padEnd(width) : text.padStart(width)
  })
  process.stdout.write(`${shown.join(' ').trimEnd()}\n`)
}

const server = await serveCaged('apiVersion: sidecar-first.dev/v1\nkind: Configuration\n', values.program)
const good = startGood(server)
const wrong: string[] = []
try {
  process.stdout.write(`${server.about}\n\n`)
  row('case', 'answered', 'CPU, s', 's a MB', 'peak, MiB', 'good', 'failed', 'late', 'stall, ms')
  await sleep(1500)
  await good.report()
  let baseline = 0
  let sent = 0
  for (const each of cases()) {
    if (values.only !== undefined && !new RegExp(values.only).test(each.name) && !each.name.startsWith('good')) continue
    const [start, cpu] = [performance.now(), server.cpu()]
    server.peak()
    const { answered, megabytes } = await each.run(server).catch((error: Error): Came => {
      wrong.push(error.message)
      return { answered: error.message }
    })
    await settled(server)
    const seconds = (performance.now() - start) / 1000
    const all = server.cpu() - cpu
    if (each.name === 'good traffic alone') baseline = all / seconds
    // What good traffic costs all the time is no matter of the case.
    const used = Math.max(0, all - (each.name === 'good traffic alone' ? 0 : baseline * seconds))
    const peak = server.peak()
    const seen = await good.report()
    const failed = failures(seen)
    sent += seen.sent
    row(
      each.name,
      answered,
      used.toFixed(2),
      megabytes ? (used / megabytes).toFixed(2) : '',
      peak.toFixed(0),
      seen.sent,
      failed,
      seen.late,
      seen.stall.toFixed(0),
    )
    for (const [why, count] of [...Object.entries(seen.failed), ...Object.entries(seen.missed)])
      wrong.push(`${each.name}: ${why} (${count})`)
    if (!(peak <= server.memory) && server.hasEnded() === undefined)
      wrong.push(`${each.name}: ${peak.toFixed(0)} MiB of ${server.memory}`)
    const ended = server.hasEnded()
    if (ended !== undefined) {
      wrong.push(`${each.name}: the server ended with ${ended}\n${server.said()}`)
      break
    }
  }
  if (server.hasEnded() === undefined) {
    await good.leave()
    server.terminate()
    const ended = await server.ended
    if (ended !== 0) wrong.push(`asked to end, it ended with ${ended}\n${server.said()}`)
  }
  process.stdout.write(`\n${sent} good pods\n`)
} finally {
  good.stop()
  await server.stop()
}
for (const each of wrong) process.stdout.write(`WRONG: ${each}\n`)
process.exitCode = wrong.length > 0 ? 1 : 0

/** Until the server answers again, so that what a case leaves behind is counted as its own. */
async function settled({ url, ended }: Serving): Promise<void> {
  const outgoing = request(`${url}/healthz`, { agent: false, rejectUnauthorized: false })
  outgoing.on('error', () => {})
  outgoing.end()
  const limit = sleep(60_000, undefined, { ref: false })
  const first = await Promise.race([answerOf(outgoing), ended, limit])
  if (typeof first === 'object') first.resume()
  await sleep(100)
}
