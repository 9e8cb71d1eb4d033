import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from '../cli/process.ts'

test('every command ends a failure alike: its name, the reason, 1', async () => {
  const calls = ['check', 'check pod/a', 'timeline pod/a', 'install --apply', 'uninstall', 'rollout status']
  const certs = ['certs status', 'certs run', 'certs once', 'certs rotate leaf']
  for (const call of [...calls, 'rollouts run', ...certs]) {
    const { code, stdout, stderr } = await run(call.split(' '), { env: { KUBECONFIG: '/nowhere/config' } })
    assert.deepEqual([code, stdout], [1, ''], call)
    const [name] = call.split(' ')
    assert.match(stderr, new RegExp(`^sidecar-first ${name}: SF014 the kubeconfig can't be read: .*\n$`))
  }
})

test('what a failure quotes can neither color a terminal nor reorder its text', async () => {
  const { stderr } = await run(['check'], { env: { KUBECONFIG: '/nowhere/\u001b[31m\u202econfig' } })
  assert.match(stderr, /^sidecar-first check: SF014 the kubeconfig can't be read: .*\/nowhere\/\?\[31m\?config.*\n$/)
})
