import { element } from './elements.js'

/** @typedef {{ line: number, message: string }} Mark `line` counts from 1 */

/** In characters: beyond it the text is shown without colours, which take a node for each word. */
const mostPainted = 100_000

/**
 * A textarea with line numbers, colours below it, and marked lines.
 * @param {HTMLElement} root
 */
export function createEditor(root) {
  const area = /** @type {HTMLTextAreaElement} */ (root.querySelector('textarea'))
  const gutter = /** @type {HTMLElement} */ (root.querySelector('.gutter'))
  const paint = /** @type {HTMLElement} */ (root.querySelector('.paint'))
  /** @type {readonly Mark[]} */
  let marks = []

  function draw() {
    const lines = area.value.split('\n')
    const marked = new Map(marks.map(({ line, message }) => [line, message]))
    gutter.replaceChildren(...numbers(lines.length, marked))
    const painted = area.value.length <= mostPainted
    root.classList.toggle('plain', !painted)
    paint.replaceChildren(...lines.map((line, index) => paintLine(painted ? line : '', marked.has(index + 1))))
    follow()
  }

  function follow() {
    gutter.scrollTop = area.scrollTop
    paint.scrollTop = area.scrollTop
    paint.scrollLeft = area.scrollLeft
  }

  area.addEventListener('scroll', follow)
  area.addEventListener('input', () => {
    // A mark is about the text as it was.
    marks = []
    draw()
  })

  return {
    area,
    get text() {
      return area.value
    },
    /** @param {string} text */
    replace(text) {
      area.value = text
      marks = []
      area.scrollTop = 0
      draw()
      area.setSelectionRange(0, 0)
    },
    /** @param {readonly Mark[]} wrong */
    mark(wrong) {
      marks = wrong
      area.setAttribute('aria-invalid', String(wrong.length > 0))
      draw()
    },
    /**
     * Puts the cursor there, and the line into view.
     * @param {number} line
     * @param {number} column
     */
    goTo(line, column) {
      const before = area.value.split('\n').slice(0, line - 1)
      const offset = before.reduce((sum, text) => sum + text.length + 1, 0) + column - 1
      area.focus()
      area.setSelectionRange(offset, offset)
      const { lineHeight } = getComputedStyle(area)
      area.scrollTop = (line - 4) * Number.parseFloat(lineHeight)
    },
    draw,
  }
}

/**
 * @param {number} count
 * @param {ReadonlyMap<number, string>} marked
 */
function numbers(count, marked) {
  const parts = []
  let text = ''
  for (let line = 1; line <= count; line++) {
    const message = marked.get(line)
    if (message === undefined) text += `${line}\n`
    else {
      parts.push(text, element('span', { class: 'marked', title: message }, String(line)))
      text = ''
    }
  }
  return [...parts, text]
}

const token =
  /(?<comment>(?:^|(?<=\s))#.*$)|(?<marker>^(?:---|\.\.\.)(?=\s|$))|(?<key>(?<=^|[\s{[,-])(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'#{}[\],:-][^\s{}[\],:#]*)(?=:(?:\s|$)))|(?<text>"(?:[^"\\]|\\.)*"|'[^']*')/g

/**
 * @param {string} line
 * @param {boolean} marked
 */
function paintLine(line, marked) {
  const row = element('span', { class: marked ? 'line marked' : 'line' })
  let at = 0
  for (const found of line.length > 2000 ? [] : line.matchAll(token)) {
    const kind = Object.keys(found.groups ?? {}).find((name) => found.groups?.[name] !== undefined) ?? ''
    const ours = kind === 'key' && found[0].includes('sidecar-first.dev/')
    row.append(line.slice(at, found.index), element('span', { class: ours ? 'ours' : kind }, found[0]))
    at = found.index + found[0].length
  }
  row.append(`${line.slice(at)}\n`)
  return row
}
