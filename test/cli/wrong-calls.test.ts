import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { check } from '../../src/cli/check.ts'
import { commands } from '../../src/commands.ts'
import { catalogue } from '../../src/messages/catalogue.ts'
import { failures } from '../../src/terminal/failures.ts'
import { run } from './inside.ts'

const environment = { ...process.env }
beforeEach(() => {
  process.env.KUBECONFIG = '/nowhere/config'
})
afterEach(() => {
  process.env.KUBECONFIG = environment.KUBECONFIG
  if (environment.KUBECONFIG === undefined) delete process.env.KUBECONFIG
})

/** Ways to call a command wrongly, made from its own flags. */
function* wrongCalls(name: string, options: Awaited<ReturnType<(typeof commands)[string]['load']>>['options']) {
  yield ['--no-such-flag']
  yield ['one', 'two', 'three', 'four']
  // A server would start.
  const serves = name === 'serve' ? ['host', 'client-ca'] : []
  for (const [flag, { type }] of Object.entries(options)) {
    if (type === 'boolean') yield [`--${flag}=yes`]
    else if (!serves.includes(flag)) {
      yield [`--${flag}`]
      yield [`--${flag}`, 'not a value']
    }
  }
}

for (const name of ['scan', 'timeline', 'check', 'try']) {
  test(`${name} with a namespace that can't be one, as of a variable that isn't set, asks no cluster`, async () => {
    const command = await commands[name]?.load()
    assert.ok(command)
    const subject = name === 'scan' ? [] : ['deploy/web']
    for (const namespace of ['', '..', 'a/b', 'A', 'a'.repeat(64), '--all']) {
      const { code, stderr } = await run(command, ...subject, `--namespace=${namespace}`)
      assert.match(stderr, /SF\d{3} --namespace takes the name of a namespace, not /, namespace)
      assert.equal(code, 2)
    }
    assert.match((await run(command, ...subject, '-n', 'shop')).stderr, /the kubeconfig can't be read/)
  })
}

for (const [name, { load }] of Object.entries(commands)) {
  test(`a wrong call of ${name} says its code, and exits with 2`, async () => {
    const command = await load()
    const codes = new Set<string>(catalogue.map(({ code }) => code))
    for (const args of wrongCalls(name, command.options)) {
      const { code, stderr } = await run(command, ...args)
      if (code === 0) continue // such as `install --image "not a value"`, which prints manifests
      // What is wrong in a configuration has its place in front.
      const [, told = ''] = /^(?:sidecar-first [a-z]+|.+:\d+:\d+): (SF\d{3}) ./.exec(stderr) ?? []
      assert.ok(codes.has(told), `${args.join(' ')}: ${stderr}`)
      const wrong = ['unknown-flag', 'flag-value', 'flags-together', 'wrong-arguments'] as const
      if (wrong.some((kind) => failures[kind].code === told)) assert.equal(code, 2, stderr)
    }
  })
}

test('every command ends a failure alike: its name, the reason, 1', async () => {
  const calls = ['check', 'check pod/a', 'timeline pod/a', 'install --apply', 'uninstall', 'rollout status']
  const certs = ['certs status', 'certs run', 'certs once', 'certs rotate leaf']
  for (const call of [...calls, 'rollouts run', ...certs]) {
    const [name = '', ...args] = call.split(' ')
    const { code, stdout, stderr } = await run((await commands[name]?.load()) ?? assert.fail(name), ...args)
    assert.deepEqual([code, stdout], [1, ''], call)
    assert.match(stderr, new RegExp(`^sidecar-first ${name}: SF014 the kubeconfig can't be read: .*\n$`))
  }
})

test('what a failure quotes can neither color a terminal nor reorder its text', async () => {
  process.env.KUBECONFIG = '/nowhere/\u001b[31m\u202econfig'
  const { stderr } = await run(check)
  assert.match(stderr, /^sidecar-first check: SF014 the kubeconfig can't be read: .*\/nowhere\/\?\[31m\?config.*\n$/)
})
