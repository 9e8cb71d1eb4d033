import { copyButton, counted, downloadButton, element, listed } from './elements.js'
import { endChart, startCharts } from './forecast-chart.js'
import { explanation } from './meanings.js'
import { mistakeItem } from './problems.js'
import { addAll, isSuggested, suggestionOf } from './suggestion.js'

/**
 * @import { Message } from '../preview/message.ts'
 * @import { PreviewResult } from '../preview/preview.ts'
 * @import { GoTo } from './problems.js'
 * @import { Add } from './suggestion.js'
 * @typedef {{ goTo: GoTo, add: Add }} Actions `goTo` makes a button that goes to a place; `add` edits the manifests
 */

/** If there are more objects than this, their cards start closed. */
const mostOpen = 3
/** Explanations of refusals that are open at first. */
const mostExplained = 3
/** Operations of a patch that are shown one by one. */
const mostOperations = 200

/** What the user has opened or closed, by object and part: every key makes all cards anew. @type {Map<string, boolean>} */
const opened = new Map()

/**
 * One card per object; those that ask for nothing share one.
 * @param {readonly PreviewResult[]} results
 * @param {Actions} actions
 */
export function resultCards(results, actions) {
  const idle = results.filter(isIdle)
  const gathered = new Set(idle.length > 1 && results.length > mostOpen ? idle : [])
  const shown = results.filter((result) => !gathered.has(result))
  const cards = shown.map((result, index) => {
    const card = foldable(`${index} ${titleOf(result)}`, { class: `card ${result.verdict}` }, heading(result), () =>
      contents(result, { ...actions, key: `${index} ${titleOf(result)}` }),
    )
    card.set(shown.length <= mostOpen)
    return card.made
  })
  const offer = addAll(results, actions.add)
  return [
    ...(offer ? [offer] : []),
    ...cards,
    ...(gathered.size > 0 ? [idleCard([...gathered], shown.length === 0)] : []),
  ]
}

/**
 * A part that is filled when it is first opened, and stays as the user left it.
 * @param {string} key
 * @param {Readonly<Record<string, string>>} attributes
 * @param {HTMLElement} summary
 * @param {() => readonly (Node | string)[]} filled
 */
function foldable(key, attributes, summary, filled) {
  const made = element('details', attributes, summary)
  const fill = () => made.childElementCount === 1 && made.append(...filled())
  summary.addEventListener('click', () => {
    fill()
    opened.set(key, !made.open)
  })
  made.addEventListener('toggle', () => made.open && fill())
  return {
    made,
    /** @param {boolean} open unless the user has said otherwise */
    set(open) {
      made.open = opened.get(key) ?? open
      if (made.open) fill()
    },
  }
}

/** Whether nothing is asked and nothing said, such as of a Service. @param {PreviewResult} result */
const isIdle = ({ verdict, messages, suggestion }) =>
  verdict === 'skipped' && messages.length === 0 && suggestion === undefined

/**
 * @param {readonly PreviewResult[]} idle
 * @param {boolean} alone whether there is no other card
 */
function idleCard(idle, alone) {
  const kinds = [...Map.groupBy(idle, ({ kind }) => kind)].map(([kind, all]) => `${all.length} ${kind}`)
  const title = element(
    'h3',
    {},
    `${counted(idle.length, 'other object')} `,
    element('span', { class: 'kind' }, listed(kinds)),
  )
  const card = foldable(
    'idle',
    { class: 'card skipped' },
    element('summary', {}, title, element('span', { class: 'verdict' }, 'skipped')),
    () => [
      element(
        'ul',
        { class: 'idle' },
        ...[...Map.groupBy(idle, ({ reasons }) => reasons.join('; '))].map(([why, all]) =>
          element('li', {}, element('strong', {}, all.map(titleOf).join(', ')), ` ${why}`),
        ),
      ),
    ],
  )
  card.set(alone)
  return card.made
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
export const outlookOf = ({ verdict, awaits }) =>
  verdict === 'refused-unless-injected'
    ? `refused unless an injector adds ${awaits.join(', ')}`
    : verdict.replaceAll('-', ' ')

/** @param {PreviewResult} result */
function heading(result) {
  const { kind, name, namespace } = result
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
    ' ',
    warnings.length > 0 && element('span', { class: 'count' }, counted(warnings.length, 'warning')),
    ' ',
    isSuggested(result) && element('span', { class: 'count' }, 'suggestion'),
    ' ',
    element('span', { class: 'verdict' }, outlookOf(result)),
  )
}

