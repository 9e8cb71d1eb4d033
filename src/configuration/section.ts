import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml'
import { type Parsed, parsed, problem } from '../admission/parsed.ts'
import { quote } from '../admission/quote.ts'
import { nearest } from '../nearest.ts'

/** Takes a problem. `offset`: its place in the text. */
export type Report = (offset: number, message: string) => void

/** An object of the file. Each reader gives the fallback where a key isn't there, or is wrong, which it reports. */
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
      report(this.offset, `${path || 'the configuration'} is an object, not ${nameOf(node)}`)
      return
    }
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : ''
      if (known?.includes(name) ?? true) this.#values.set(name, { key, value })
      else report(offsetOf(key), unknownKey(name, path, known ?? []))
    }
  }

  get names(): readonly string[] {
    return [...this.#values.keys()]
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** Reports what is wrong with a key, or with the whole where none is named. */
  fault(name: string | undefined, message: string): void {
    const found = name === undefined ? undefined : this.#values.get(name)
    this.#report(found === undefined ? this.offset : offsetOf(found.key), message)
  }

  required(name: string, value: string): void {
    if (this.has(name)) this.choice(name, [value], value)
    else this.fault(undefined, `${name} is missing; write ${name}: ${value}`)
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
    return this.text(name, (text) => parseChoice(text, choices), fallback)
  }

  text<T, F>(name: string, parse: (text: string) => Parsed<T>, fallback: F): T | F {
    const found = this.#values.get(name)
    if (found === undefined) return fallback
    return this.#parse(this.pathOf(name), found.value ?? found.key, found.value, parse) ?? fallback
  }

  /** A list of texts. */
  texts<T, F>(name: string, parse: (text: string) => Parsed<T>, fallback: F): readonly T[] | F {
    const found = this.#values.get(name)
    if (found === undefined) return fallback
    const list = this.#list(name)
    if (list === undefined) return fallback
    const items = list.map((item) => this.#parse(this.pathOf(name), item ?? found.key, item, parse))
    const sound = items.filter((item) => item !== undefined)
    return sound.length === items.length ? sound : fallback
  }

  /** The chosen ones of a list. */
  choices<T extends string>(name: string, choices: readonly T[], fallback: readonly T[]): readonly T[] {
    return this.texts(name, (text) => parseChoice(text, choices), fallback)
  }

  integer<F>(name: string, least: number, most: number, fallback: F): number | F {
    const wanted = `takes a whole number from ${least} to ${most}`
    return this.#scalar(name, wanted, fallback, (value): value is number => {
      return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
    })
  }

  flag(name: string, fallback: boolean): boolean {
    return this.#scalar(name, 'takes true or false', fallback, (value) => typeof value === 'boolean')
  }

  pathOf(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`
  }

  #scalar<T, F>(name: string, wanted: string, fallback: F, fits: (value: unknown) => value is T): T | F {
    const found = this.#values.get(name)
    if (found === undefined) return fallback
    const { key, value } = found
    if (isScalar(value) && fits(value.value)) return value.value
    this.#report(offsetOf(value ?? key), `${this.pathOf(name)} ${wanted}, not ${nameOf(value)}`)
    return fallback
  }

  #list(name: string): readonly (Node | null)[] | undefined {
    const found = this.#values.get(name)
    if (found === undefined) return undefined
    const { key, value } = found
    if (isSeq<Node | null>(value)) return value.items
    this.#report(offsetOf(value ?? key), `${this.pathOf(name)} is a list, not ${nameOf(value)}`)
    return undefined
  }

  #parse<T>(path: string, place: Node, node: Node | null, parse: (text: string) => Parsed<T>): T | undefined {
    const text = textOf(node)
    const outcome = text === undefined ? problem(`takes text, not ${nameOf(node)}`) : parse(text)
    if (outcome.ok) return outcome.value
    this.#report(offsetOf(place), `${path}: ${outcome.problem}`)
    return undefined
  }
}

const isNothing = (node: Node | null) => node === null || (isScalar(node) && node.value === null)
const offsetOf = (node: Node | null): number => node?.range?.[0] ?? 0

/** Text as it was written, so that the version 1.30 isn't 1.3. */
function textOf(node: Node | null): string | undefined {
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

function unknownKey(name: string, path: string, known: readonly string[]): string {
  const where = path === '' ? '' : ` in ${path}`
  return `there is no key ${quote(name)}${where}; ${suggest(name, known)}`
}

/** `did you mean X?`, or all there are. */
export function suggest(text: string, choices: readonly string[]): string {
  const near = nearest(text, choices)
  return near === undefined ? `known are ${choices.join(', ')}` : `did you mean ${near}?`
}

function parseChoice<T extends string>(text: string, choices: readonly T[]): Parsed<T> {
  const choice = choices.find((name) => name === text)
  return choice === undefined ? problem(`${quote(text)} is unknown; use ${choices.join(', ')}`) : parsed(choice)
}
