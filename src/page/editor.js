import { element } from './elements.js'

/** @typedef {{ line: number, message: string }} Mark `line` counts from 1; 0 if it isn't known */

/** Longer texts, in characters, are shown without colours, because colours take a node for each word. */
const mostPainted = 100_000
/** Lines that get a number: a browser takes seconds for a million. */
const mostNumbered = 100_000
/** In characters: what Chromium puts in as if it were typed, so that it can be undone, without taking seconds for it. */
const mostUndone = 300_000

/**
 * A textarea with line numbers, a coloured copy of the text below it, and marked lines. Not an editor component: CodeMirror 6 is 15 packages and
 * three times the size of the whole page, and has only the lines in view in the document, so that screen readers and the browser's search miss the others.
 * @param {HTMLElement} root
 */
export function createEditor(root) {
  const area = /** @type {HTMLTextAreaElement} */ (root.querySelector('textarea'))
  const gutter = /** @type {HTMLElement} */ (root.querySelector('.gutter'))
  const paint = /** @type {HTMLElement} */ (root.querySelector('.paint'))
  /** @type {readonly Mark[]} */
  let marks = []
  /** What is drawn: the lines, a row for each, and the line numbers with their marks. */
  let drawn = /** @type {string[]} */ ([])
  let rows = /** @type {HTMLElement[]} */ ([])
  let numbered = ''
  let frame = 0

  function draw() {
    cancelAnimationFrame(frame)
    const all = area.value.split('\n')
    const painted = area.value.length <= mostPainted
    root.classList.toggle('plain', !painted)
    repaint(painted ? all : [])
    const marked = new Map(marks.map(({ line, message }) => [line, message]))
    for (const row of paint.querySelectorAll('.marked')) row.classList.remove('marked')
    for (const line of marked.keys()) rows[line - 1]?.classList.add('marked')
    const count = Math.min(all.length, mostNumbered)
    const numbering = JSON.stringify([count, ...marked])
    if (numbering !== numbered) gutter.replaceChildren(...numbers(count, marked))
    numbered = numbering
    follow()
  }

  /**
   * Redraws only the lines that differ: a keystroke must not redraw a whole manifest.
   * @param {string[]} lines
   */
  function repaint(lines) {
    let head = 0
    while (head < lines.length && head < drawn.length && lines[head] === drawn[head]) head++
    let tail = 0
    const most = Math.min(lines.length, drawn.length) - head
    while (tail < most && lines.at(-1 - tail) === drawn.at(-1 - tail)) tail++
    const fresh = lines.slice(head, lines.length - tail).map(paintLine)
    const next = rows[rows.length - tail] ?? null
    for (const row of rows.splice(head, rows.length - tail - head)) row.remove()
    rows = [...rows.slice(0, head), ...fresh, ...rows.slice(head)]
    const added = document.createDocumentFragment()
    added.append(...fresh)
    paint.insertBefore(added, next)
    drawn = lines
  }

  function follow() {
    gutter.scrollTop = area.scrollTop
    paint.scrollTop = area.scrollTop
    paint.scrollLeft = area.scrollLeft
  }

  area.addEventListener('scroll', follow)
  area.addEventListener('input', () => {
    // The marks belong to the old text.
    marks = []
    cancelAnimationFrame(frame)
    frame = requestAnimationFrame(draw)
  })

  /**
   * As if it were typed: the browser's own undo takes it back. The focus goes back to where it was.
   * @param {number} start
   * @param {number} end
   * @param {string} text
   */
  function put(start, end, text) {
    const focused = document.activeElement
    area.focus({ preventScroll: true })
    area.setSelectionRange(start, end)
    // Deprecated, but the only way into a textarea's undo; every browser has it. It acts on what has the focus, which nothing hidden gets.
    const done =
      document.activeElement === area &&
      (text === '' ? document.execCommand('delete') : document.execCommand('insertText', false, text))
    if (!done) area.setRangeText(text, start, end, 'end')
    if (focused !== area && focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  }

  return {
    area,
    root,
    get text() {
      return area.value
    },
    /** @param {string} text */
    replace(text) {
      const clean = text.replace(/^\uFEFF/, '')
      const before = area.value
      if (before === '' || Math.max(before.length, clean.length) > mostUndone) area.value = clean
      else if (before !== clean) put(0, before.length, clean)
      marks = []
      area.scrollTop = 0
      draw()
      area.setSelectionRange(0, 0)
    },
    /**
     * Offsets are in the text as it is; none may overlap.
     * @param {readonly { start: number, end: number, text: string }[]} edits
     */
    edit(edits) {
      for (const { start, end, text } of edits.toSorted((a, b) => b.start - a.start)) {
        put(start, end, text)
        // Where it was put in, not in the line below: a screen reader reads the line with the cursor.
        if (text.endsWith('\n')) area.setSelectionRange(start + text.length - 1, start + text.length - 1)
      }
      marks = []
      draw()
    },
    /** @param {readonly Mark[]} wrong */
    mark(wrong) {
      marks = wrong.filter(({ line }) => line > 0)
      area.setAttribute('aria-invalid', String(wrong.length > 0))
      draw()
    },
    /**
     * Moves the cursor to a place and scrolls to its line.
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

/** @param {string} line */
function paintLine(line) {
  const row = element('span', { class: 'line' })
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
