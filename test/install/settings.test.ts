import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { isCustomised, settle } from '../../src/install/settings.ts'

const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
const found = { kubernetesVersion: '1.36', delivery: 'image-volume' } as const

test('what the cluster can do is written where the file says nothing, and comments stay', () => {
  const text = settle(`# mine\n${head}waiter: {imagePullPolicy: Always} # ours\n`, { chosen: {}, found })
  assert.deepEqual(parse(text).waiter, { imagePullPolicy: 'Always', delivery: 'image-volume' })
  assert.equal(parse(text).kubernetesVersion, '1.36')
  assert.match(text, /^# mine\n[\s\S]*# ours\n/)
})

test("the file's own words stay, but for what a flag says", () => {
  const own = `${head}kubernetesVersion: "1.33"\nwaiter:\n  delivery: shell\n  image: a/waiter:1\n`
  assert.equal(settle(own, { chosen: {}, found }), own)
  assert.equal(parse(settle(own, { chosen: { waiterImage: 'b/waiter:2' }, found })).waiter.image, 'b/waiter:2')
  assert.equal(parse(settle(own, { chosen: { gate: 'native' } })).defaults.gate, 'native')
})

test('where the API server drops the lock, it is off, unless the file or a flag says otherwise', () => {
  const dropped = { ...found, lock: 'off' } as const
  const lockOf = (text: string, lock?: 'on' | 'auto') =>
    parse(settle(text, { chosen: { lock }, found: dropped })).defaults.lock
  assert.equal(lockOf(head), 'off')
  assert.equal(lockOf(`${head}defaults: {gate: native}\n`), 'off')
  assert.equal(lockOf(`${head}defaults: {lock: on}\n`), 'on')
  assert.equal(lockOf(head, 'auto'), 'auto')
  assert.equal(isCustomised(settle(head, { chosen: {}, found: dropped })), false)
})

test('a section that is there and empty can be written to', () => {
  assert.equal(parse(settle(`${head}waiter:\n`, { chosen: {}, found })).waiter.delivery, 'image-volume')
})

test('where nothing is to be said, no byte changes', () => {
  const odd = `${head}defaults:   {timeout:   90s}\n`
  assert.equal(settle(odd, { chosen: {} }), odd)
})

test('somebody’s work is told from what an installation writes by itself', () => {
  const standard = settle(head, { chosen: { waiterImage: 'a/waiter:1', gate: 'auto', lock: 'off' }, found })
  for (const ours of ['', head, standard, `${head}annotations: {checks: [probe]}\nrules: []\n`]) {
    assert.equal(isCustomised(ours), false, ours)
  }
  for (const theirs of [
    'mode: observe\n',
    'defaults: {timeout: 90s}\n',
    'rules: [{name: a}]\n',
    'waiter: {imagePullPolicy: Always}\n',
  ]) {
    assert.equal(isCustomised(head + theirs), true, theirs)
  }
})
