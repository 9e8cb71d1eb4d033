import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments } from 'yaml'
import { type CheckKind, checkKinds, parseCheck } from '../admission/check.ts'
import { type Configuration, defaultConfiguration } from '../admission/configuration.ts'
import { parseDuration } from '../admission/duration.ts'
import { type Parsed, parsed, problem } from '../admission/parsed.ts'
import { quote } from '../admission/quote.ts'
import { nearest } from '../cli/nearest.ts'

/** What is wrong in a configuration file, and where; both count from 1. */
export interface ConfigurationProblem {
  readonly line: number
  readonly column: number
  readonly message: string
}

export type ReadConfiguration =
  | { readonly ok: true; readonly configuration: Configuration }
  /** All problems of the file, in the order of its lines. */
  | { readonly ok: false; readonly problems: readonly ConfigurationProblem[] }

/** Reads the text of a configuration file. `version` is the program's. Never throws. */
export function readConfiguration(text: string, version: string): ReadConfiguration {
  const lines = new LineCounter()
  const found: { offset: number; message: string }[] = []
  const report: Report = (offset, message) => void found.push({ offset, message })
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const [document, second] = 'empty' in documents ? [] : documents
  for (const { pos, message } of document?.errors ?? []) report(pos[0], message)
  if (second !== undefined) report(second.range[0], 'a second document; the configuration is one')
  const configuration = found.length === 0 ? configurationOf(document?.contents ?? null, version, report) : undefined
  if (configuration !== undefined && found.length === 0) return { ok: true, configuration }
  const problems = found
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => {
      const { line, col } = lines.linePos(offset)
      return { line: Math.max(line, 1), column: Math.max(col, 1), message }
    })
  return { ok: false, problems }
}

type Report = (offset: number, message: string) => void

function configurationOf(contents: Node | null, version: string, report: Report): Configuration {
  const standard = defaultConfiguration(version)
  const root = new Section('', contents, report, [
    ...['apiVersion', 'kind', 'defaults', 'mode', 'invalid', 'kubernetesVersion', 'waiter', 'annotations', 'rules'],
  ])
  root.required('apiVersion', 'sidecar-first.dev/v1')
  root.required('kind', 'Configuration')
  root.reject('rules', 'rules are not supported by this version')
  const names = ['check', 'timeout', 'onTimeout', 'gate', 'nativePosition', 'existingHook']
  const defaults = root.section('defaults', names)
  const waiter = root.section('waiter', ['image', 'imagePullPolicy', 'delivery'])
  const annotations = root.section('annotations', ['checks'])
  return {
    version,
    mode: root.choice('mode', ['enforce', 'observe'], standard.mode),
    invalid: root.choice('invalid', ['refuse', 'warn'], standard.invalid),
    kubernetesVersion: root.text('kubernetesVersion', parseKubernetesVersion, standard.kubernetesVersion),
    waiter: {
      image: waiter.text('image', parseImage, standard.waiter.image),
      imagePullPolicy: waiter.choice(
        'imagePullPolicy',
        ['Always', 'IfNotPresent', 'Never'],
        standard.waiter.imagePullPolicy,
      ),
      delivery: waiter.choice('delivery', ['init-container', 'image-volume', 'shell'], standard.waiter.delivery),
    },
    defaults: {
      check: defaults.text('check', parseCheck, standard.defaults.check),
      timeout: defaults.text('timeout', parseDuration, standard.defaults.timeout),
      onTimeout: defaults.choice('onTimeout', ['fail', 'continue'], standard.defaults.onTimeout),
      gate: defaults.choice('gate', ['hook', 'native', 'auto'], standard.defaults.gate),
      nativePosition: defaults.choice('nativePosition', ['last', 'first'], standard.defaults.nativePosition),
      existingHook: defaults.choice('existingHook', ['chain', 'keep', 'refuse'], standard.defaults.existingHook),
    },
    annotations: { checks: annotations.choices<CheckKind>('checks', checkKinds, standard.annotations.checks) },
    rules: standard.rules,
  }
}

