import { element, listed, shape } from './elements.js'

/** @import { Bar, Forecast } from '../preview/forecast.ts' */

/** In pixels. On charts narrower than `roomy` a name stands above its bar instead of beside it. */
const size = { roomy: 520, names: 172, bar: 22, row: 34, rowBelow: 50, letter: 7.3, tail: 3 }
/** Sentences that are shown of many containers. */
const mostSaid = 4

/**
 * Both predicted starts, with a bar per container, on the same scale.
 * @param {Forecast} start
 */
export function startCharts(start) {
  const steps = Math.max(...[...start.without, ...start.with].map(({ ready }) => ready)) + size.tail
  return element(
    'div',
    { class: 'charts' },
    chart('Without', start.without, steps),
    chart('With sidecar-first', start.with, steps),
    legend([...start.without, ...start.with]),
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
    element('figcaption', {}, element('strong', {}, `${title} `), ...spoken(sentences(bars))),
    drawing,
    told,
  )
}

/**
 * All sentences, those of many containers to be opened.
 * @param {readonly { mood: string, text: string }[]} said
 */
function spoken(said) {
  const spans = said.map(({ mood, text }) => element('span', { class: mood }, `${text} `))
  if (said.length <= mostSaid + 1) return spans
  const rest = element(
    'details',
    {},
    element('summary', {}, `${said.length - mostSaid} more`),
    ...spans.slice(mostSaid),
  )
  return [...spans.slice(0, mostSaid), rest]
}

/**
 * For each app container, a sentence that sums up its start.
 * @param {readonly Bar[]} bars
 */
function sentences(bars) {
  const sidecars = new Set(bars.filter(({ role }) => role === 'sidecar').map(({ name }) => name))
  const apps = bars.filter(({ role }) => role === 'app')
  return [...apps, ...bars.filter(({ role }) => role !== 'app')]
    .filter(({ role, notReady, outlook }) => role === 'app' || notReady.length > 0 || outlook !== undefined)
    .map(({ name, role, notReady, after, outlook, needs }) => {
      if (outlook === 'never') return { mood: 'bad', text: `${name} never starts: what it waits for needs ${needs}.` }
      if (outlook === 'stuck') return { mood: 'bad', text: `${name} waits in vain for ${needs}, which starts later.` }
      if (outlook === 'endless') return { mood: 'doubtful', text: `${name} runs on, so the Job never completes.` }
      const waited = after.filter((other) => sidecars.has(other))
      if (notReady.length > 0) return { mood: 'bad', text: `${name} starts before ${areReady(notReady)}.` }
      if (outlook === 'doubtful') {
        const text =
          role === 'app'
            ? `${name} may start late: what it waits for may need ${needs}.`
            : `${name} may need ${needs}, which starts later.`
        return { mood: 'doubtful', text }
      }
      return {
        mood: 'good',
        text: waited.length === 0 ? `${name} starts.` : `${name} starts once ${areReady(waited)}.`,
      }
    })
}

/** @param {readonly string[]} names */
const areReady = (names) => `${listed(names)} ${names.length === 1 ? 'is' : 'are'} ready`

/** @param {Bar} bar */
function inWords({ name, role, start, ready, hook, notReady, outlook, needs }) {
  if (outlook === 'never') return `${name} never starts: what it waits for needs ${needs}`
  const parts = [`${name} starts at step ${start}`]
  if (hook !== undefined) {
    const whom = hook.waitsFor.length > 0 ? ` and waits for ${listed(hook.waitsFor)}` : ''
    parts.push(`its hook runs until step ${hook.until}${whom}`)
  }
  if (role === 'init') parts.push(`it ends at step ${ready}`)
  if (outlook === 'stuck') parts.push(`it waits in vain for ${needs}`)
  else if (outlook === 'doubtful') parts.push(`it may wait for ${needs}, which starts later`)
  else if (role === 'sidecar') parts.push(`it is ready at step ${ready}`)
  if (outlook === 'endless') parts.push('it runs on, so the Job never completes')
  if (notReady.length > 0) parts.push(`${listed(notReady)} ${notReady.length === 1 ? 'is' : 'are'} not ready by then`)
  return parts.join('; ')
}

const kinds = {
  starts: 'starting',
  ready: 'ready or running',
  waits: 'waiting in its hook',
  early: 'running before a sidecar is ready',
  doubtful: 'may wait in vain',
  endless: 'ready, but never ends',
  never: 'never starts',
  ends: 'runs to completion',
}

/** @param {readonly Bar[]} bars */
function legend(bars) {
  const seen = new Set(bars.map(({ outlook }) => outlook))
  const rare = ['doubtful', 'endless', 'never']
  const shown = Object.entries(kinds).filter(
    ([kind]) => !rare.includes(kind) || seen.has(/** @type {Bar['outlook']} */ (kind)),
  )
  const items = shown.map(([kind, text]) => element('li', {}, element('span', { class: `key ${kind}` }), text))
  // Of the drawing, which is hidden from screen readers too.
  return element('ul', { class: 'legend', 'aria-hidden': 'true' }, ...items)
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
    svg.append(shape('text', { class: 'name', x: 0, y: beside ? middle : top - 6 }, shortened(bar.name, room)))
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
 * Cut in the middle: names that are alike often differ at their ends.
 * @param {string} name
 * @param {number} room
 */
function shortened(name, room) {
  if (name.length <= room) return name
  const tail = Math.floor((room - 1) / 2)
  return `${name.slice(0, room - 1 - tail)}…${name.slice(name.length - tail)}`
}

/**
 * The segments of a bar from left to right, each with its possible labels, longest first.
 * @param {Bar} bar
 * @param {number} steps
 * @param {ReadonlyMap<string, number>} readyAt
 * @returns {{ kind: keyof typeof kinds, from: number, to: number, texts: readonly string[] }[]}
 */
function segments({ role, start, ready, hook, notReady, outlook, needs }, steps, readyAt) {
  if (outlook === 'never') return [{ kind: 'never', from: start, to: steps, texts: ['never starts', 'never'] }]
  if (outlook === 'stuck')
    return [{ kind: 'early', from: start, to: steps, texts: [`waits in vain for ${needs}`, 'waits in vain', 'stuck'] }]
  const late = [notReady.length === 1 ? `${notReady[0]} isn't ready` : "sidecars aren't ready", 'too early']
  switch (role) {
    case 'init':
      return [{ kind: 'ends', from: start, to: ready, texts: ['runs', 'init'] }]
    case 'app': {
      const early = Math.max(start, ...notReady.map((name) => readyAt.get(name) ?? start))
      return [
        { kind: 'early', from: start, to: early, texts: late },
        {
          kind: outlook ?? 'ready',
          from: early,
          to: steps,
          texts: outlook ? [`if ${needs} isn't needed`, 'perhaps'] : ['runs'],
        },
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
          kind: outlook ?? 'ready',
          from: until,
          to: steps,
          texts:
            outlook === 'endless'
              ? ['ready, but never ends', 'never ends']
              : outlook
                ? [`may need ${needs}`, 'perhaps']
                : waitsFor.length > 0
                  ? [areReady(waitsFor), `${waitsFor.join(', ')} ready`, 'ready']
                  : ['ready'],
        },
      ]
    }
    default:
      return /** @satisfies {never} */ (role)
  }
}
