import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isScalar, isSeq, type Node, type Pair, visit, type YAMLMap, type YAMLSeq } from 'yaml'
import type { Json } from '../admission/words/json.ts'
import { writeYaml } from '../kubernetes/yaml.ts'
import { formatJson, isObject, type JsonObject } from './json.ts'

/** Text from `start` to `end` (offsets) is to be replaced. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** A part whose form isn't handled line by line. */
export class Exotic extends Error {}

/** The text between two offsets with edits made; they must lie in it and not overlap. */
export function applyEdits(text: string, edits: readonly Edit[], from = 0, to = text.length): string {
  let done = ''
  let at = from
  for (const { start, end, text: replacement } of [...edits].sort((a, b) => a.start - b.start)) {
    done += text.slice(at, start) + replacement
    at = end
  }
  return done + text.slice(at, to)
}

/**
 * Edits that turn a YAML document with value `now` into one with value `target`, touching only the lines that must change.
 * `text` is what the tree's ranges refer to; it must end in a line break. Throws `Exotic`.
 */
export function editsFor(tree: Document.Parsed, text: string, now: JsonObject, target: JsonObject): Edit[] {
  if (!isMap(tree.contents) || tree.contents.flow) throw new Exotic('not in block style')
  return new Editor(text, formOf(tree, text)).map(tree.contents, now, target)
}

interface Form {
  readonly eol: string
  readonly indent: number
  readonly indentSeq: boolean
}

/** How the document is formatted: the first nested object and the first list under a key show it. */
function formOf(tree: Document.Parsed, text: string): Form {
  let indent: number | undefined
  let indentSeq: boolean | undefined
  visit(tree, {
    Pair(_, { key, value }) {
      if (!(isMap(value) || isSeq(value)) || value.flow) return undefined
      const deeper = columnOf(text, rangeOf(value)[0]) - columnOf(text, rangeOf(key)[0])
      if (isSeq(value)) indentSeq ??= deeper > 0
      else if (deeper > 0) indent ??= deeper
      return indent !== undefined && indentSeq !== undefined ? visit.BREAK : undefined
    },
  })
  // a list at the level of its key can't be written with a wider indent
  return {
    eol: lineBreak(text.slice(tree.range[0], tree.range[2])),
    indent: indentSeq === false ? 2 : (indent ?? 2),
    indentSeq: indentSeq ?? true,
  }
}

/** What a text's lines end with. */
export const lineBreak = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')
const lineStart = (text: string, offset: number): number =>
  // the first line begins behind a byte order mark
  text.lastIndexOf('\n', offset - 1) + 1 || (text.startsWith('\uFEFF') ? 1 : 0)
const columnOf = (text: string, offset: number): number => offset - lineStart(text, offset)

function rangeOf(node: unknown): readonly [number, number, number] {
  const range = (node as Node | null)?.range
  if (!range) throw new Exotic('a node without a place')
  return range
}

/** One item of a list, as lines: its comments above it, the item, its comments below it. */
interface Chunk {
  readonly value: Json
  readonly node: unknown
  readonly head: string
  readonly start: number
  readonly end: number
  readonly tail: string
  /** Of its dash. */
  readonly column: number
}

/** Items by name that leave one list of an object, and may turn up in another: containers that become init containers. */
type Leaving = ReadonlyMap<unknown, Chunk>

class Editor {
  readonly #text: string
  readonly #form: Form

  constructor(text: string, form: Form) {
    this.#text = text
    this.#form = form
  }

