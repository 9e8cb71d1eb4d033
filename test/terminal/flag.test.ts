import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certs } from '../../src/cli/certs.ts'
import { install } from '../../src/cli/install.ts'
import { rollout } from '../../src/cli/rollout.ts'
import { uninstall } from '../../src/cli/uninstall.ts'
import { run } from '../cli/inside.ts'

test('every --timeout takes the same durations', async (t) => {
  const before = process.env.KUBECONFIG
  t.after(() => {
    process.env.KUBECONFIG = before
  })
  process.env.KUBECONFIG = '/nowhere/config'
  const calls = [[install, '--apply'], [uninstall], [certs, 'once'], [rollout, 'status', 'shop', '--wait']] as const
  for (const [command, ...args] of calls) {
    for (const good of ['11m', '7d', '1h30m', '1s']) {
      const { code, stderr } = await run(command, ...args, '--timeout', good)
      assert.match(stderr, /the kubeconfig can't be read/)
      assert.equal(code, 1)
    }
    for (const bad of ['0s', '8d', '5', 'soon', '-1s']) {
      const { code, stderr } = await run(command, ...args, `--timeout=${bad}`)
      assert.match(stderr, /--timeout: .*; use 1s to 7d/)
      assert.equal(code, 2)
    }
  }
})
