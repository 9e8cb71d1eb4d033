import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { checkServerPair, isCovered } from '../../certs/faults.ts'
import { certs } from '../../src/cli/certs.ts'
import { run as runCommand } from '../cli/inside.ts'

const run = (...args: string[]) => runCommand(certs, ...args)

function folder(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'sidecar-first-issue-'))
  t.after(() => rmSync(dir, { recursive: true }))
  return { dir, text: (name: string) => readFileSync(join(dir, name), 'utf8'), path: (name: string) => join(dir, name) }
}

test('issue writes a CA and a leaf that it covers; keys are for their owner alone', async (t) => {
  const { dir, text, path } = folder(t)
  const { code, stderr } = await run(
    'issue',
    '--dir',
    dir,
    '--service',
    'hook',
    '--namespace',
    'here',
    '--dns-name',
    'localhost',
  )
  assert.equal(code, 0, stderr)
  for (const name of ['ca.key', 'tls.key']) assert.equal(statSync(path(name)).mode & 0o777, 0o600)
  const names = ['hook.here.svc', 'localhost']
  const pair = {
    certificate: text('tls.crt'),
    key: text('tls.key'),
    names,
    at: new Date(),
  }
  assert.deepEqual(checkServerPair(pair), [])
  assert.ok(isCovered(pair.certificate, { by: [text('ca.crt')], at: pair.at }))
})

test('a second issue keeps the CA, a damaged CA is replaced only when told to', async (t) => {
  const { dir, text, path } = folder(t)
  await run('issue', '--dir', dir)
  const [ca, leaf] = [text('ca.crt'), text('tls.crt')]
  assert.equal((await run('issue', '--dir', dir)).code, 0)
  assert.equal(text('ca.crt'), ca)
  assert.notEqual(text('tls.crt'), leaf)
  truncateSync(path('ca.key'), 100)
  const refused = await run('issue', '--dir', dir)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /can't sign: .*--force replaces it/)
  assert.equal(text('ca.crt'), ca)
  assert.equal((await run('issue', '--dir', dir, '--force')).code, 0)
  assert.notEqual(text('ca.crt'), ca)
})

test('lifetimes that would never settle are refused', async () => {
  for (const flags of [
    ['--leaf-life', '100d'],
    ['--settle', '11d'],
    ['--ca-life', '1y'],
    ['--leaf-life', '0d'],
  ]) {
    assert.equal((await run('issue', '--dir', '/nowhere', ...flags)).code, 2)
  }
  assert.match((await run('renew')).stderr, /unknown action "renew": run, once, status, rotate, issue/)
})