/** An object of the file. Each reader gives the fallback where a key isn't there, or is wrong, which it reports. */
class Section {
  readonly #path: string
  readonly #report: Report
  readonly #offset: number
  readonly #values = new Map<string, { key: Node; value: Node | null }>()

  constructor(path: string, node: Node | null, report: Report, known: readonly string[]) {
    this.#path = path
    this.#report = report
    this.#offset = node?.range?.[0] ?? 0
    if (node === null || (isScalar(node) && node.value === null)) return
    if (!isMap<Node, Node | null>(node)) {
      report(this.#offset, `${path || 'the configuration'} is an object, not ${nameOf(node)}`)
      return
    }
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : ''
      if (known.includes(name)) this.#values.set(name, { key, value })
      else report(key.range?.[0] ?? 0, unknownKey(name, path, known))
    }
  }

  required(name: string, value: string): void {
    if (this.#values.has(name)) this.choice(name, [value], value)
    else this.#report(this.#offset, `${name} is missing; write ${name}: ${value}`)
  }

  reject(name: string, message: string): void {
    const found = this.#values.get(name)
    if (found !== undefined) this.#report(found.key.range?.[0] ?? 0, message)
  }

  section(name: string, known: readonly string[]): Section {
    return new Section(this.#pathOf(name), this.#values.get(name)?.value ?? null, this.#report, known)
  }

  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    return this.text(name, (text) => parseChoice(text, choices), fallback)
  }

  text<T, F>(name: string, parse: (text: string) => Parsed<T>, fallback: F): T | F {
    const found = this.#values.get(name)
    if (found === undefined) return fallback
    const { key, value } = found
    return this.#parse(name, value ?? key, value, parse) ?? fallback
  }

  choices<T extends string>(name: string, choices: readonly T[], fallback: ReadonlySet<T>): ReadonlySet<T> {
    const found = this.#values.get(name)
    if (found === undefined) return fallback
    const { key, value } = found
    if (!isSeq<Node | null>(value)) {
      this.#report((value ?? key).range?.[0] ?? 0, `${this.#pathOf(name)} is a list, not ${nameOf(value)}`)
      return fallback
    }
    const items = value.items.map((item) => this.#parse(name, item ?? key, item, (text) => parseChoice(text, choices)))
    return new Set(items.filter((item) => item !== undefined))
  }

  #parse<T>(name: string, place: Node, node: Node | null, parse: (text: string) => Parsed<T>): T | undefined {
    const text = textOf(node)
    const outcome = text === undefined ? problem(`takes text, not ${nameOf(node)}`) : parse(text)
    if (outcome.ok) return outcome.value
    this.#report(place.range?.[0] ?? 0, `${this.#pathOf(name)}: ${outcome.problem}`)
    return undefined
  }

  #pathOf(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`
  }
}

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
  const near = nearest(name, known)
  const where = path === '' ? '' : ` in ${path}`
  return `there is no key ${quote(name)}${where}; ${near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`}`
}

function parseChoice<T extends string>(text: string, choices: readonly T[]): Parsed<T> {
  const choice = choices.find((name) => name === text)
  return choice === undefined ? problem(`${quote(text)} is unknown; use ${choices.join(', ')}`) : parsed(choice)
}

/** `1.36`, `v1.36.3` and what a provider adds to it: `1.36+`, `v1.36.3-gke.1`. */
function parseKubernetesVersion(text: string): Parsed<{ major: number; minor: number }> {
  const match = /^v?(\d{1,4})\.(\d{1,4})(?:\+|\.\d.*)?$/.exec(text)
  if (match === null) return problem(`${quote(text)} is no version; write it like 1.36`)
  return parsed({ major: Number(match[1]), minor: Number(match[2]) })
}

/** Not an image reference's whole grammar: what can't be one anyhow. */
function parseImage(text: string): Parsed<string> {
  return /^[\w][\w./:@-]*$/.test(text) ? parsed(text) : problem(`${quote(text)} is no image`)
}
