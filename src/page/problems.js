import { button, element } from './elements.js'
import { explanation } from './meanings.js'

/**
 * @import { Mistake } from '../preview/failure.ts'
 * @typedef {{ code?: string, error: string, problems: readonly string[], mistakes?: readonly Mistake[] }} Failure
 * @typedef {(mistake: { source: Mistake['source'], line: number, column: number }) => Node} GoTo makes the button that goes to a place
 */

/**
 * What is wrong with what was sent.
 * @param {Failure} failure
 * @param {GoTo} goTo
 * @param {(() => void) | undefined} again
 */
export function problemCard({ code, error, problems, mistakes = [] }, goTo, again) {
  const items =
    mistakes.length > 0
      ? mistakes.map((mistake, index) => mistakeItem(mistake, goTo, index < mostOpen))
      : problems.map((problem) => element('li', {}, problem))
  return element(
    'section',
    { class: 'card refused' },
    element('h3', {}, ...(code !== undefined && mistakes.length === 0 ? [`${code} `] : []), sentence(error)),
    element('ul', { class: 'reasons' }, ...items),
    // Mistakes have codes of their own.
    code !== undefined && mistakes.length === 0 && explanation(code, true),
    again && button('Try again', again),
  )
}

/** Explanations that are open at first. */
const mostOpen = 3

/**
 * @param {Pick<Mistake, 'source' | 'line' | 'column' | 'code' | 'text'>} mistake
 * @param {GoTo} goTo
 * @param {boolean} open
 */
export function mistakeItem({ code, text, ...place }, goTo, open) {
  return element('li', {}, goTo(place), ` ${code} ${text}`, explanation(code, open))
}

/** @param {string} text */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1)
