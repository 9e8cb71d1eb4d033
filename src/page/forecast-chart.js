import { element, shape } from './elements.js'

/**
 * @import { Bar, Forecast } from '../preview/forecast-bars.ts'
 * @import { End } from '../preview/predicted-end.ts'
 */

/** Sentences that are shown of many containers. */
const mostSaid = 4

/**
 * Both predicted starts, with a bar per container, on the same scale.
 * @param {Forecast} start
 */
export function startCharts({ without, with: patched, legend }) {
  const scale = scaleOf([...without, ...patched], legend)
  return element(
    'div',
    { class: 'charts' },
    chart([element('strong', {}, 'Without '), ...spoken(without)], without, scale),
    chart([element('strong', {}, 'With sidecar-first '), ...spoken(patched)], patched, scale),
    legendOf(legend),
  )
}

/**
 * How the pod ends.
 * @param {End} end
 * @param {readonly Element[]} said
 */
export function endChart({ bars, legend }, said) {
  return element('div', { class: 'charts' }, chart(said, bars, scaleOf(bars, legend)), legendOf(legend))
}

/**
 * @param {readonly { segments: Bar['segments'] }[]} bars
 * @param {Forecast['legend']} legend
 */
const scaleOf = (bars, legend) => ({
  means: new Map(legend.map((each) => [each.doing, each.means])),
  steps: Math.max(...bars.map(({ segments }) => segments.at(-1)?.until ?? 0)),
})

/**
 * Of the drawing, in which each bar says what its segments mean.
 * @param {Forecast['legend']} legend
 */
function legendOf(legend) {
  const colours = legend.map(({ doing, means }) => element('li', {}, element('span', { class: `key ${doing}` }), means))
  return element('ul', { class: 'legend', 'aria-hidden': 'true' }, ...colours)
}

/**
 * @param {readonly Element[]} caption
 * @param {readonly (Pick<Bar, 'name' | 'note' | 'segments'> & { hook?: Bar['hook'] })[]} bars
 * @param {{ means: ReadonlyMap<string, string>, steps: number }} scale
 */
function chart(caption, bars, { means, steps }) {
  const opens = bars.flatMap(({ hook }) => (hook ? [hook.until] : []))
  const rows = bars.map(({ name, note, segments }) => {
    const told = segments.map(({ from, until, doing }) => `${means.get(doing)}, step ${from} to ${until}`)
    const drawing = shape(
      'svg',
      { role: 'img', 'aria-label': told.join('; '), viewBox: `0 0 ${steps} 1`, preserveAspectRatio: 'none' },
      shape('line', { class: 'track', x1: 0, x2: segments[0]?.from ?? 0, y1: 0.5, y2: 0.5 }),
      ...segments.map(({ from, until, doing }) =>
        shape(
          'rect',
          { class: doing, x: from, width: until - from, height: 1 },
          shape('title', {}, means.get(doing) ?? ''),
        ),
      ),
      ...opens.map((step) => shape('line', { class: 'until', x1: step, x2: step, y1: 0, y2: 1 })),
    )
    return element(
      'li',
      {},
      element('span', { class: 'name' }, name),
      element('span', { class: 'note' }, note),
      drawing,
    )
  })
  return element(
    'figure',
    {},
    caption.length > 0 && element('figcaption', {}, ...caption),
    element('ol', { class: 'bars' }, ...rows),
  )
}

/**
 * How each app starts, then what else doesn't start well; of many, the others are to be opened.
 * @param {readonly Bar[]} bars
 */
function spoken(bars) {
  const [apps, others] = [bars.filter(({ role }) => role === 'app'), bars.filter(({ role }) => role !== 'app')]
  const said = [...apps, ...others.filter(({ mood }) => mood !== 'good')]
  const spans = said.map(({ mood, sentence }) => element('span', { class: mood }, `${sentence} `))
  if (said.length <= mostSaid + 1) return spans
  const rest = element(
    'details',
    {},
    element('summary', {}, `${said.length - mostSaid} more`),
    ...spans.slice(mostSaid),
  )
  return [...spans.slice(0, mostSaid), rest]
}
