/**
 * @typedef {object} Line
 * @property {' ' | '+' | '-'} mark
 * @property {string} text
 * @property {number} [before] number of the line there
 * @property {number} [after]
 * @property {boolean} [moved] it stands elsewhere on the other side
 */

/** Changed lines of a document beyond which it is shown as replaced: the search takes the square of it. */
const most = 1000

/**
 * The lines of two texts, those that differ marked. Documents are compared one by one.
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
    const [startA, startB] = [a, b]
    const lines = compare(own, other).map((mark) => {
      /** @type {Line} */
      const line = { mark, text: (mark === '+' ? other[b - startB] : own[a - startA]) ?? '' }
      if (mark !== '+') line.before = ++a
      if (mark !== '-') line.after = ++b
      return line
    })
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
 * @param {readonly string[]} old
 * @param {readonly string[]} fresh
 * @returns {Line['mark'][]}
 */
function compare(old, fresh) {
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
  /** @type {Map<number, number>[]} the furthest that each diagonal was reached, before each further edit */
  const trail = []
  const reached = new Map([[1, 0]])
  for (let edits = 0; edits <= Math.min(old.length + fresh.length, most); edits++) {
    trail.push(new Map(reached))
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const [down, right] = [reached.get(diagonal + 1) ?? -1, reached.get(diagonal - 1) ?? -1]
      let at = diagonal === -edits || (diagonal !== edits && right < down) ? down : right + 1
      while (at < old.length && at - diagonal < fresh.length && old[at] === fresh[at - diagonal]) at++
      reached.set(diagonal, at)
      if (at >= old.length && at - diagonal >= fresh.length) return retrace(trail, old.length, fresh.length)
    }
  }
  return [...Array(old.length).fill('-'), ...Array(fresh.length).fill('+')]
}

/**
 * @param {readonly Map<number, number>[]} trail
 * @param {number} a
 * @param {number} b
 * @returns {Line['mark'][]}
 */
function retrace(trail, a, b) {
  /** @type {Line['mark'][]} */
  const marks = []
  for (let edits = trail.length - 1; edits >= 0; edits--) {
    const reached = trail[edits] ?? new Map()
    const diagonal = a - b
    const [down, right] = [reached.get(diagonal + 1) ?? -1, reached.get(diagonal - 1) ?? -1]
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
 * Lines that leave one place and come in another, whatever their indentation: what only moves is told from what is new.
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
