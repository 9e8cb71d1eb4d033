import assert from 'node:assert/strict'
import { test } from 'node:test'
import { left } from '../../certs/life-bars.ts'
import { statusText } from '../../certs/show.ts'
import { DAY } from './world.ts'

const start = Date.parse('2026-01-01T00:00:00Z')

test('status draws the lives on one scale of time, with now and the part in which they are due', () => {
  const lives = [
    { name: 'CA', id: 'ca', issued: start, expires: start + 100 * DAY, due: start + 60 * DAY },
    { name: 'leaf', id: 'leaf', issued: start + 50 * DAY, expires: start + 75 * DAY, due: start + 67 * DAY },
  ]
  const text = statusText(
    {
      phase: 'steady',
      now: start + 55 * DAY,
      lives,
      trusting: [{ configuration: 'sidecar-first', authorities: 1, differs: false }],
      served: [
        { endpoint: 'a:8443', serves: 'our-leaf', remaining: 20 * DAY },
        { endpoint: 'b:8443', serves: 'nothing' },
      ],
      problems: [{ kind: 'no-handshake', endpoint: 'b:8443' }],
    },
    { width: 100, color: false, unicode: true, terminal: false },
  )
  const bar = (...parts: [string, number][]) => parts.map(([sign, count]) => sign.repeat(count)).join('')
  assert.equal(
    text,
    `Phase: steady

CA    ${bar(['─', 33], ['│', 1], ['─', 2], ['▒', 24])}  45 days left
leaf  ${bar([' ', 30], ['─', 3], ['│', 1], ['─', 6], ['▒', 5], [' ', 15])}  20 days left
      2026-01-01                         2026-02-27

─ valid   ▒ due to be replaced   │ now

Trusted by
  sidecar-first: 1 CA

Served by
  a:8443: the Secret's leaf, 20 days left
  b:8443: no answer

Wrong
  b:8443 did not answer a handshake
`,
  )
})

test('time left is in whole days, hours or minutes', () => {
  assert.equal(left(40 * DAY), '40 days left')
  assert.equal(left(1.5 * DAY), '36 hours left')
  assert.equal(left(60_000), '1 minute left')
  assert.equal(left(-3 * 3_600_000), 'expired 3 hours ago')
})
