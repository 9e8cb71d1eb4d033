import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rollouts } from '../../src/cli/rollouts.ts'
import { run } from '../cli/inside.ts'

test('a wrong call is told in a line', async () => {
  const calls: [string[], RegExp][] = [
    [[], /missing action: run/],
    [['start'], /unknown action "start": run/],
    [['run', 'twice'], /run takes no "twice"/],
    [['run', '--lease', 'soon'], /--lease: "soon" is not a duration; use 1s to 1d/],
    [['run', '--resync', '2d'], /--resync: "2d" is out of range; use 1s to 1d/],
    [['run', '--metrics-port', '70000'], /--metrics-port takes a number from 0 to 65535/],
  ]
  for (const [args, says] of calls) {
    const { code, stdout, stderr } = await run(rollouts, ...args)
    assert.match(stderr, says)
    assert.deepEqual([code, stdout], [2, ''])
  }
  assert.match(rollouts.help, /--waiter-image/)
})
