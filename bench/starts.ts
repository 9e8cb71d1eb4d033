/**
 * npm run bench:starts -- [PODS]: what `starts run` needs for a cluster in which all of so many pods (10,000) start within two minutes, the worst
 * there is: each of some 20 kB, as an injector leaves it, with 15 events. The API server is a plain one on loopback. Prints memory and CPU.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { manifests } from '../src/install/manifests.ts'
import { makeCage } from '../test/hostile/cage.ts'
import { fakeApiServer } from '../test/starts/api-server.ts'
import { eventsOf, podAt } from '../test/starts/pods.ts'
import { cpuTimeOf, memoryOf } from './process.ts'

const count = Number(process.argv[2] ?? 10_000)
const [text = ''] = (manifests['starts/starts.yaml'] ?? '').split('\n---\n')
const [{ env }] = parse(text).spec.template.spec.containers
await using server = await fakeApiServer()
const folder = mkdtempSync(join(tmpdir(), 'bench-starts-'))
const file = join(folder, 'kubeconfig')
writeFileSync(file, server.kubeconfig.exportConfig())
const options: string = env.find(({ name }: { name: string }) => name === 'NODE_OPTIONS').value
// As much as the manifests allow, files counted in.
const cage = makeCage(128 * 1024 * 1024)
const caged = typeof cage === 'string' ? undefined : cage
console.log(caged ? `in 128 MiB (${caged.name})` : `without a limit: ${cage}`)
const enter = caged ? `echo $$ >${caged.door}; ` : ''
const call = ['dist/sidecar-first.mjs', 'starts', 'run', '--metrics-port=0', `--state=${folder}/state`]
const child = spawn('/bin/sh', ['-c', `${enter}exec "$@"`, 'sh', process.execPath, ...call], {
  cwd: join(import.meta.dirname, '..'),
  env: { ...process.env, KUBECONFIG: file, NODE_OPTIONS: options },
  stdio: ['ignore', 'pipe', 'inherit'],
})
child.on('exit', (code, signal) => {
  if (code === 0) return
  console.log(`it ended by ${signal ?? code}: too much memory?`)
  process.exit(1)
})
const lines = createInterface({ input: child.stdout })
const port = await new Promise<number>((resolve) =>
  lines.on('line', (line) => JSON.parse(line).port && resolve(JSON.parse(line).port)),
)
const metrics = async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
const value = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (.+)$`, 'gm'))].reduce((sum, [, each]) => sum + Number(each), 0)

const own = () => memoryOf(child.pid, 'RssAnon')
let most = 0
const watching = setInterval(async () => {
  most = Math.max(most, await own())
}, 200)
const show = async (what: string) => {
  // What a cgroup has to hold; the rest is the program's own file, shared and given back at need.
  const [mine, all] = [await own(), await memoryOf(child.pid, 'VmRSS')]
  most = Math.max(most, mine)
  const [now, peak, files] = [mine, most, all].map((kib) => Math.round(kib / 1024))
  const cpu = ((await cpuTimeOf(child.pid)) / 1e9).toFixed(1)
  console.log(`${what.padEnd(44)} ${now} MiB of its own (at most ${peak}), ${files} with files; ${cpu} s of CPU`)
}

while (server.watching() < 3) await sleep(100)
await show('an empty cluster')
const filler = Array.from({ length: 60 }, (_, index) => ({ name: `VARIABLE_${index}`, value: 'x'.repeat(150) }))
for (let index = 0; index < count; index++) {
  const life = {
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    given: Date.now() - 2000,
    app: 800,
    proxy: 1000,
    fails: undefined,
    gone: Number.POSITIVE_INFINITY,
    node: `node-${index % 200}`,
    ahead: 0,
  }
  const pod = podAt(life, Date.now())
  if (!pod?.spec) throw new Error('it must be there')
  const containers = pod.spec.containers.map((each) => ({ ...each, env: filler }))
  const whole = { ...pod, spec: { ...pod.spec, containers } }
  server.put('pods', whole)
  for (let round = 0; round < 3; round++) {
    for (const { event } of eventsOf(life)) {
      const name = `${round}-${event.metadata.name}`
      const reason = round === 0 ? event.reason : ['Created', 'Unhealthy'][round - 1]
      server.put('events', {
        ...event,
        metadata: { name, namespace: 'shop' },
        reason,
        message: 'Readiness probe failed: 503',
      } as object)
    }
  }
  // A big cluster after its restart; faster, its own API server would be the limit.
  if (index % 20 === 0) await sleep(100)
}
while (value(await metrics(), 'sidecar_first_starts_pending') < count) await sleep(1000)
await show(`${count} pods that start at once`)
while (value(await metrics(), 'sidecar_first_starts_total') < count) await sleep(5000)
await show('all counted')
console.log(
  (await metrics()).match(/^sidecar_first_(?:starts_omitted|starts|early_starts)_total.*[1-9]\d*$/gm)?.join('\n'),
)
clearInterval(watching)
child.kill('SIGTERM')
await new Promise((resolve) => child.on('exit', resolve))
rmSync(folder, { recursive: true })
caged?.remove()
