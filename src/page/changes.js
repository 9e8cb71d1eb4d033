import { diffLines, hunksOf } from '../diff/lines.js'
import { button, copyButton, downloadButton, element } from './elements.js'

/** @import { Line } from '../diff/lines.js' */

/** The most rows that are shown: a browser takes seconds for ten thousand. */
const most = 2000
/** The most lines that are compared: 3 MB of manifests have some 100,000, and a hostile link could bring millions. */
const mostCompared = 250_000

/**
 * The manifest before and after, with the changes marked.
 * @param {string} before
 * @param {string} after
 */
export function manifestChanges(before, after) {
  const isLong = [before, after].some((text) => text.length > mostCompared && text.split('\n').length > mostCompared)
  const lines = isLong ? [] : diffLines(before, after)
  const changed = lines.some(({ mark }) => mark !== ' ')
  const table = element('div', { class: 'diff' })
  let whole = false
  const show = () => table.replaceChildren(...rowsOf(lines, whole))
  const toggle = button('Show all lines', () => {
    whole = !whole
    toggle.textContent = whole ? 'Show changes only' : 'Show all lines'
    show()
  })
  show()
  return element(
    'section',
    { class: 'card changes', 'aria-labelledby': 'changes' },
    element(
      'div',
      { class: 'title' },
      element('h3', { id: 'changes' }, 'Before and after'),
      element(
        'div',
        { class: 'tools' },
        changed && toggle,
        copyButton('Copy the result', () => after),
        downloadButton(
          'Download',
          after.trimStart().startsWith('{') ? 'manifests.json' : 'manifests.yaml',
          () => after,
        ),
      ),
    ),
    changed
      ? element('p', { class: 'marks' }, ...summary(lines))
      : element('p', {}, isLong ? 'Too many lines to compare: copy or download the result.' : 'Nothing changes.'),
    changed && table,
  )
}

/** @param {readonly Line[]} lines */
function summary(lines) {
  /** @param {(line: Line) => boolean} fits */
  const count = (fits) => lines.filter(fits).length
  const moved = count(({ mark, moved }) => mark === '+' && moved === true)
  const added = count(({ mark, moved }) => mark === '+' && !moved)
  const removed = count(({ mark, moved }) => mark === '-' && !moved)
  return [
    element('span', { class: 'add' }, `${added} added`),
    ' ',
    element('span', { class: 'move' }, `${moved} moved`),
    ' ',
    element('span', { class: 'remove' }, `${removed} removed`),
  ]
}

/**
 * @param {readonly Line[]} lines
 * @param {boolean} whole
 */
function rowsOf(lines, whole) {
  const rows = []
  let done = 0
  let left = most
  for (const { from, to } of whole ? [{ from: 0, to: lines.length }] : hunksOf(lines)) {
    if (from > done) rows.push(gap(from - done))
    rows.push(...lines.slice(from, Math.min(to, from + left)).map(rowOf))
    left -= to - from
    done = to
    if (left < 0) {
      const more = `${lines.length - to - left} more lines: copy or download the result to see them`
      return [...rows, element('div', { class: 'gap' }, more)]
    }
  }
  return done < lines.length ? [...rows, gap(lines.length - done)] : rows
}

/** @param {number} hidden */
const gap = (hidden) => element('div', { class: 'gap' }, `${hidden} ${hidden === 1 ? 'line' : 'lines'} unchanged`)

const spoken = { '+': 'added: ', '-': 'removed: ', ' ': '' }

/** @param {Line} line */
function rowOf({ mark, text, before, after, moved }) {
  const kind = mark === ' ' ? '' : moved ? 'move' : mark === '+' ? 'add' : 'remove'
  const says = moved ? (mark === '+' ? 'moved here: ' : 'moved away: ') : spoken[mark]
  return element(
    'div',
    { class: `row ${kind} ${mark === '-' ? 'old' : ''}` },
    element('span', { class: 'number', 'aria-hidden': 'true' }, String(before ?? '')),
    element('span', { class: 'number', 'aria-hidden': 'true' }, String(after ?? '')),
    element('span', { class: 'mark', 'aria-hidden': 'true' }, mark === '-' ? '−' : mark),
    element('code', {}, says !== '' && element('span', { class: 'unseen' }, says), text),
  )
}
