import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

/** `sidecar-first rollouts …`: its exit code and what it says of a wrong call. */
async function rollouts(...args: string[]): Promise<[number, string]> {
  const child = spawn(process.execPath, ['src/main.ts', 'rollouts', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: '/dev/null' },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part))
  const [code] = await once(child, 'close')
  return [code, text]
}

test('a wrong call is told in a line, and --help says what a right one is', async () => {
  const calls: [string[], RegExp][] = [
    [[], /what shall be done: run\?/],
    [['start'], /what shall be done: run, not "start"\?/],
    [['run', 'twice'], /run takes no "twice"/],
    [['run', '--lease', 'soon'], /--lease takes a duration from 1s to 1d, such as 15s or 1m, not "soon"/],
    [['run', '--resync', '2d'], /--resync takes a duration from 1s to 1d, .* not "2d"/],
    [['run', '--metrics-port', '70000'], /--metrics-port takes a number from 0 to 65535/],
  ]
  const answers = await Promise.all(calls.map(([args]) => rollouts(...args)))
  for (const [index, [code, text]] of answers.entries()) {
    assert.match(text, calls[index]?.[1] ?? /never/)
    assert.equal(code, 2)
  }
  const [code, help] = await rollouts('--help')
  assert.match(help, /--waiter-image/)
  assert.equal(code, 0)
})

test('without a kubeconfig it says so and ends', async () => {
  const [code, text] = await rollouts('run', '--metrics-port', '0', '--resync', '1d')
  assert.match(text, /^sidecar-first: the kubeconfig can't be read: .*\n$/)
  assert.equal(code, 1)
})