/**
 * @param {PreviewResult} result
 * @param {Actions & { key: string }} context
 */
function contents(result, { goTo, add, key }) {
  const { verdict, reasons, messages, tiers, gates, start, end } = result
  const warnings = graveOf(result)
  const notes = messages.filter(({ severity }) => severity === 'note')
  const list =
    verdict === 'refused'
      ? refusalsOf(result).map((message, index) => item(message, goTo, index < mostExplained))
      : reasons.map((reason) => element('li', {}, reason))
  return [
    element('ul', { class: 'reasons' }, ...list),
    warnings.length > 0 &&
      element(
        'ul',
        { class: 'warnings', 'aria-label': 'Warnings' },
        ...warnings.map((message) => item(message, goTo, false)),
      ),
    suggestionOf(result, add),
    tiers.length > 0 && element('h4', {}, 'Order'),
    tiers.length > 0 && element('ol', { class: 'tiers' }, ...tiers.map(tierOf), restOf(start)),
    gates.length > 0 && element('ul', { class: 'gates', 'aria-label': 'What opens the gate' }, ...gates.map(gateOf)),
    start &&
      element('h4', {}, 'Predicted start ', element('small', {}, 'in steps: the order of events, not measured time')),
    start && startCharts(start),
    end && element('h4', {}, 'Predicted end ', element('small', {}, 'when the pod is deleted')),
    end &&
      endChart(
        end,
        end.messages.map(({ code, text }) => element('span', {}, `${code}: ${text} `, explanation(code, false))),
      ),
    tiers.length > 0 &&
      !start &&
      verdict !== 'refused' &&
      element('p', { class: 'hint' }, 'Too many containers for a chart of the start.'),
    notes.length > 0 &&
      element(
        'ul',
        { class: 'costs' },
        ...notes.map(({ code, text }) => element('li', {}, `${code} costs: ${text}`, explanation(code, false))),
      ),
    patchOf(result, `${key} patch`),
  ].filter((part) => typeof part === 'object')
}

/**
 * Each operation with what it is for.
 * @param {PreviewResult} result
 * @param {string} key
 */
function patchOf({ patch, purposes, name }, key) {
  if (patch.length === 0) return undefined
  const text = () => `[${patch.map((operation) => JSON.stringify(operation)).join(',\n')}]`
  const summary = element('summary', {}, `Patch: ${counted(patch.length, 'operation')}`)
  const { made, set } = foldable(key, { class: 'patch' }, summary, () => {
    const shown = patch.slice(0, mostOperations)
    const operations = shown.map((operation, index) =>
      element('li', {}, element('span', {}, purposes[index] ?? ''), element('pre', {}, JSON.stringify(operation))),
    )
    const more = patch.length - shown.length
    return [
      element('ol', { class: 'operations', tabindex: '0', 'aria-label': 'JSON Patch' }, ...operations),
      ...(more > 0
        ? [
            element(
              'p',
              { class: 'hint' },
              `${counted(more, 'operation')} more: copy or download the patch to see them.`,
            ),
          ]
        : []),
      element(
        'div',
        { class: 'tools' },
        copyButton('Copy the patch', text),
        downloadButton('Download the patch', `${name.replace(/[^\w.-]/g, '') || 'object'}.patch.json`, text),
      ),
    ]
  })
  set(false)
  return made
}

/**
 * @param {Message} message
 * @param {GoTo} goTo
 * @param {boolean} open
 */
function item(message, goTo, open) {
  return mistakeItem({ source: 'manifests', ...message }, goTo, open)
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
  const names = listed(sidecars, 'or')
  if (opensOn.length === 0) return element('li', {}, name, `: the app never starts without ${names}.`)
  const events = element('ul', {}, ...opensOn.map((event) => element('li', {}, event)))
  return element('li', {}, name, `: the app starts without ${names} ${form === 'lock' ? 'only if' : 'if'}`, events)
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
      ' ',
      element('span', {}, rule === undefined ? text : `${text} (rule ${rule})`),
    )
  })
  return element('li', { 'aria-label': listed(tier.map(({ name }) => name)) }, element('ul', {}, ...members))
}
