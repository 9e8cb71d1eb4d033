/**
 * @import { Vocabulary } from './what-if.js'
 * @typedef {{ text: string, says: string }} Candidate
 * @typedef {{ from: number, to: number, candidates: readonly Candidate[] }} Completions what could stand from `from` to `to`
 */

/** Candidates that are shown. */
const mostShown = 6
/** In characters, of a document: reading containers out of it takes a moment at every key. */
const mostRead = 200_000

/**
 * What could be written at an offset of a text. Pure.
 * @param {string} text
 * @param {number} offset
 * @param {Vocabulary} vocabulary
 * @param {boolean} asked by the user; else only where it is likely to help
 * @returns {Completions | undefined}
 */
export function completionsAt(text, offset, vocabulary, asked) {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const line = text.slice(start, offset)
  const value = /^\s*(?:- +)?["']?([\w.-]+\/[\w.-]+)["']?: +(.*)$/.exec(line)
  const [key, written] = [value?.[1], value?.[2] ?? '']
  if (key !== undefined) return valueCompletions(key, written, { text, offset, vocabulary })
  const partial = /^\s*["']?([\w./-]*)$/.exec(line)?.[1]
  if (partial === undefined || !isInAnnotations(text, start, line) || (partial === '' && !asked)) return undefined
  const from = offset - partial.length
  const own = vocabulary.forContainers.find((word) => partial.startsWith(word.key))
  if (own !== undefined) {
    const names = containersAround(text, offset).map((name) => ({ text: `${own.key}${name}: `, says: '' }))
    return matching(names, partial, { from, to: offset })
  }
  const keys = [
    ...vocabulary.annotations.map((word) => ({ text: `${word.key}: `, says: word.says })),
    ...vocabulary.forContainers.map((word) => ({ text: word.key, says: word.says })),
  ]
  const there = new Set(around(text, offset).match(/[\w.-]*sidecar-first\.dev\/[\w.-]+(?=["']?:)/g))
  return matching(
    keys.filter((each) => !there.has(each.text.slice(0, -2))),
    partial,
    { from, to: offset },
  )
}

/**
 * @param {string} key
 * @param {string} written behind the colon, up to the cursor
 * @param {{ text: string, offset: number, vocabulary: Vocabulary }} at
 */
function valueCompletions(key, written, { text, offset, vocabulary }) {
  const word = [...vocabulary.annotations, ...vocabulary.forContainers].find((each) =>
    each.key.endsWith('/') ? key.startsWith(each.key) : key === each.key,
  )
  if (word === undefined) return undefined
  if (word.values !== undefined) {
    const candidates = word.values.map((each) => ({ text: each, says: '' }))
    return matching(candidates, written, { from: offset - written.length, to: offset })
  }
  if (word.key !== vocabulary.annotations[0]?.key) return undefined
  const partial = /[\w-]*$/.exec(written)?.[0] ?? ''
  const named = new Set(written.slice(0, written.length - partial.length).match(/[\w-]+/g))
  const names = containersAround(text, offset).filter((name) => !named.has(name))
  return matching(
    names.map((name) => ({ text: name, says: '' })),
    partial,
    { from: offset - partial.length, to: offset },
  )
}

/**
 * @param {readonly Candidate[]} candidates
 * @param {string} partial
 * @param {{ from: number, to: number }} place
 */
function matching(candidates, partial, place) {
  const sought = partial.toLowerCase()
  const found = candidates.filter(({ text }) => text.toLowerCase().includes(sought) && text.trim() !== partial)
  const first = found.filter(({ text }) => text.toLowerCase().startsWith(sought))
  return { ...place, candidates: [...new Set([...first, ...found])].slice(0, mostShown) }
}

/**
 * Whether a line stands directly below `annotations:`.
 * @param {string} text
 * @param {number} start of the line
 * @param {string} line
 */
function isInAnnotations(text, start, line) {
  const indent = line.length - line.trimStart().length
  let end = start - 1
  for (let count = 0; end > 0 && count < 200; count++) {
    const begin = text.lastIndexOf('\n', end - 1) + 1
    const above = text.slice(begin, end)
    const own = above.length - above.trimStart().length
    if (above.trim() !== '' && own < indent) return /^\s*annotations:\s*(?:#.*)?$/.test(above)
    end = begin - 1
  }
  return false
}

/**
 * The document that an offset is in.
 * @param {string} text
 * @param {number} offset
 */
function around(text, offset) {
  const begin = text.lastIndexOf('\n---', offset - 1)
  const end = text.indexOf('\n---', offset)
  return text.slice(begin + 1, end < 0 ? text.length : end)
}

/**
 * The names of the containers in the document that an offset is in, as far as its lines show them.
 * @param {string} text
 * @param {number} offset
 */
function containersAround(text, offset) {
  const document = around(text, offset)
  if (document.length > mostRead) return []
  /** @type {Set<string>} */
  const names = new Set()
  /** @type {number | undefined} of the key of the list */
  let list
  let item = -1
  /** Where the keys of an item begin. */
  let inner = 0
  for (const line of document.split('\n')) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue
    const indent = line.length - line.trimStart().length
    const dash = /^\s*- +/.exec(line)?.[0].length
    if (list !== undefined && (indent < list || (indent === list && dash === undefined))) list = undefined
    if (/^\s*(?:containers|initContainers):\s*(?:#.*)?$/.test(line)) {
      list = indent
      item = -1
      continue
    }
    if (list === undefined) continue
    if (dash !== undefined && (item < 0 || indent === item)) {
      item = indent
      inner = dash
    } else if (indent !== inner) continue
    const name = /^\{?\s*(?:[^{]*, )?name: *["']?([a-z0-9][a-z0-9-]*)/.exec(line.slice(inner))?.[1]
    if (name !== undefined) names.add(name)
  }
  return [...names]
}
