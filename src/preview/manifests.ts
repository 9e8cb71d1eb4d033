import {
  Composer,
  type CST,
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  visit,
} from 'yaml'
import type { Json } from '../admission/words/json.ts'
import { kubectlDialect } from '../kubernetes/yaml.ts'
import { deepest, isObject, type JsonObject, parseJson, scanJson } from './json.ts'
import type { Fault, Place, Problem } from './problems.ts'

/** One document of an input, with what it takes to write it back as it was. */
export interface ManifestDocument {
  readonly number: number
  readonly value: JsonObject
  /** Of the whole input, as the parser took it. */
  readonly text: string
  /** The YAML that it was read from; absent for JSON. Its ranges are offsets in the whole input. */
  readonly yaml: Yaml | undefined
}

interface Yaml {
  readonly tree: Document.Parsed
  readonly lines: LineCounter
  /** What each alias stands for: the last anchor of its name before it. The library would walk through the whole document for each. */
  readonly aliased: ReadonlyMap<unknown, Node>
}

export type Manifests =
  | { readonly ok: true; readonly text: string; readonly documents: readonly ManifestDocument[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** What aliases may add to an input, in characters: enough for ten thousand containers, not for a billion laughs. */
const aliasRoom = 1_000_000

/** Anchors and aliases in a document: the library looks up each alias among all of them. */
const mostAnchors = 10_000

/** YAML takes a few seconds and half a gigabyte for this many characters, and worse if somebody means it to. */
const mostYaml = 8_000_000

/** More than a person reads; hostile text has one in every few bytes. */
export const mostProblems = 100

/** Reads manifests, JSON or YAML, into the documents that aren't empty, or says what is wrong. Never throws. */
export function readManifests(text: string, most = mostYaml): Manifests {
  return readJson(text) ?? (text.length > most ? tooLong : readYaml(text))
}

const tooLong: Manifests = {
  ok: false,
  problems: [{ document: 1, line: 1, column: 1, fault: { kind: 'too-long', most: mostYaml } }],
}

/** undefined if the text isn't JSON or is too deep: the YAML parser then says what is wrong and where. */
function readJson(text: string): Manifests | undefined {
  const json = text.startsWith('\uFEFF') ? text.slice(1) : text
  if (!/^\s*\{/.test(json)) return undefined
  const { deep, duplicates } = scanJson(json, mostProblems)
  if (deep) return undefined
  let value: Json
  try {
    value = parseJson(json)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  if (duplicates.length > 0) {
    const problems = duplicates.map(({ key, ...place }) => ({
      document: 1,
      ...place,
      fault: { kind: 'duplicate-key', key: JSON.parse(key) } as const,
    }))
    return { ok: false, problems }
  }
  return { ok: true, text, documents: [{ number: 1, value, text, yaml: undefined }] }
}

/** Like `readManifests`, for text that isn't JSON. Takes up to 3 s for a megabyte. */
function readYaml(given: string): Manifests {
  const text = asTheParserTakesIt(given)
  const lines = new LineCounter()
  const { tokens, deep } = tokensOf(text, lines)
  const at = (document: number, offset: number, fault: Fault): Problem => {
    return { document, ...lineAndColumn(text, lines, offset), fault }
  }
  if (deep !== undefined) {
    return { ok: false, problems: [at(deep.document, deep.offset, { kind: 'too-deep', most: deepest })] }
  }
  const composer = new Composer({
    ...kubectlDialect,
    intAsBigInt: true,
    keepSourceTokens: true,
    logLevel: 'error',
    prettyErrors: false,
    // the library compares each key with every other; faultsOf looks them up
    uniqueKeys: false,
  })
  const documents: ManifestDocument[] = []
  const problems: Problem[] = []
  const room = { left: 2 * text.length + aliasRoom }
  let number = 0
  for (const tree of composer.compose(tokens)) {
    number++
    const aliased = new Map<unknown, Node>()
    const faults = faultsOf(tree, text, aliased)
    for (const { offset, fault } of faults) problems.push(at(number, offset, fault))
    const { contents } = tree
    if (faults.length > 0 || contents === null || (isScalar(contents) && contents.value === null)) continue
    const start = contents.range[0]
    try {
      const value = plain(tree.toJS({ maxAliasCount: mostAnchors }), room, 0)
      if (isObject(value)) documents.push({ number, value, text, yaml: { tree, lines, aliased } })
      else problems.push(at(number, start, { kind: 'not-a-manifest' }))
    } catch (error) {
      // The library counts aliases, too, and throws a ReferenceError.
      if (error instanceof ReferenceError) problems.push(at(number, start, { kind: 'aliases-expand' }))
      else if (error instanceof Unreadable) problems.push(at(number, start, error.fault))
      else if (error instanceof Error)
        problems.push(at(number, start, { kind: 'invalid-yaml', message: error.message }))
      else throw error
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, text: given, documents }
}

/**
 * YAML and kubectl know two things that the parser doesn't: a carriage return alone ends a line, and each document may begin with a
 * byte order mark. What begins in a line stays where it is.
 */
const asTheParserTakesIt = (text: string): string =>
  text.replace(/\r(?!\n)/g, '\n').replace(/^(---[ \t]*)(\r?\n)\uFEFF/gm, '$1 $2')

/**
 * Up to where nesting gets too deep to work with, since the parser goes through all that is open for each token, or where there are more
 * mistakes than anyone is told of: each takes a hundred times as long as a sign that fits.
 */
function tokensOf(text: string, lines: LineCounter) {
  const tokens: CST.Token[] = []
  const parser = new Parser(lines.addNewLine)
  let errors = 0
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) {
      tokens.push(token)
      if (token.type === 'error') errors++
    }
    // the document, and what is open in it
    const [inner, open] = [parser.stack.at(-1), parser.stack.length - 1]
    if (open > deepest && inner !== undefined && 'items' in inner) {
      return {
        tokens,
        deep: { document: tokens.filter(({ type }) => type === 'document').length + 1, offset: inner.offset },
      }
    }
    if (errors > mostProblems) break
  }
  tokens.push(...parser.end())
  return { tokens, deep: undefined }
}

/** Of an offset in a text; a byte order mark takes no column. */
export function lineAndColumn(text: string, lines: LineCounter, offset: number): Omit<Place, 'document'> {
  const { line, col } = lines.linePos(offset)
  const column = line <= 1 && text.startsWith('\uFEFF') ? col - 1 : col
  return { line: Math.max(line, 1), column: Math.max(column, 1) }
}

interface Found {
  readonly offset: number
  readonly fault: Fault
}

/** A value that can't be worked with. */
class Unreadable extends Error {
  readonly fault: Fault
  constructor(fault: Fault) {
    super(fault.kind)
    this.fault = fault
  }
}

/** At the beginning of a line or a value; inside a text they may mean something else. */
const unquotedBraces = /\{\{(?<=(?:^|[:-][ \t])[ \t]*\{\{)/m
const unrendered = { kind: 'helm-template' } as const

/**
 * One syntax error for each document, since the others follow from it, and all impossible keys.
 * @param aliased takes what its aliases stand for
 */
function faultsOf(tree: Document.Parsed, text: string, aliased: Map<unknown, Node>): Found[] {
  const [syntax] = tree.errors
  if (syntax !== undefined) {
    // its range may end in mid-line, where the error is
    const end = text.indexOf('\n', tree.range[2])
    const template = unquotedBraces.exec(text.slice(tree.range[0], end < 0 ? text.length : end))
    if (template !== null) return [{ offset: tree.range[0] + template.index, fault: unrendered }]
    // JSON that breaks off, say; YAML in braces seldom quotes its keys
    const json = /^\uFEFF?\s*\{\s*"/.test(text)
    return [{ offset: syntax.pos[0], fault: { kind: 'invalid-yaml', message: syntax.message, ...(json && { json }) } }]
  }
  const faults: Found[] = []
  const anchors = new Map<string, Node>()
  let count = 0
  const keysOf = new Map<unknown, Set<string>>()
  visit(tree, {
    Value(_key, node) {
      if (node.anchor === undefined) return
      anchors.set(node.anchor, node)
      count++
    },
    Alias(_key, alias) {
      const { source, range } = alias
      count++
      const found = anchors.get(source)
      if (found === undefined) faults.push({ offset: range?.[0] ?? 0, fault: { kind: 'anchor-missing', name: source } })
      else aliased.set(alias, found)
    },
    Pair(_key, { key }, path) {
      if (!isNode(key) || !key.range) return
      const [offset] = key.range
      if (isMap(key) || isSeq(key)) {
        if (text.startsWith('{{', offset - 1)) faults.push({ offset: offset - 1, fault: unrendered })
        else faults.push({ offset, fault: { kind: 'key-not-text' } })
      } else if (isScalar(key) && typeof key.value !== 'symbol') {
        const keys = keysOf.get(path.at(-1)) ?? new Set()
        keysOf.set(path.at(-1), keys)
        const name = String(key.value)
        if (keys.has(name)) faults.push({ offset, fault: { kind: 'duplicate-key', key: name } })
        keys.add(name)
      }
    },
  })
  if (count > mostAnchors)
    faults.push({ offset: tree.range[0], fault: { kind: 'too-many-anchors', most: mostAnchors } })
  return faults
}

/** A copy without shared parts (aliases), with bigints only where a number can't hold the integer. */
function plain(value: unknown, room: { left: number }, depth: number): Json {
  room.left -= 1 + (typeof value === 'string' ? value.length : 0)
  if (room.left < 0 || depth > deepest) throw new Unreadable({ kind: 'aliases-expand' })
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new Unreadable({ kind: 'not-in-json', value: String(value) })
  if (Array.isArray(value)) return value.map((item) => plain(item, room, depth + 1))
  if (typeof value !== 'object' || value === null) return value as Json
  // fromEntries defines properties, so that a key `__proto__` is just a key
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      room.left -= key.length
      return [key, plain(item, room, depth + 1)]
    }),
  )
}
