import { element, listed, shape } from './elements.js'

/** @import { Bar, Start } from '../preview/start.ts' */

/** In pixels. On charts narrower than `roomy` a name stands above its bar instead of beside it. */
const size = { roomy: 520, names: 172, bar: 22, row: 34, rowBelow: 50, letter: 7.3, tail: 3 }

/**
 * Both predicted starts, with a bar per container, on the same scale.
 * @param {Start} start
 */
export function startCharts(start) {
  const steps = Math.max(...[...start.without, ...start.with].map(({ ready }) => ready)) + size.tail
  return element(
    'div',
    { class: 'charts' },
    chart('Without', start.without, steps),
    chart('With sidecar-first', start.with, steps),
    legend(),
  )
}

/**
 * @param {string} title
 * @param {readonly Bar[]} bars
 * @param {number} steps
 */
function chart(title, bars, steps) {
  const drawing = element('div', { class: 'drawing', 'aria-hidden': 'true' })
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0)
    if (width > 0) drawing.replaceChildren(draw(bars, steps, width))
  }).observe(drawing)
  const told = element('ol', { class: 'unseen' }, ...bars.map((bar) => element('li', {}, inWords(bar))))
  return element(
    'figure',
    {},
    element(
      'figcaption',
      {},
      element('strong', {}, title),
      ...sentences(bars).map(({ good, text }) => element('span', { class: good ? 'good' : 'bad' }, text)),
    ),
    drawing,
    told,
  )
}

/**
 * For each app container, a sentence that sums up its start.
 * @param {readonly Bar[]} bars
 */
function sentences(bars) {
  const sidecars = new Set(bars.filter(({ role }) => role === 'sidecar').map(({ name }) => name))
  return bars
    .filter(({ role, notReady }) => role === 'app' || notReady.length > 0)
    .map(({ name, notReady, after }) => {
      const waited = after.filter((other) => sidecars.has(other))
      if (notReady.length > 0) return { good: false, text: `${name} starts before ${areReady(notReady)}.` }
      return { good: true, text: waited.length === 0 ? `${name} starts.` : `${name} starts once ${areReady(waited)}.` }
    })
}

/** @param {readonly string[]} names */
const areReady = (names) => `${listed(names)} ${names.length === 1 ? 'is' : 'are'} ready`

/** @param {Bar} bar */
function inWords({ name, role, start, ready, hook, notReady }) {
  const parts = [`${name} starts at step ${start}`]
  if (hook !== undefined) {
    const whom = hook.waitsFor.length > 0 ? ` and waits for ${listed(hook.waitsFor)}` : ''
    parts.push(`its hook runs until step ${hook.until}${whom}`)
  }
  if (role === 'init') parts.push(`it ends at step ${ready}`)
  if (role === 'sidecar') parts.push(`it is ready at step ${ready}`)
  if (notReady.length > 0) parts.push(`${listed(notReady)} ${notReady.length === 1 ? 'is' : 'are'} not ready by then`)
  return parts.join('; ')
}

const kinds = {
  starts: 'starting',
  ready: 'ready or running',
  waits: 'waiting in its hook',
  early: 'running before a sidecar is ready',
  ends: 'runs to completion',
}

function legend() {
  const items = Object.entries(kinds).map(([kind, text]) =>
    element('li', {}, element('span', { class: `key ${kind}` }), text),
  )
  return element('ul', { class: 'legend' }, ...items)
}

/**
 * @param {readonly Bar[]} bars
 * @param {number} steps
 * @param {number} width
 */
function draw(bars, steps, width) {
  const beside = width >= size.roomy
  const left = beside ? size.names : 0
  const row = beside ? size.row : size.rowBelow
  /** @param {number} step */
  const x = (step) => left + (step / steps) * (width - left)
  const height = bars.length * row + 6
  const svg = shape('svg', { width, height, viewBox: `0 0 ${width} ${height}` })
  const readyAt = new Map(bars.map(({ name, ready }) => [name, ready]))
  for (const { hook } of bars) {
    if (hook) svg.append(shape('line', { class: 'until', x1: x(hook.until), x2: x(hook.until), y1: 0, y2: height }))
  }
  for (const [index, bar] of bars.entries()) {
    const top = index * row + (beside ? 6 : 24)
    const middle = top + size.bar / 2 + 4.5
    const room = Math.floor((beside ? left - 12 : width) / size.letter) - 1
    const name = bar.name.length > room ? `${bar.name.slice(0, room - 1)}…` : bar.name
    svg.append(shape('text', { class: 'name', x: 0, y: beside ? middle : top - 6 }, name))
    svg.append(shape('line', { class: 'track', x1: x(0), x2: x(bar.start), y1: middle - 4.5, y2: middle - 4.5 }))
    for (const { kind, from, to, texts } of segments(bar, steps, readyAt)) {
      const wide = x(to) - x(from)
      if (wide <= 0) continue
      svg.append(
        shape('rect', { class: kind, x: x(from), y: top, width: Math.max(wide - 1.5, 1), height: size.bar, rx: 4 }),
      )
      const text = texts.find((each) => each.length * size.letter + 14 < wide)
      if (text !== undefined) svg.append(shape('text', { class: 'in', x: x(from) + 7, y: middle }, text))
    }
  }
  return svg
}

/**
 * The segments of a bar from left to right, each with its possible labels, longest first.
 * @param {Bar} bar
 * @param {number} steps
 * @param {ReadonlyMap<string, number>} readyAt
 * @returns {{ kind: keyof typeof kinds, from: number, to: number, texts: readonly string[] }[]}
 */
function segments({ role, start, ready, hook, notReady }, steps, readyAt) {
  const late = [notReady.length === 1 ? `${notReady[0]} isn't ready` : "sidecars aren't ready", 'too early']
  switch (role) {
    case 'init':
      return [{ kind: 'ends', from: start, to: ready, texts: ['runs', 'init'] }]
    case 'app': {
      const early = Math.max(start, ...notReady.map((name) => readyAt.get(name) ?? start))
      return [
        { kind: 'early', from: start, to: early, texts: late },
        { kind: 'ready', from: early, to: steps, texts: ['runs'] },
      ]
    }
    case 'sidecar': {
      const waitsFor = hook?.waitsFor ?? []
      const until = waitsFor.length > 0 ? Math.max(ready, hook?.until ?? 0) : ready
      const own = notReady.length > 0 ? 'early' : waitsFor.length > 0 ? 'waits' : 'starts'
      const texts = {
        early: late,
        waits: [`hook waits for ${listed(waitsFor)}`, 'hook waits', 'waits'],
        starts: ['starts'],
      }
      return [
        { kind: own, from: start, to: until, texts: texts[own] },
        {
          kind: 'ready',
          from: until,
          to: steps,
          texts: waitsFor.length > 0 ? [areReady(waitsFor), `${waitsFor.join(', ')} ready`, 'ready'] : ['ready'],
        },
      ]
    }
    default:
      return /** @satisfies {never} */ (role)
  }
}
