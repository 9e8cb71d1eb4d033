import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { phaseRules as rules, updating } from '../../../rollouts/controller/phase-rules.ts'
import { phases } from '../../../rollouts/types.ts'

const page = new URL('../../../docs/rollouts.md', import.meta.url)
const marked = /(<!-- phase rules -->\n)[\s\S]*?(<!-- \/phase rules -->)/

test('docs/rollouts.md lists the rules by which a phase is decided, in their order', () => {
  const rows = rules.map(({ name, when, phase, reason }) => {
    const why = reason === 'held' ? 'what it waits for' : `\`${reason}\``
    return `| ${name} | ${when} | \`${phase}\` | ${why} |`
  })
  const text = readFileSync(page, 'utf8')
  assert.match(text, marked)
  const wanted = text.replace(
    marked,
    `$1\n${['| rule | holds if | phase | reason |', '|---|---|---|---|', ...rows].join('\n')}\n\n$2`,
  )
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(page, wanted)
  assert.equal(readFileSync(page, 'utf8'), wanted, 'stale: UPDATE_GOLDEN=1 refreshes it')
})

test('each phase has a rule, no two rules have a name, and the last rule holds always', () => {
  assert.deepEqual([...new Set(rules.map(({ phase }) => phase))].toSorted(), [...phases].toSorted())
  assert.equal(new Set(rules.map(({ name }) => name)).size, rules.length)
  assert.equal(rules.at(-1), updating)
  assert.ok(updating.holds())
})
