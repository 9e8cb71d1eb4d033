import { element } from './elements.js'

/** @typedef {{ line: number, column: number, message: string }} Place `line` is 0 if it isn't known */

/**
 * The line and column that each of the server's problems names.
 * @param {readonly string[]} problems
 * @returns {Place[]}
 */
export function placesOf(problems) {
  return problems.map((problem) => {
    const [whole = '', line = '', column = ''] = /^document \d+, line (\d+), column (\d+): /.exec(problem) ?? []
    return { line: Number(line), column: Number(column), message: problem.slice(whole.length) }
  })
}

/**
 * @param {string} title
 * @param {readonly Place[]} places
 * @param {(line: number, column: number) => Node} goTo makes the button that goes to a place
 */
export function problemCard(title, places, goTo) {
  const items = places.map(({ line, column, message }) =>
    element('li', {}, line > 0 && goTo(line, column), ' ', message),
  )
  const list = element('ul', { class: 'reasons' }, ...items)
  return element('section', { class: 'card refused' }, element('h3', {}, title), list)
}
