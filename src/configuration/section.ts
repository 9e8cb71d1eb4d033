import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml'
import type { Problem } from '../admission/words/messages.ts'
import { type Parsed, parsed, problem } from '../admission/words/parsed.ts'
import { quote } from '../admission/words/quote.ts'
import type { Fault, WrongValue } from './faults.ts'

/** Takes a problem. `offset`: its place in the text. */
export type Report = (offset: number, fault: Fault) => void
type Parser<T> = (text: string) => Parsed<T, WrongValue | Problem>
/** A fault whose path is the key's, unless it says another. */
type Unplaced<F> = F extends { readonly path: string } ? Omit<F, 'path'> & Partial<Pick<F, 'path'>> : F

/** An object of the file. Each reader returns the fallback if a key is missing, or wrong, which it reports. */
export class Section {
  readonly #path: string
  readonly #report: Report
  readonly offset: number
  readonly #values = new Map<string, { key: Node; value: Node | null }>()

  /** `known`: the keys it may have; any where it is left out. */
  constructor(path: string, node: Node | null, report: Report, known?: readonly string[]) {
    this.#path = path
    this.#report = report
    this.offset = offsetOf(node)
    if (isNothing(node)) return
    if (!isMap<Node, Node | null>(node)) {
      report(this.offset, { kind: 'not-an-object', path, is: nameOf(node) })
      return
    }
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : ''
      if (known?.includes(name) ?? true) this.#values.set(name, { key, value })
      else report(offsetOf(key), { kind: 'unknown-key', key: name, path, known: known ?? [] })
    }
  }

  get names(): readonly string[] {
    return [...this.#values.keys()]
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** Reports what is wrong with a key; one that is missing is missed where the section begins. */
  fault(name: string, fault: Unplaced<Fault>): void {
    const found = this.#values.get(name)
    this.#report(found === undefined ? this.offset : offsetOf(found.key), {
      path: this.pathOf(name),
      ...fault,
    } as Fault)
  }

  /** Reports keys that aren't there. */
  need(...names: readonly string[]): void {
    for (const name of names) if (!this.has(name)) this.fault(name, { kind: 'missing' })
  }

  section(name: string, known?: readonly string[]): Section {
    const found = this.#values.get(name)
    return new Section(this.pathOf(name), found?.value ?? null, this.#report, known)
  }

  /** The objects of a list. */
  sections(name: string, known: readonly string[]): readonly Section[] {
    // Nothing is what is left of a list when all of it is commented out.
    const list = isNothing(this.#values.get(name)?.value ?? null) ? undefined : this.#list(name)
    return (list ?? []).map((item, index) => new Section(`${this.pathOf(name)}[${index}]`, item, this.#report, known))
  }

  choice<T extends string, F = T>(name: string, choices: readonly T[], fallback: F): T | F {
    return this.text(name, oneOf(choices), fallback)
  }

  text<T, F>(name: string, parse: Parser<T>, fallback: F): T | F {
    const found = this.#values.get(name)
    if (found === undefined) return fallback
    return this.#parse(this.pathOf(name), found.value ?? found.key, found.value, parse) ?? fallback
  }

  /** A list of texts. */
  texts<T, F>(name: string, parse: Parser<T>, fallback: F): readonly T[] | F {
    const found = this.#values.get(name)
    if (found === undefined) return fallback
    const list = this.#list(name)
    if (list === undefined) return fallback
    const items = list.map((item) => this.#parse(this.pathOf(name), item ?? found.key, item, parse))
    const sound = items.filter((item) => item !== undefined)
    return sound.length === items.length ? sound : fallback
  }

  integer<F>(name: string, least: number, most: number, fallback: F): number | F {
    const fits = (value: unknown): value is number =>
      typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
    return this.#scalar(name, { kind: 'not-a-number', least, most }, fallback, fits)
  }

  /** True, false, or one word instead. */
  flag<T extends string>(name: string, word: T): boolean | T {
    const fits = (value: unknown): value is boolean | T => typeof value === 'boolean' || value === word
    return this.#scalar(name, { kind: 'not-a-boolean', word }, false, fits)
  }

  pathOf(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`
  }

  #scalar<T, F>(
    name: string,
    fault: { kind: 'not-a-number'; least: number; most: number } | { kind: 'not-a-boolean'; word: string },
    fallback: F,
    fits: (value: unknown) => value is T,
  ): T | F {
    const found = this.#values.get(name)
    if (found === undefined) return fallback
    const { key, value } = found
    if (isScalar(value) && fits(value.value)) return value.value
    this.#report(offsetOf(value ?? key), { ...fault, path: this.pathOf(name), is: nameOf(value) })
    return fallback
  }

  #list(name: string): readonly (Node | null)[] | undefined {
    const found = this.#values.get(name)
    if (found === undefined) return undefined
    const { key, value } = found
    if (isSeq<Node | null>(value)) return value.items
    this.#report(offsetOf(value ?? key), { kind: 'not-a-list', path: this.pathOf(name), is: nameOf(value) })
    return undefined
  }

  #parse<T>(path: string, place: Node, node: Node | null, parse: Parser<T>): T | undefined {
    const text = scalarText(node)
    const outcome = text === undefined ? problem({ kind: 'not-text', is: nameOf(node) } as const) : parse(text)
    if (outcome.ok) return outcome.value
    this.#report(offsetOf(place), { kind: 'wrong-value', path, problem: outcome.problem })
    return undefined
  }
}

const isNothing = (node: Node | null) => node === null || (isScalar(node) && node.value === null)
const offsetOf = (node: Node | null): number => node?.range?.[0] ?? 0

/** Text as it was written, so that the version 1.30 isn't 1.3. */
function scalarText(node: Node | null): string | undefined {
  if (!isScalar(node)) return undefined
  if (typeof node.value === 'string') return node.value
  return typeof node.value === 'number' ? node.source : undefined
}

function nameOf(node: Node | null): string {
  if (isMap(node)) return 'an object'
  if (isSeq(node)) return 'a list'
  if (isAlias(node)) return 'an alias'
  if (isScalar(node) && node.value !== null) return quote(String(node.value))
  return 'nothing'
}

/** Takes one of these texts. */
export function oneOf<T extends string>(choices: readonly T[]): (text: string) => Parsed<T> {
  return (text) => {
    const choice = choices.find((name) => name === text)
    return choice === undefined ? problem({ kind: 'unknown-choice', text, choices }) : parsed(choice)
  }
}

/** Takes texts that match. */
export function matching(kind: WrongText['kind'], pattern: RegExp): (text: string) => Parsed<string, WrongValue> {
  return (text) => (pattern.test(text) ? parsed(text) : problem({ kind, text }))
}
/** A value of which there is nothing to say but the text. */
type WrongText = Exclude<Extract<WrongValue, { text: string }>, { value: string } | { known: readonly string[] }>
