import assert from 'node:assert/strict'
import { test } from 'node:test'
import { left, timeline } from '../../certs/timeline.ts'

const DAY = 86_400_000
const start = Date.parse('2026-01-01T00:00:00Z')

test('lives stand on one scale of time, with now, and the part in which they are due', () => {
  const lives = [
    { name: 'CA', id: 'ca', issued: start, expires: start + 100 * DAY, due: start + 60 * DAY },
    { name: 'leaf', id: 'leaf', issued: start + 50 * DAY, expires: start + 75 * DAY, due: start + 67 * DAY },
  ]
  const bar = (...parts: [string, number][]) => parts.map(([sign, count]) => sign.repeat(count)).join('')
  assert.deepEqual(timeline(lives, start + 55 * DAY), [
    `      2026-01-01${' '.repeat(36)}2026-04-11`,
    `CA    ${bar(['─', 30], ['│', 1], ['─', 2], ['▒', 23])}  45 days left`,
    `leaf  ${bar([' ', 28], ['─', 2], ['│', 1], ['─', 6], ['▒', 5], [' ', 14])}  20 days left`,
  ])
})

test('time left is in whole days, hours or minutes', () => {
  assert.equal(left(40 * DAY), '40 days left')
  assert.equal(left(1.5 * DAY), '36 hours left')
  assert.equal(left(60_000), '1 minute left')
  assert.equal(left(-3 * 3_600_000), 'expired 3 hours ago')
})
