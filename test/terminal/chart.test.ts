import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ChartBar, drawChart, legend } from '../../src/terminal/chart.ts'
import { lookOf } from '../../src/terminal/look.ts'

const bars: ChartBar[] = [
  { label: 'with', segments: [] },
  {
    label: 'envoy',
    segments: [
      { from: 0, until: 4, doing: 'starting' },
      { from: 1, until: 3, doing: 'hook' },
      { from: 4, until: 10, doing: 'ready' },
    ],
    note: 'holds the app back',
  },
  { label: 'a-container-with-a-long-name', segments: [{ from: 4, until: 10, doing: 'ready' }] },
]
const look = { width: 62, color: false, unicode: true, terminal: false }

test('bars stand on one axis, the later segment is seen, and what is too long for the width is cut', () => {
  assert.equal(
    drawChart(bars, look),
    [
      'with',
      'envoy                 ░░▒▒▒▒░░████████████  holds the app back',
      'a-container-with-a-…          ████████████',
      '',
    ].join('\n'),
  )
  for (const line of drawChart(bars, { ...look, width: 30, unicode: false }).split('\n')) {
    assert.match(line, /^[\x20-\x7e]*$/)
  }
})

test('ASCII where the locale is not UTF-8, colors where the terminal has them', () => {
  assert.match(drawChart(bars, { ...look, unicode: false }), /\nenvoy +\.\.~~~~\.\.=+ {2}holds/)
  assert(drawChart(bars, { ...look, color: true }).includes('\x1b[36m▒▒▒▒\x1b[39m'))
  assert.equal(legend(bars, look), '░ not ready yet   ▒ its hook waits, nothing else starts   █ ready\n')
  const of = (env: NodeJS.ProcessEnv) => lookOf({ stdout: process.stdout, color: false }, env).unicode
  assert.deepEqual([{ LANG: 'C.UTF-8' }, { LC_ALL: 'C', LANG: 'de_DE.utf8' }, {}].map(of), [true, false, false])
})

test('an axis with round values; a moment is seen too', () => {
  const moment: ChartBar[] = [
    { label: 'a', segments: [{ from: 0, until: 2.4, doing: 'init' }] },
    { label: 'b', segments: [{ from: 1.2, until: 1.2, doing: 'ready' }] },
    { label: 'c', segments: [{ from: 2.4, until: 2.4, doing: 'ready' }] },
  ]
  assert.deepEqual(drawChart(moment, { ...look, width: 40 }, (seconds) => `${seconds.toFixed(1)}s`).split('\n'), [
    `a  ${'▬'.repeat(35)}`,
    `b  ${' '.repeat(18)}█`,
    `c  ${' '.repeat(34)}█`,
    '   0.0s           1.0s          2.0s',
    '',
  ])
  assert.equal(drawChart([], look), '')
})
