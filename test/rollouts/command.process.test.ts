import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from '../cli/process.ts'

/** `sidecar-first rollouts …`: its exit code and what it says of a wrong call. */
async function rollouts(...args: string[]): Promise<[number, string]> {
  const { code, stdout, stderr } = await run(['rollouts', ...args], { env: { KUBECONFIG: '/dev/null' } })
  return [code, stdout + stderr]
}

test('a wrong call is told in a line, and --help says what a right one is', async () => {
  const calls: [string[], RegExp][] = [
    [[], /missing action: run/],
    [['start'], /unknown action "start": run/],
    [['run', 'twice'], /run takes no "twice"/],
    [['run', '--lease', 'soon'], /--lease: "soon" is not a duration; use 1s to 1d/],
    [['run', '--resync', '2d'], /--resync: "2d" is out of range; use 1s to 1d/],
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
  assert.match(text, /^sidecar-first rollouts: SF014 the kubeconfig can't be read: .*\n$/)
  assert.equal(code, 1)
})
