import { LineCounter } from 'yaml'
import { stringEnd } from './json.ts'
import { lineAndColumn, type ManifestDocument } from './manifests.ts'
import type { Place } from './problems.ts'

/** Where a key or an item begins, and where what it holds does. An item is what it holds. */
interface Offsets {
  readonly mark: number
  readonly value: number
}

/** What an object or a list holds. A map can't have as many entries as a list of a hundred megabytes has items. */
type Held = ReadonlyMap<string, Offsets> | readonly number[]

/** How often a text is read: a Deployment's container in a List takes eight. What Lists in Lists in Lists hold gets an outer place. */
const mostReadings = 20

interface Source {
  readonly lines: LineCounter
  /** Characters. */
  left: number
  /** By the offset at which each begins; only what was asked for has been read. */
  readonly held: Map<number, Held>
}
const sources = new WeakMap<ManifestDocument, Source>()

/**
 * The place of the last key or item on a way that a JSON document has, or of what it holds. Each object and list on the way is read
 * once, whatever else is asked for, so a document of a thousand objects costs little more than one.
 */
export function jsonPlace(
  document: ManifestDocument,
  way: readonly (string | number)[],
  side: keyof Offsets,
): Omit<Place, 'document'> {
  const { text } = document
  const source = sources.get(document) ?? { lines: linesOf(text), left: mostReadings * text.length, held: new Map() }
  sources.set(document, source)
  const root = text.indexOf('{')
  let at: Offsets = { mark: root, value: root }
  for (const part of way) {
    const held = source.held.get(at.value) ?? read(text, at.value, source)
    if (held === undefined) break
    const item = 'get' in held ? undefined : held[Number(part)]
    const next = 'get' in held ? held.get(String(part)) : item && { mark: item, value: item }
    if (next === undefined) break
    at = next
  }
  return lineAndColumn(text, source.lines, at[side])
}

/** What begins at an offset of valid JSON: a text, a number or the like holds nothing. */
function read(text: string, start: number, source: Source): Held | undefined {
  if (source.left <= 0) return undefined
  const items: number[] = []
  const members = new Map<string, Offsets>()
  const list = text[start] !== '{'
  if (list && text[start] !== '[') return items
  let key: { readonly name: string; readonly mark: number } | undefined
  let depth = 0
  const token = /["{}[\]]|[^\s"{}[\],:]+/g
  token.lastIndex = start
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const { index } = found
    const character = text[index]
    if (character === '"') token.lastIndex = stringEnd(text, index)
    if (character === '}' || character === ']') {
      depth--
      if (depth === 0) break
      continue
    }
    if (depth === 1) {
      if (list) items.push(index)
      else if (key === undefined) key = { name: JSON.parse(text.slice(index, token.lastIndex)), mark: index }
      else {
        members.set(key.name, { mark: key.mark, value: index })
        key = undefined
      }
    }
    if (character === '{' || character === '[') depth++
  }
  source.left -= token.lastIndex - start
  const held = list ? items : members
  source.held.set(start, held)
  return held
}

function linesOf(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  return lines
}
