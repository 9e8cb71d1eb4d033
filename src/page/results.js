import { startCharts } from './chart.js'
import { copyButton, counted, element, listed } from './elements.js'

/**
 * @import { Message } from '../preview/message.ts'
 * @import { PreviewResult } from '../preview/preview.ts'
 */

/** If there are more objects than this, their cards start closed. */
const mostOpen = 3

/**
 * One card per object. `goTo` makes a button that goes to a line.
 * @param {readonly PreviewResult[]} results
 * @param {(line: number, column: number) => Node} goTo
 */
export function resultCards(results, goTo) {
  return results.map((result) => {
    const filled = () => contents(result, goTo)
    const card = element('details', { class: `card ${result.verdict}` }, heading(result))
    // A closed card is filled only when it is opened.
    card.addEventListener('toggle', () => card.childElementCount === 1 && card.append(...filled()), { once: true })
    card.open = results.length <= mostOpen
    if (card.open) card.append(...filled())
    return card
  })
}

/** @param {PreviewResult} result */
export const titleOf = ({ kind, name }) => (name === '' ? kind : `${kind} ${name}`)

/**
 * The warnings that need action.
 * @param {PreviewResult} result
 */
export const graveOf = ({ messages }) => messages.filter(({ severity }) => severity === 'warning')

/** @param {PreviewResult} result */
export const refusalsOf = ({ messages }) => messages.filter(({ severity }) => severity === 'refusal')

/** @param {PreviewResult} result */
function heading(result) {
  const { kind, name, namespace, verdict } = result
  const warnings = graveOf(result)
  return element(
    'summary',
    {},
    element(
      'h3',
      {},
      element('span', { class: 'kind' }, kind),
      ' ',
      name,
      namespace !== '' && element('span', { class: 'kind' }, ` in ${namespace}`),
    ),
    warnings.length > 0 && element('span', { class: 'count' }, counted(warnings.length, 'warning')),
    element('span', { class: 'verdict' }, verdict),
  )
}

/**
 * @param {PreviewResult} result
 * @param {(line: number, column: number) => Node} goTo
 */
function contents(result, goTo) {
  const { verdict, reasons, messages, tiers, gates, start, patch } = result
  const warnings = graveOf(result)
  const notes = messages.filter(({ severity }) => severity === 'note')
  const list =
    verdict === 'refused'
      ? refusalsOf(result).map((message) => item(message, goTo))
      : reasons.map((reason) => element('li', {}, reason))
  const operations = patch.map((operation) => JSON.stringify(operation))
  return [
    element('ul', { class: 'reasons' }, ...list),
    warnings.length > 0 &&
      element('ul', { class: 'warnings', 'aria-label': 'Warnings' }, ...warnings.map((message) => item(message, goTo))),
    notes.length > 0 &&
      element('ul', { class: 'costs' }, ...notes.map(({ code, text }) => element('li', {}, `${code} costs: ${text}`))),
    tiers.length > 0 && element('h4', {}, 'Order'),
    tiers.length > 0 && element('ol', { class: 'tiers' }, ...tiers.map(tierOf), restOf(start)),
    gates.length > 0 && element('ul', { class: 'gates', 'aria-label': 'What opens the gate' }, ...gates.map(gateOf)),
    start &&
      element('h4', {}, 'Predicted start', element('small', {}, 'in steps: the order of events, not measured time')),
    start && startCharts(start),
    operations.length > 0 &&
      element(
        'details',
        { class: 'patch' },
        element('summary', {}, `Patch: ${counted(operations.length, 'operation')}`),
        element(
          'pre',
          { tabindex: '0', 'aria-label': 'JSON Patch', role: 'region' },
          `[\n  ${operations.join(',\n  ')}\n]`,
        ),
        copyButton('Copy the patch', () => `[${operations.join(',\n')}]`),
      ),
  ].filter((part) => typeof part === 'object')
}

/**
 * @param {Message} message
 * @param {(line: number, column: number) => Node} goTo
 */
function item({ code, text, line, column }, goTo) {
  return element('li', {}, goTo(line, column), ` ${code} ${text}`)
}

/**
 * The apps, which start after all tiers.
 * @param {PreviewResult['start']} start
 */
function restOf(start) {
  const apps = (start?.with ?? []).filter(({ role }) => role === 'app').map(({ name }) => name)
  return apps.length > 0 && element('li', {}, element('strong', {}, apps.join(', ')))
}

/** @param {PreviewResult['gates'][number]} gate */
function gateOf({ form, sidecars, opensOn }) {
  const name = element('strong', {}, `gate ${form}`)
  if (opensOn.length === 0) return element('li', {}, name, `: the app never starts without ${listed(sidecars)}.`)
  const events = element('ul', {}, ...opensOn.map((event) => element('li', {}, event)))
  return element('li', {}, name, `: the app starts without ${listed(sidecars)} if`, events)
}

/** @param {PreviewResult['tiers'][number]} tier */
function tierOf(tier) {
  const members = tier.map(({ name, check, timeout, onTimeout, every, rule }) => {
    const patience =
      timeout === undefined ? '' : ` for up to ${timeout}, then ${onTimeout === 'continue' ? 'continues' : 'fails'}`
    const asked = every === undefined ? patience : ` by its startupProbe, every ${every}`
    const text = check === 'none' ? 'not waited for' : `${check}${asked}`
    return element(
      'li',
      {},
      element('strong', {}, name),
      element('span', {}, rule === undefined ? text : `${text} (rule ${rule})`),
    )
  })
  return element('li', { 'aria-label': listed(tier.map(({ name }) => name)) }, element('ul', {}, ...members))
}