  map(map: YAMLMap, now: JsonObject, target: JsonObject): Edit[] {
    const edits: Edit[] = []
    const own = new Set<string>()
    const first = map.items[0] as Pair | undefined
    if (first === undefined) throw new Exotic('an empty object')
    const column = this.#keyColumn(first)
    const leaving = this.#leaving(map, now, target)
    for (const pair of map.items as Pair[]) {
      if (!isScalar(pair.key)) throw new Exotic('a key that is no text')
      const key = String(pair.key.value)
      if (typeof pair.key.value === 'symbol' || key === '<<') continue
      own.add(key)
      const [was, wanted] = [now[key], target[key]]
      if (wanted === undefined) edits.push(this.#removal(pair))
      else if (was === undefined) throw new Exotic('a key that is merged away')
      else if (!isDeepStrictEqual(was, wanted)) {
        for (const edit of this.#value(pair, key, column, was, wanted, leaving)) edits.push(edit)
      }
    }
    if (Object.keys(now).some((key) => !own.has(key) && !Object.hasOwn(target, key))) throw new Exotic('merged keys')
    const added = Object.entries(target).filter(([key, value]) => !own.has(key) && !isDeepStrictEqual(now[key], value))
    if (added.length > 0) {
      const end = this.#lineEnd(this.#contentEnd(map))
      const text = added.map(([key, value]) => this.#entry(key, value, column, leaving)).join('')
      edits.push({ start: end, end, text })
    }
    return edits
  }

  #value(pair: Pair, key: string, column: number, now: Json, target: Json, leaving: Leaving): Edit[] {
    const { value } = pair
    if (isMap(value) && !value.flow && isObject(now) && isObject(target) && Object.keys(target).length > 0) {
      return this.map(value, now, target)
    }
    if (isSeq(value) && !value.flow && Array.isArray(now) && Array.isArray(target) && target.length > 0) {
      return this.#list(value, now, target, leaving)
    }
    const start = rangeOf(pair.key)[0]
    const text = this.#entry(key, target, column, leaving).slice(column)
    return [{ start, end: this.#lineEnd(this.#pairEnd(pair)), text }]
  }

  #removal(pair: Pair): Edit {
    const [offset] = rangeOf(pair.key)
    const start = lineStart(this.#text, offset)
    if (this.#text.slice(start, offset).trim() !== '') throw new Exotic("the first line of a list's item")
    return { start, end: this.#lineEnd(this.#pairEnd(pair)), text: '' }
  }

  /** A key with its value, written anew but for items that come from another list. */
  #entry(key: string, value: Json, column: number, leaving: Leaving): string {
    const arrives = Array.isArray(value) && value.some((item) => leaving.has(nameOf(item)))
    if (!arrives) return this.#write(Object.fromEntries([[key, value]]), column)
    const { indent, indentSeq, eol } = this.#form
    const head = this.#write(Object.fromEntries([[key, null]]), column).replace(/ null\r?\n$/, eol)
    const inner = column + (indentSeq ? indent : 0)
    return head + value.map((item: Json) => this.#arrival(item, inner, leaving)).join('')
  }

  /** An item that is new in its list: as it stood in another one, if it did, with only its indentation changed. */
  #arrival(item: Json, column: number, leaving: Leaving): string {
    const chunk = leaving.get(nameOf(item))
    return chunk === undefined
      ? this.#write([item], column)
      : indented(this.#changed(chunk, item), column - chunk.column)
  }

  #leaving(map: YAMLMap, now: JsonObject, target: JsonObject): Leaving {
    const leaving = new Map<unknown, Chunk>()
    for (const { key, value } of map.items as Pair[]) {
      const name = isScalar(key) ? String(key.value) : ''
      const [was, wanted] = [now[name], target[name]]
      if (!isSeq(value) || value.flow || !Array.isArray(was) || !Array.isArray(wanted)) continue
      const staying = new Set(wanted.map(nameOf))
      const gone = (item: Json) => nameOf(item) !== undefined && !staying.has(nameOf(item))
      if (!was.some(gone)) continue
      for (const chunk of this.#chunks(value, was).chunks) {
        if (gone(chunk.value)) leaving.set(nameOf(chunk.value), chunk)
      }
    }
    return leaving
  }

  #list(list: YAMLSeq, now: readonly Json[], target: readonly Json[], leaving: Leaving): Edit[] {
    const { chunks, gaps, column } = this.#chunks(list, now)
    const first = chunks[0]
    const last = chunks.at(-1)
    if (first === undefined || last === undefined) throw new Exotic('an empty list')
    const found = match(chunks, target)
    if (target.length === chunks.length && found.every((chunk, index) => chunk === chunks[index])) {
      return chunks.flatMap((chunk, index) => this.#item(chunk, target[index] ?? null))
    }
    const text = target.map((wanted, index) => {
      const gap = index < target.length - 1 ? (gaps[index] ?? '') : ''
      const chunk = found[index]
      return (chunk === undefined ? this.#arrival(wanted, column, leaving) : this.#changed(chunk, wanted)) + gap
    })
    return [{ start: first.start - first.head.length, end: last.end + last.tail.length, text: text.join('') }]
  }

  #changed(chunk: Chunk, target: Json): string {
    const { head, start, end, tail } = chunk
    return head + applyEdits(this.#text, this.#item(chunk, target), start, end) + tail
  }

  #item({ node, value, start, end, column }: Chunk, target: Json): Edit[] {
    if (isDeepStrictEqual(value, target)) return []
    if (isMap(node) && !node.flow && isObject(value) && isObject(target)) return this.map(node, value, target)
    return [{ start, end, text: this.#write([target], column) }]
  }

  /** Splits a list into lines that move with an item, and blank lines that stay between two places. */
  #chunks(list: YAMLSeq, now: readonly Json[]): { chunks: Chunk[]; gaps: string[]; column: number } {
    const token = list.srcToken
    if (token?.type !== 'block-seq') throw new Exotic('a list without its source')
    const dashes = token.items.flatMap(({ start }) => start.filter(({ type }) => type === 'seq-item-ind'))
    if (dashes.length !== list.items.length || now.length !== dashes.length)
      throw new Exotic('a list of another length')
    const column = columnOf(this.#text, dashes[0]?.offset ?? 0)
    const chunks: Chunk[] = []
    const gaps: string[] = []
    for (const [index, { offset: dash }] of dashes.entries()) {
      const start = lineStart(this.#text, dash)
      if (this.#text.slice(start, dash).trim() !== '') throw new Exotic('an item that starts in mid-line')
      const node = list.items[index]
      const end = this.#lineEnd(Math.max(this.#contentEnd(node), dash + 1))
      const tail = this.#commentsBelow(end, column)
      const previous = chunks.at(-1)
      const free = previous === undefined ? undefined : previous.end + previous.tail.length
      const head = free === undefined ? this.#commentsAbove(start) : this.#text.slice(free, start)
      const blank = free === undefined ? '' : blankLines(head)
      if (free !== undefined) gaps.push(blank)
      chunks.push({ value: now[index] ?? null, node, start, end, head: head.slice(blank.length), tail, column })
    }
    return { chunks, gaps, column }
  }

  #commentsAbove(offset: number): string {
    let start = offset
    while (start > 0) {
      const above = lineStart(this.#text, start - 1)
      if (!/^[ \t]*#/.test(this.#text.slice(above, start))) break
      start = above
    }
    return this.#text.slice(start, offset)
  }

  /** Comment lines deeper than the list's dashes: something in the item that is commented out. */
  #commentsBelow(offset: number, column: number): string {
    let end = offset
    for (let at = offset; at < this.#text.length; at = this.#lineEnd(at + 1)) {
      const line = this.#text.slice(at, this.#lineEnd(at + 1))
      const content = line.trimStart()
      if (content.startsWith('#') && line.length - content.length > column) end = at + line.length
      else if (content !== '') break
    }
    return this.#text.slice(offset, end)
  }

  /** Where the last character of a node's own text is, without what follows it. */
  #contentEnd(node: unknown): number {
    const [start, end] = rangeOf(node)
    if ((isMap(node) || isSeq(node)) && !node.flow) {
      const last: unknown = node.items.at(-1)
      if (isMap(node) && last !== undefined) return this.#pairEnd(last as Pair)
      return last === undefined ? start : this.#contentEnd(last)
    }
    return end
  }

  #pairEnd({ key, value }: Pair): number {
    const keyEnd = rangeOf(key)[1]
    if (value === null) return keyEnd
    // a value that isn't written has its place after the comments that follow
    if (isScalar(value) && value.source === '' && value.type === 'PLAIN') return keyEnd
    return this.#contentEnd(value)
  }

  #lineEnd(offset: number): number {
    if (offset > 0 && this.#text[offset - 1] === '\n') return offset
    const end = this.#text.indexOf('\n', offset)
    return end < 0 ? this.#text.length : end + 1
  }

  #keyColumn(pair: Pair): number {
    const [offset] = rangeOf(pair.key)
    const start = lineStart(this.#text, offset)
    if (!/^[ -]*$/.test(this.#text.slice(start, offset))) throw new Exotic('a key that starts in mid-line')
    return offset - start
  }

  #write(value: Json, column: number): string {
    const { eol, indent, indentSeq } = this.#form
    const lines = writeYaml(value, { indent, indentSeq }).split('\n').slice(0, -1)
    return lines.map((line) => (line === '' ? eol : ' '.repeat(column) + line + eol)).join('')
  }
}

/** Lines moved by some columns: all of an item are at least as deep as its dash. */
function indented(lines: string, by: number): string {
  return by < 0 ? lines.replace(new RegExp(`^ {1,${-by}}`, 'gm'), '') : lines.replace(/^(?=.*\S)/gm, ' '.repeat(by))
}

/** The empty lines that a text begins with. */
function blankLines(text: string): string {
  const blank = text.slice(0, text.length - text.trimStart().length)
  return blank.slice(0, blank.lastIndexOf('\n') + 1)
}

/**
 * For each wanted item, the one that becomes it: an equal one, else one with its name, else the nameless one in its place. Looked up,
 * not compared: lists can be long.
 */
function match(chunks: readonly Chunk[], target: readonly Json[]): (Chunk | undefined)[] {
  const free = new Set(chunks)
  const queues = chunks.toReversed()
  const byText = Map.groupBy(queues, ({ value }) => formatJson(value))
  const byName = Map.groupBy(queues, ({ value }) => nameOf(value))
  const take = (queue: Chunk[] = []): Chunk | undefined => {
    for (let chunk = queue.pop(); chunk !== undefined; chunk = queue.pop()) if (free.delete(chunk)) return chunk
    return undefined
  }
  const equal = target.map((wanted) => take(byText.get(formatJson(wanted))))
  return target.map((wanted, index) => {
    if (equal[index] !== undefined || !isObject(wanted)) return equal[index]
    const name = nameOf(wanted)
    const inPlace = chunks.slice(index, index + 1).filter(({ value }) => isObject(value) && nameOf(value) === undefined)
    return take(name === undefined ? inPlace : byName.get(name))
  })
}

const nameOf = (value: Json): Json | undefined => (isObject(value) ? value.name : undefined)
