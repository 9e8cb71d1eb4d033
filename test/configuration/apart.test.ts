import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { readApart } from '../../src/configuration/apart.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { large } from '../runs.ts'

const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
const rules = (count: number) =>
  Array.from({ length: count }, (_, n) => `- {name: r${n}, match: {image: "*a${n}b*"}, tier: 1, check: "tcp://:1"}\n`)

test('a configuration read apart is the one that is read here', async () => {
  for (const text of [
    '',
    head,
    `${head}nonsense: 1\n`,
    `${head}mode: observe\nrules:\n- {name: a, match: {preset: istio, namespaceSelector: {matchLabels: {a: b}}}}\n`,
    `${head}rules:\n${rules(1200).join('')}- {name: last, match: {container: x, podSelector: {matchLabels: {a: b}}}, tier: 2}\n`,
  ]) {
    assert.deepEqual(await readApart(text, '1.2.3'), readConfiguration(text, '1.2.3'))
  }
})

test('while many rules are read, everything else goes on', large, async () => {
  const reading = readApart(`${head}rules:\n${rules(1500).join('')}`, '1.2.3')
  let read = false
  const done = reading.then(({ ok }) => {
    read = true
    return ok
  })
  let turns = 0
  for (; !read; turns++) await turn()
  assert.ok(await done)
  assert.ok(turns > 100, `${turns} turns of the event loop`)
})
