import { button, counted, element } from './elements.js'

/**
 * @import { PreviewResult } from '../preview/preview.ts'
 * @typedef {readonly { start: number, end: number, text: string }[]} Edits of the text that was previewed
 * @typedef {(edits: Edits) => void} Add
 */

/** @param {PreviewResult} result */
const linesIn = ({ suggestion }) => suggestion?.lines ?? []

/** What would add the suggested lines. @param {PreviewResult} result @returns {Edits} */
const editsIn = ({ suggestion }) => suggestion?.edits ?? []

/** @param {PreviewResult} result */
export const isSuggested = (result) => linesIn(result).length > 0

/**
 * The known sidecars of a pod that says nothing: what happens today, and which lines would change that.
 * @param {PreviewResult} result
 * @param {Add} add
 */
export function suggestionOf(result, add) {
  const { suggestion } = result
  if (suggestion === undefined || suggestion.kind === 'asked') return undefined
  const { sidecars, lines, conditional, conditionalEdits = [], why } = suggestion
  const edits = editsIn(result)
  const known = sidecars.map(({ name, title, today }) =>
    element('li', {}, element('strong', {}, name), ` (${title}): ${today}.`),
  )
  return element(
    'div',
    { class: 'suggestion' },
    element('h4', {}, 'Known sidecars'),
    element('ul', {}, ...known),
    ...why.map((reason) => element('p', {}, reason)),
    lines.length > 0 && element('h4', {}, counted(lines.length, 'suggested line')),
    lines.length > 0 && linesList(lines),
    edits.length > 0 && button(lines.length === 1 ? 'Add this line' : 'Add these lines', () => add(edits), 'add'),
    conditional.length > 0 && element('h4', {}, 'If the sidecar is configured for it'),
    conditional.length > 0 && linesList(conditional),
    conditionalEdits.length > 0 &&
      button(
        conditional.length === 1 ? 'Add this line, too' : 'Add these lines, too',
        () => add(conditionalEdits),
        'add',
      ),
  )
}

/** @param {NonNullable<PreviewResult['suggestion']>['lines']} lines */
const linesList = (lines) =>
  element(
    'ul',
    { class: 'lines' },
    ...lines.map(({ key, value, why }) =>
      element('li', {}, element('code', {}, `${key}: ${value}`), ' ', element('span', {}, why)),
    ),
  )

/**
 * One button for the lines of all objects, where there are several.
 * @param {readonly PreviewResult[]} results
 * @param {Add} add
 */
export function addAll(results, add) {
  const all = results.map(editsIn).filter((edits) => edits.length > 0)
  if (all.length < 2) return undefined
  const edits = apart(all)
  return element(
    'p',
    { class: 'card' },
    `${all.length} objects have known sidecars that their apps don’t wait for as they could. `,
    button('Add all suggested lines', () => add(edits), 'add'),
  )
}

/**
 * The edits that can be made at once; those of two objects of one JSON text both replace it, so one has to wait for the next answer.
 * @param {readonly Edits[]} all
 * @returns {Edits}
 */
function apart(all) {
  /** @type {{ start: number, end: number, text: string }[]} */
  const taken = []
  for (const edits of all) {
    if (edits.every(({ start, end }) => taken.every((other) => end <= other.start || other.end <= start)))
      taken.push(...edits)
  }
  return taken
}
