import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { serve } from '../../src/cli/serve.ts'
import { run as runInside } from '../cli/inside.ts'
import { run } from '../cli/process.ts'
import { sharedPair, startPaired } from './pairs.ts'
import { startServe } from './process.ts'

test('the printed curl works when pasted', async () => {
  await using server = await startServe()
  await server.seen(/\nEOF\n/)
  const curl = /^curl [\s\S]*?^EOF$/m.exec(server.output())?.[0] ?? ''
  const { stdout } = await promisify(execFile)('bash', ['-c', curl])
  assert.match(stdout, /name: sidecar-first-waiter/)
  assert.ok(stdout.indexOf('- name: proxy') < stdout.indexOf('- name: app'))
})

test('a port in use is one clear line', async () => {
  await using server = await startPaired()
  const { code, stderr } = await runInside(serve, ...(await sharedPair()).flags, '--port', String(server.port))
  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`^sidecar-first serve: SF013 port ${server.port} .*in use.*\n$`))
})

for (const [name, args, pattern] of [
  ['an unknown command names the nearest', ['srve'], /did you mean serve\?/],
  ['a flag is named as well', ['version'], /did you mean --version\?/],
  ['no command', [], /Usage/],
  ['an unknown flag names the nearest', ['serve', '--prt', '1'], /'--prt'; did you mean --port\?\n/],
  ['a port that is none', ['serve', '--port', '70000'], /--port takes a number/],
  ['a route that is none', ['serve', '--routes', 'mutate'], /--routes takes admission or preview/],
  ['a level that is none', ['serve', '--log-level', 'loud'], /--log-level takes/],
  ['a duration that is none', ['serve', '--drain', 'soon'], /--drain/],
  ['--cert without --key', ['serve', '--cert', 'x'], /go together/],
  ['a configuration that is not there', ['serve', '--config', '/nowhere.yaml'], /nowhere\.yaml/],
] as const) {
  test(`wrong call: ${name}`, async () => {
    const [command, ...flags] = args
    const { code, stderr, stdout } = await (command === 'serve' ? runInside(serve, ...flags) : run(args))
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, pattern)
    assert.doesNotMatch(stderr, /\n\s+at /)
  })
}

test('--help and --version', async () => {
  assert.match((await run(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/)
  assert.match((await run(['--help'])).stdout, /serve/)
  const { code, stdout } = await run(['serve', '--help'])
  assert.equal(code, 0)
  assert.equal((await run(['help', 'serve'])).stdout, stdout)
  for (const flag of ['--port', '--host', '--cert', '--key', '--client-ca', '--config', '--routes', '--log-level']) {
    assert.ok(stdout.includes(flag))
  }
})
