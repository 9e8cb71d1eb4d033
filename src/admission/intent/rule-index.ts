import type { Json } from '../words/json.ts'
import type { Rule } from './rule.ts'

/**
 * Rules in the order of the file, arranged so that a container is compared with the few that may match it: each rule stands below tokens
 * of which every container that it matches has at least one.
 */
export interface RuleIndex {
  readonly rules: readonly Rule[]
  /** Whether any says `enforce: audit`. */
  readonly audits: boolean
  /** Whether any is enforced, or could be. */
  readonly binds: boolean
  /** The sets that rules belong to. */
  readonly sets: ReadonlySet<string>
  readonly byName: GramIndex
  readonly byImage: GramIndex
  /** By `key=value` of a label, or `key` where only its presence is asked for. */
  readonly byLabel: ReadonlyMap<string, Positions>
  /** Rules that no token narrows down. */
  readonly others: Positions
}

/** Positions of rules, rising. */
type Positions = readonly number[]

/** By the hash of a gram; two grams of one hash only cost a comparison. */
interface GramIndex {
  readonly positions: ReadonlyMap<number, Positions>
  /** The lengths of the grams, so that a text's own are cut to these alone. */
  readonly lengths: ReadonlySet<number>
}

/**
 * No longer text is compared: a name has at most 63 characters, and an image that a registry can have at most 255 for its name, 128 for its
 * tag and 135 for a digest by SHA-512, with a separator before each of the latter two.
 */
export const longestText = 520

/** Longer grams narrow more, but a short pattern has none. */
const longestGram = 6

export function indexRules(rules: readonly Rule[]): RuleIndex {
  const byName = { positions: new Map<number, number[]>(), lengths: new Set<number>() }
  const byImage = { positions: new Map<number, number[]>(), lengths: new Set<number>() }
  const byLabel = new Map<string, number[]>()
  const others: number[] = []
  for (const [position, { match }] of rules.entries()) {
    const ways = [
      wayByGrams(byName, match.containers, gramsOf),
      wayByGrams(byImage, match.images, imageGrams),
      wayByLabel(byLabel, match.podSelector),
    ].filter((way) => way !== undefined)
    const best = ways.sort((a, b) => a.price - b.price)[0]
    if (best === undefined) others.push(position)
    else best.enter(position)
  }
  const sets = new Set(rules.flatMap(({ set }) => set ?? []))
  const audits = rules.some(({ audit }) => audit)
  const binds = audits || rules.some(({ enforce }) => enforce)
  return { rules, audits, binds, sets, byName, byImage, byLabel, others }
}

export const noRules: RuleIndex = indexRules([])

/** A way to find a rule. */
interface Way {
  /** Grows with the texts that have its tokens and with the rules that stand below them already. */
  readonly price: number
  enter(position: number): void
}

function wayByGrams(
  index: { positions: Map<number, number[]>; lengths: Set<number> },
  globs: readonly string[] | undefined,
  gramsOf: (glob: string) => Gram[],
): Way | undefined {
  const price = ({ hash, length }: Gram) => priceOf(index.positions.get(hash), length)
  const chosen = (globs ?? []).map((glob) => gramsOf(glob).sort((a, b) => price(a) - price(b))[0])
  if (chosen.length === 0 || !chosen.every((gram) => gram !== undefined)) return undefined
  return {
    price: Math.max(...chosen.map(price)),
    enter: (position) => {
      for (const { hash, length } of chosen) {
        index.lengths.add(length)
        add(index.positions, hash, position)
      }
    },
  }
}

function wayByLabel(index: Map<string, number[]>, selector: Rule['match']['podSelector']): Way | undefined {
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => [labelToken(key, value)])
  const expressions = (selector?.matchExpressions ?? []).flatMap(({ key, operator, values = [] }) => {
    if (operator === 'In') return [values.map((value) => labelToken(key, value))]
    return operator === 'Exists' ? [[key]] : []
  })
  const price = (tokens: readonly string[]) =>
    Math.max(...tokens.map((token) => priceOf(index.get(token), longestGram)))
  const best = [...labels, ...expressions].sort((a, b) => price(a) - price(b))[0]
  if (best === undefined) return undefined
  const enter = (position: number) => {
    for (const token of best) add(index, token, position)
  }
  return { price: price(best), enter }
}

/** Taken so that a gram which is one character shorter is preferred only where it spares three quarters of the comparisons. */
function priceOf(there: Positions | undefined, length: number): number {
  return ((there?.length ?? 0) + 1) * 4 ** (longestGram - length)
}

function add<K>(index: Map<K, number[]>, token: K, position: number): void {
  const list = index.get(token)
  if (list === undefined) index.set(token, [position])
  else if (list.at(-1) !== position) list.push(position)
}

const labelToken = (key: string, value: string) => `${key}=${value}`

/** Stand for the ends of a name. */
const start = '\u0002'
const end = '\u0003'

interface Gram {
  readonly hash: number
  readonly length: number
}

/** The longest stretches that every text which fits the pattern has; none for `*`. */
function gramsOf(pattern: string): Gram[] {
  return stretchesOf(`${start}${pattern}${end}`)
}

/** The same of a glob for images: a text has a slash in front, and may go on with a tag and a digest. */
function imageGrams(pattern: string): Gram[] {
  const rooted = pattern.startsWith('*') ? pattern : `/${pattern}`
  return stretchesOf(rooted.replace(/:\*$/, ''))
}

function stretchesOf(pattern: string): Gram[] {
  return pattern.split('*').flatMap((stretch) => {
    if (stretch === start || stretch === end) return []
    const length = Math.min(stretch.length, longestGram)
    const count = stretch.length - length + 1
    return length === 0 ? [] : Array.from({ length: count }, (_, at) => ({ hash: hashOf(stretch, at, length), length }))
  })
}

/** FNV-1a. */
function hashOf(text: string, at: number, length: number): number {
  let hash = 0x811c9dc5 ^ length
  for (let place = at; place < at + length; place++) hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193)
  return hash
}

/** The rules that may match a pod by its labels, or that nothing narrows down: the same for all its containers. */
export function labelCandidates(index: RuleIndex, labels: ReadonlyMap<string, Json>): readonly Positions[] {
  const lists: Positions[] = [index.others]
  if (index.byLabel.size === 0) return lists
  for (const [key, value] of labels) {
    const present = index.byLabel.get(key)
    const equal = typeof value === 'string' ? index.byLabel.get(labelToken(key, value)) : undefined
    if (present !== undefined) lists.push(present)
    if (equal !== undefined) lists.push(equal)
  }
  return lists
}

/** The rules that may match a container by its name or image, both of which are comparable. */
export function containerCandidates(
  { byName, byImage }: RuleIndex,
  { name, image }: { readonly name: string; readonly image: string },
): readonly Positions[] {
  const lists: Positions[] = []
  collect(byName, start + name + end, lists)
  collect(byImage, `/${image}`, lists)
  return lists
}

/** Whether a text is one that rules look at; see longestText. */
export const isComparable = (text: string): boolean => text.length <= longestText

function collect({ positions, lengths }: GramIndex, whole: string, lists: Positions[]): void {
  for (const length of lengths) {
    for (let at = 0; at + length <= whole.length; at++) {
      const found = positions.get(hashOf(whole, at, length))
      if (found !== undefined) lists.push(found)
    }
  }
}
