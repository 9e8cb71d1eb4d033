// npm run soak -- 10m: certificate and configuration are rewritten every second, good and bad, under good traffic and some hostile; at the end it is
// asked to stop under load. Ends with 1 where one creation of a good pod failed.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pair } from '../../certs/faults.ts'
import { durationRange, parseDuration } from '../../src/admission/check/duration.ts'
import { podBodies } from './bodies.ts'
import { post } from './post.ts'
import { rawRequests } from './requests.ts'
import { type Serving, serveCaged } from './serve.ts'
import { failures, startGood } from './traffic.ts'

const asked = parseDuration(process.argv[2] ?? '10m', durationRange('5s', '7d'))
if (!asked.ok) {
  process.stderr.write(`soak: ${asked.problem}\n`)
  process.exit(2)
}

const configuration = (lines = ''): string => `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${lines}`
const goodConfigurations = [
  configuration(),
  configuration('defaults: {timeout: 90s}\n'),
  configuration('rules:\n- {name: mesh, match: {container: istio-proxy}, tier: 1}\n'),
  configuration(
    `rules:\n${Array.from({ length: 1000 }, (_, index) => `- {name: r${index}, match: {container: c${index}}, tier: ${index}}\n`).join('')}`,
  ),
]
const bodies = podBodies(1_000_000)
const badConfigurations = [
  '',
  'rules: [',
  configuration('defaults: {timeout: for ever}\n'),
  configuration('no-such-key: 1\n'),
  configuration('rules:\n- {name: x}\n'),
  configuration().slice(0, 20),
  '\u0000'.repeat(1000),
]

const server = await serveCaged(configuration())
const good = startGood(server)
const wrong: string[] = []
const totals = { seconds: 0, pods: 0, failed: 0, again: 0, slowest: 0, stall: 0, peak: 0, unready: 0, hostile: 0 }
const written = { certificates: 0, badCertificates: 0, configurations: 0, badConfigurations: 0 }
const started = performance.now()
let going = true
try {
  process.stdout.write(`${server.about}\n`)
  const pairs = await Promise.all(Array.from({ length: 8 }, () => server.issue()))
  const bad = badPairs(pairs, await server.issue(new Date(Date.now() - 48 * 3_600_000)))
  const hostile = keepHostile(server)
  const end = performance.now() + asked.value
  for (let second = 0; performance.now() < end && server.hasEnded() === undefined; second++) {
    await rewrite(second, pairs, bad)
    await sleep(1000)
    if (second % 10 === 9) await progress()
  }
  going = false
  await hostile
  await progress()
  if (server.hasEnded() === undefined) await endUnderLoad()
} finally {
  good.stop()
  await server.stop()
}
report()
for (const each of wrong) process.stdout.write(`WRONG: ${each}\n`)
process.exitCode = wrong.length > 0 ? 1 : 0

/** A good version every other second, of one file or of both, and a bad one in between. */
async function rewrite(second: number, pairs: readonly Pair[], bad: readonly Pair[]): Promise<void> {
  if (second % 2 === 0) {
    const pair = pairs[(second / 2) % pairs.length]
    if (pair) await server.writePair(pair)
    written.certificates++
    await server.writeConfiguration(goodConfigurations[(second / 2) % goodConfigurations.length] ?? '')
    written.configurations++
  } else {
    const pair = bad[((second - 1) / 2) % bad.length]
    if (pair) await server.writePair(pair)
    written.badCertificates++
    await server.writeConfiguration(badConfigurations[((second - 1) / 2) % badConfigurations.length] ?? '')
    written.badConfigurations++
  }
}

/** Pairs that must not be served: expired, halves of two, cut off, empty, and no certificates at all. */
function badPairs(pairs: readonly Pair[], expired: Pair): readonly Pair[] {
  const [one, two] = pairs
  if (!one || !two) return []
  return [
    expired,
    { certificate: one.certificate, key: two.key },
    { certificate: one.certificate.slice(0, 300), key: one.key },
    { certificate: one.certificate, key: one.key.slice(0, 300) },
    { certificate: '', key: '' },
    { certificate: 'no certificate', key: 'no key' },
  ]
}

/** One hostile body and one odd request after the other. */
async function keepHostile({ url, port }: Serving): Promise<void> {
  for (let round = 0; going; round++) {
    const body = bodies[round % bodies.length]
    const attack = rawRequests[round % rawRequests.length]
    if (body) await post(`${url}/mutate`, Buffer.from(body.make()))
    if (attack && going) await attack.run(port, { hold: 0 }).catch((error: Error) => wrong.push(error.message))
    totals.hostile += 2
    await sleep(500)
  }
}

async function progress(): Promise<void> {
  count(await good.report())
  const { seconds, pods, failed, peak } = totals
  process.stdout.write(
    `${String(seconds).padStart(6)} s  ${pods} pods, ${failed} failed; ${server.logged('certificate reloaded')} certificates and ${server.logged('configuration reloaded')} configurations taken; ${server.resident().toFixed(0)} MiB, ${peak.toFixed(0)} at most\n`,
  )
}

function count(seen: Awaited<ReturnType<typeof good.report>>): void {
  totals.pods += seen.sent
  totals.failed += failures(seen)
  totals.again += seen.again
  totals.slowest = Math.max(totals.slowest, seen.slowest)
  totals.stall = Math.max(totals.stall, seen.stall)
  totals.unready += seen.unready
  totals.peak = Math.max(totals.peak, server.peak() || 0)
  totals.seconds = Math.round((performance.now() - started) / 1000)
  for (const [why, times] of [...Object.entries(seen.failed), ...Object.entries(seen.missed)])
    wrong.push(`${why} (${times})`)
}

/** As a Deployment does it: the pod is told to end, and is taken out of the Service a moment later. */
async function endUnderLoad(): Promise<void> {
  server.terminate()
  await sleep(5000)
  count(await good.leave())
  const ended = await server.ended
  if (ended !== 0) wrong.push(`asked to end under load, it ended with ${ended}`)
}

function report(): void {
  const reloads = [server.logged('certificate reloaded'), server.logged('configuration reloaded')]
  if (reloads.some((taken) => taken === 0)) wrong.push('nothing was reloaded')
  const ended = server.hasEnded()
  if (ended !== 0) wrong.push(`the server ended with ${ended}\n${server.said()}`)
  const rows = {
    seconds: totals.seconds,
    'good pods': totals.pods,
    '… failed': totals.failed,
    '… sent again since there was no place': totals.again,
    '… slowest, ms': Math.round(totals.slowest),
    'longest stall, ms': Math.round(totals.stall),
    'hostile requests': totals.hostile,
    'certificates written, good and bad': `${written.certificates}, ${written.badCertificates}`,
    '… taken': reloads[0],
    'configurations written, good and bad': `${written.configurations}, ${written.badConfigurations}`,
    '… taken ': reloads[1],
    'answers "not ready"': totals.unready,
    'peak, MiB': Math.round(totals.peak),
  }
  process.stdout.write('\n')
  for (const [label, value] of Object.entries(rows))
    process.stdout.write(`${label.padEnd(42)}${String(value).padStart(12)}\n`)
}
