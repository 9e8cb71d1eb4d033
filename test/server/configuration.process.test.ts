import assert from 'node:assert/strict'
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { serve } from '../../src/cli/serve.ts'
import { configurationHash } from '../../src/webhooks/configurations.ts'
import { run } from '../cli/inside.ts'
import { SECOND, until } from '../until.ts'
import { call as callOnce } from './call.ts'
import { folder, startPaired } from './pairs.ts'
import { pod, review } from './reviews.ts'

// What is asked again and again until it changes is asked on one connection: a handshake each time would take most of the CPU.
const agent = new Agent({ keepAlive: true })
after(() => agent.destroy())
const call = (url: string, what: Parameters<typeof callOnce>[1]) => callOnce(url, { ...what, agent })

const configuration = (tier: string, more = '') => `apiVersion: sidecar-first.dev/v1
kind: Configuration
${more}rules:
- {name: a, match: {container: proxy}, tier: ${tier}, enforce: true}
`
const nothing = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
const silent = pod({ annotations: {} })

test("a ConfigMap's symlink swap is picked up everywhere; of a bad version the problems are told, and the old one stays", async () => {
  await using dir = await folder()
  const file = join(dir.path, 'configuration.yaml')
  // As the kubelet projects a ConfigMap: the file is a link through ..data, which is swapped in one step.
  let version = 0
  const publish = async (text: string | undefined) => {
    const name = `..v${++version}`
    await mkdir(join(dir.path, name))
    if (text !== undefined) await writeFile(join(dir.path, name, 'configuration.yaml'), text)
    await symlink(name, join(dir.path, '..tmp'))
    await rename(join(dir.path, '..tmp'), join(dir.path, '..data'))
  }
  await publish(nothing)
  await symlink(join('..data', 'configuration.yaml'), file)
  await using server = await startPaired(['--config', file])

  /** Whether the pod without annotations is a concern: of /mutate, /validate and /preview. */
  const concerned = async (): Promise<boolean[]> => {
    const body = JSON.stringify(review(silent))
    const mutated = await call(`${server.url}/mutate`, { body })
    const validated = await call(`${server.url}/validate`, { body })
    const previewed = await call(`${server.url}/preview`, { body })
    return [
      'patch' in (mutated.json as { response: object }).response,
      !(validated.json as { response: { allowed: boolean } }).response.allowed,
      (previewed.json as { results: { verdict: string }[] }).results[0]?.verdict === 'patched',
    ]
  }
  const metrics = async () => (await call(`${server.url}/metrics`, { method: 'GET' })).text
  const failures = async () => Number(/configuration_reload_failures_total (\d+)/.exec(await metrics())?.[1])
  const inForce = async (text: string) => (await metrics()).includes(`hash="${configurationHash(text)}"} 1`)

  assert.deepEqual(await concerned(), [false, false, false])
  assert.ok(await inForce(nothing))
  const good = configuration('1')
  await publish(good)
  await until('the good version in force', 60 * SECOND, () => inForce(good))
  assert.deepEqual(await concerned(), [true, true, true])
  await server.seen(/"msg":"configuration reloaded"/)

  const bad: (string | undefined)[] = [
    configuration('x'),
    '',
    undefined,
    `${good}---\n`,
    configuration('1', 'mod: x\n'),
  ]
  for (const [index, text] of bad.entries()) {
    await publish(text)
    await until('another rejected version', 60 * SECOND, async () => (await failures()) === index + 1)
    assert.deepEqual(await concerned(), [true, true, true])
    assert.ok(await inForce(good))
  }
  await server.seen(/configuration\.yaml:4:\d+: SF316 rules\[0\]\.tier takes a whole number/)
  assert.match(server.output(), /no such file/)

  const observing = configuration('1', 'mode: observe\n')
  await publish(observing)
  await until('the observing version in force', 60 * SECOND, () => inForce(observing))
  assert.deepEqual(await concerned(), [false, false, true])
  assert.equal(await failures(), bad.length)
})

test('a file that is written in place is taken once it is whole', async () => {
  await using dir = await folder()
  const file = join(dir.path, 'configuration.yaml')
  await writeFile(file, nothing)
  await using server = await startPaired(['--config', file])
  const metrics = async () => (await call(`${server.url}/metrics`, { method: 'GET' })).text
  const text = configuration('1', 'mode: observe\n')
  await rm(file)
  await writeFile(file, text)
  await until("the whole file's hash", 60 * SECOND, async () =>
    (await metrics()).includes(`hash="${configurationHash(text)}"`),
  )
  assert.match(await metrics(), /mode="observe"/)
})

test('a bad configuration at the start: every problem, and no server', async () => {
  await using dir = await folder()
  const file = join(dir.path, 'configuration.yaml')
  await writeFile(file, `${configuration('x')}- {name: a}\n`)
  const ended = await run(serve, '--port', '0', '--config', file)
  assert.equal(ended.code, 1)
  assert.equal(ended.stderr.trimEnd().split('\n').length, 4)
  assert.match(ended.stderr, /configuration\.yaml:4:\d+: SF316 rules\[0\]\.tier takes/)
})

test('notices are logged', async () => {
  await using dir = await folder()
  const file = join(dir.path, 'configuration.yaml')
  await writeFile(file, `${configuration('1')}- {name: b, match: {container: proxy}, tier: 1}\n`)
  await using server = await startPaired(['--config', file])
  await server.seen(/"level":"warn".*configuration\.yaml:5:3: SF\d{3} the rule b never matches/)
})
