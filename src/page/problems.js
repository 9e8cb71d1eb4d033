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

/**
 * Finds the line of the annotation that a reason is about, if the text has it exactly once.
 * @param {string} text
 * @returns {(reason: string) => number | undefined}
 */
export function annotationLines(text) {
  /** @type {Map<string, number | undefined>} */
  const lines = new Map()
  for (const [index, line] of text.split('\n').entries()) {
    // Nobody writes annotations in lines that long, and searching them may take seconds.
    if (line.length > 2000) continue
    for (const [, key = ''] of line.matchAll(/([\w./-]*sidecar-first\.dev\/[\w.-]+)["']?:/g)) {
      lines.set(key, lines.has(key) ? undefined : index + 1)
    }
  }
  return (reason) => lines.get(/^[\w./-]+(?=: )/.exec(reason)?.[0] ?? '')
}
