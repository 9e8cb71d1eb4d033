/**
 * @typedef {object} Line
 * @property {' ' | '+' | '-'} mark
 * @property {string} text
 * @property {number} [before] the line's number in the old text
 * @property {number} [after] the line's number in the new text
 * @property {boolean} [moved] the other text has it in another place
 */

/** Unchanged lines that are shown around a change. */
const context = 3
/** A document with more changed lines than this is shown as replaced, because the search takes quadratic time. */
const most = 1000

/**
 * The lines of two texts, with the differences marked. YAML documents are compared one by one.
 * @param {string} before
 * @param {string} after
 * @returns {Line[]}
 */
export function diffLines(before, after) {
  const [old, fresh] = [documentsOf(before), documentsOf(after)]
  const pairs =
    old.length === fresh.length ? old.map((lines, index) => [lines, fresh[index] ?? []]) : [[old.flat(), fresh.flat()]]
  let [a, b] = [0, 0]
  return pairs.flatMap(([own = [], other = []]) => {
    /** @type {Line[]} */
    const lines = markedLines(own, other)
    for (const line of lines) {
      if (line.mark !== '+') line.before = ++a
      if (line.mark !== '-') line.after = ++b
    }
    markMoved(lines)
    return lines
  })
}

/**
 * @param {string} text
 * @returns {string[][]}
 */
function documentsOf(text) {
  /** @type {string[][]} */
  const documents = [[]]
  for (const line of text.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('---')) documents.push([])
    documents.at(-1)?.push(line)
  }
  return documents
}

/**
 * The lines of both, each kept, removed or added. The command line shows its diffs with it, too.
 * @param {readonly string[]} old
 * @param {readonly string[]} fresh
 * @returns {Pick<Line, 'mark' | 'text'>[]}
 */
export function markedLines(old, fresh) {
  let [a, b] = [0, 0]
  return marksOf(old, fresh).map((mark) => {
    const text = (mark === '+' ? fresh[b] : old[a]) ?? ''
    if (mark !== '+') a++
    if (mark !== '-') b++
    return { mark, text }
  })
}

/**
 * The parts of a diff that change something, with three lines of context: from one index up to another.
 * @param {readonly Pick<Line, 'mark'>[]} lines
 */
export function hunksOf(lines) {
  /** @type {{ from: number, to: number }[]} */
  const hunks = []
  for (const [index, { mark }] of lines.entries()) {
    if (mark === ' ') continue
    const [from, to] = [Math.max(index - context, 0), Math.min(index + context + 1, lines.length)]
    const last = hunks.at(-1)
    if (last !== undefined && from <= last.to) last.to = to
    else hunks.push({ from, to })
  }
  return hunks
}

/**
 * What becomes of the lines.
 * @param {readonly string[]} old
 * @param {readonly string[]} fresh
 * @returns {Line['mark'][]}
 */
function marksOf(old, fresh) {
  let head = 0
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++
  const middle = search(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail))
  return [...Array(head).fill(' '), ...middle, ...Array(tail).fill(' ')]
}

/**
 * Myers' shortest edit script (An O(ND) Difference Algorithm, 1986), as the marks of the lines.
 * @param {readonly string[]} old
 * @param {readonly string[]} fresh
 * @returns {Line['mark'][]}
 */
function search(old, fresh) {
  const limit = Math.min(old.length + fresh.length, most)
  const middle = limit + 1
  // How far each diagonal was reached, by its number from the middle on.
  const reached = new Int32Array(2 * limit + 3).fill(-1)
  reached[middle + 1] = 0
  /** @type {Int32Array[]} what was reached before each further edit: as many diagonals on each side as edits, and one more */
  const trail = []
  for (let edits = 0; edits <= limit; edits++) {
    trail.push(reached.slice(middle - edits - 1, middle + edits + 2))
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const [down, right] = [reached[middle + diagonal + 1] ?? -1, reached[middle + diagonal - 1] ?? -1]
      let at = diagonal === -edits || (diagonal !== edits && right < down) ? down : right + 1
      while (at < old.length && at - diagonal < fresh.length && old[at] === fresh[at - diagonal]) at++
      reached[middle + diagonal] = at
      if (at >= old.length && at - diagonal >= fresh.length) return retrace(trail, old.length, fresh.length)
    }
  }
  return [...Array(old.length).fill('-'), ...Array(fresh.length).fill('+')]
}

/**
 * @param {readonly Int32Array[]} trail
 * @param {number} a
 * @param {number} b
 * @returns {Line['mark'][]}
 */
function retrace(trail, a, b) {
  /** @type {Line['mark'][]} */
  const marks = []
  for (let edits = trail.length - 1; edits >= 0; edits--) {
    const diagonal = a - b
    const at = diagonal + edits + 1
    const [down, right] = [trail[edits]?.[at + 1] ?? -1, trail[edits]?.[at - 1] ?? -1]
    const added = diagonal === -edits || (diagonal !== edits && right < down)
    const from = added ? down : right
    const fromB = from - (added ? diagonal + 1 : diagonal - 1)
    while (a > from && b > fromB && a > 0 && b > 0) {
      marks.push(' ')
      a--
      b--
    }
    if (edits === 0) break
    if (added) b--
    else a--
    marks.push(added ? '+' : '-')
  }
  return marks.reverse()
}

/**
 * Marks lines that only moved: removed in one place and added in another, whatever their indentation.
 * @param {readonly Line[]} lines
 */
function markMoved(lines) {
  /** @param {Line['mark']} mark */
  const byText = (mark) =>
    Map.groupBy(
      lines.filter((line) => line.mark === mark && line.text.trim() !== ''),
      ({ text }) => text.trim(),
    )
  const gone = byText('-')
  for (const [text, come] of byText('+')) {
    const gones = gone.get(text) ?? []
    for (const [index, line] of gones.entries()) {
      const other = come[index]
      if (other !== undefined) line.moved = other.moved = true
    }
  }
}
