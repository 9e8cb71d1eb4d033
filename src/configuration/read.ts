import { LineCounter, type Node, parseAllDocuments } from 'yaml'
import { type CheckKind, checkKinds, parseCheck } from '../admission/check/grammar.ts'
import { type Configuration, defaultConfiguration } from '../admission/intent/configuration.ts'
import type { Rule } from '../admission/intent/rule.ts'
import { indexRules, noRules } from '../admission/intent/rule-index.ts'
import { knowsLock } from '../admission/plan/lock.ts'
import { deliveries, failurePolicies, leases, pullPolicies } from '../admission/words/choices.ts'
import { type Parsed, parsed, problem } from '../admission/words/parsed.ts'
import type { Fault, Remark, WrongValue } from './faults.ts'
import { imageForm } from './image-form.ts'
import { configurationKeys } from './keys.ts'
import { noticesOf } from './notices.ts'
import { parseContainerName, parseImageGlob, readBehaviour, readInFront, readRules } from './rules.ts'
import { matching, oneOf, type Report, Section } from './section.ts'

/** All remarks are in the order of the lines. */
export type ReadConfiguration =
  /** Notices: what isn't wrong by itself, but hardly meant. */
  | { readonly ok: true; readonly configuration: Configuration; readonly notices: readonly Remark[] }
  | { readonly ok: false; readonly problems: readonly Remark[] }

/** Reads the text of a configuration file. `version` is the program's. Never throws. */
export function readConfiguration(text: string, version: string): ReadConfiguration {
  const lines = new LineCounter()
  const found: Found[] = []
  const report: Report = (offset, fault) => void found.push({ offset, fault })
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const [document, second] = 'empty' in documents ? [] : documents
  // What a parser says after its first mistake is mostly that mistake's doing.
  const faulty = document?.errors.filter(({ code }, index) => index === 0 || code === 'DUPLICATE_KEY') ?? []
  for (const { pos, message } of faulty) report(pos[0], { kind: 'invalid-yaml', message })
  if (second !== undefined) report(second.range[0], { kind: 'second-document' })
  const read = found.length === 0 ? configurationOf(document?.contents ?? null, version, report) : undefined
  if (read === undefined || found.length > 0) return { ok: false, problems: remarks(found, lines) }
  return { ok: true, configuration: read.configuration, notices: remarks(read.notices, lines) }
}

/** A remark before its line is known. */
interface Found {
  readonly offset: number
  readonly fault: Fault
}

function remarks(found: readonly Found[], lines: LineCounter): readonly Remark[] {
  return found
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, fault }) => {
      const { line, col } = lines.linePos(offset)
      return { line: Math.max(line, 1), column: Math.max(col, 1), fault }
    })
}

function configurationOf(
  contents: Node | null,
  version: string,
  report: Report,
): { configuration: Configuration; notices: readonly Found[] } {
  const standard = defaultConfiguration(version)
  const root = new Section('', contents, report, configurationKeys[''])
  for (const [key, value] of Object.entries({ apiVersion: 'sidecar-first.dev/v1', kind: 'Configuration' })) {
    if (root.has(key)) root.text(key, exactly(value), value)
    else root.fault(key, { kind: 'key-missing', key, value })
  }
  const section = (name: 'defaults' | 'waiter' | 'lock' | 'annotations' | 'enforced') =>
    root.section(name, configurationKeys[name])
  const defaults = section('defaults')
  const waiter = section('waiter')
  const lock = section('lock')
  const annotations = section('annotations')
  const enforced = section('enforced')
  const placed = readRules(root)
  const rules = placed.map(({ rule }) => rule)
  const configuration: Configuration = {
    version,
    mode: root.choice('mode', ['enforce', 'observe'], standard.mode),
    invalid: root.choice('invalid', ['refuse', 'warn'], standard.invalid),
    kubernetesVersion: root.text('kubernetesVersion', parseKubernetesVersion, standard.kubernetesVersion),
    waiter: {
      image: waiter.text('image', parseImage, standard.waiter.image),
      imagePullPolicy: waiter.choice('imagePullPolicy', pullPolicies, standard.waiter.imagePullPolicy),
      delivery: waiter.choice('delivery', deliveries, standard.waiter.delivery),
      mirrors: waiter.texts('mirrors', parseImageGlob, standard.waiter.mirrors),
    },
    defaults: {
      check: defaults.text('check', parseCheck, standard.defaults.check),
      ...readBehaviour(defaults, standard.defaults),
    },
    lease: lock.choice('lease', leases, standard.lease),
    runtimeClasses: new Set(lock.texts('runtimeClasses', parseRuntimeClass, [])),
    injected: new Set(root.texts('injected', parseContainerName, [])),
    annotations: {
      checks: new Set(annotations.texts<CheckKind, readonly CheckKind[]>('checks', oneOf(checkKinds), checkKinds)),
    },
    enforced: {
      failurePolicy: enforced.choice('failurePolicy', failurePolicies, standard.enforced.failurePolicy),
      inFront: readInFront(enforced),
    },
    rules: rules.length === 0 ? noRules : indexRules(rules),
  }
  // Such a pod would start its app at once, and only a node that is too old could tell.
  if (knowsLock(configuration) === false) {
    if (configuration.defaults.lock === 'on') defaults.fault('lock', { kind: 'lock-unknown' })
    for (const [index, { rule, offset }] of placed.entries()) {
      if (rule.lock === 'on') report(offset, { kind: 'lock-unknown', path: `rules[${index}].lock` })
    }
  }
  // The app would run beside a sidecar that isn't ready, and nothing would say so.
  for (const [index, { rule, offset }] of placed.entries()) {
    const by = unlocking(rule, configuration.defaults)
    if (by !== undefined) report(offset, { kind: 'locks-nothing', path: `rules[${index}].lock`, by })
  }
  const notices: Found[] = noticesOf(rules).map(({ position, fault }) => ({
    offset: placed[position]?.offset ?? 0,
    fault,
  }))
  if (configuration.waiter.delivery === 'shell') {
    const fault = (path: string) => ({ kind: 'end-by-shell', path }) as const
    if (configuration.defaults.end === 'last') notices.push({ offset: defaults.offset, fault: fault('defaults.end') })
    for (const [index, { rule, offset }] of placed.entries()) {
      if (rule.end === 'last') notices.push({ offset, fault: fault(`rules[${index}].end`) })
    }
  }
  if (configuration.lease === 'off') {
    const fault = (path: string) => ({ kind: 'restarts-unused', path }) as const
    if (defaults.has('lockRestarts')) notices.push({ offset: defaults.offset, fault: fault('defaults.lockRestarts') })
    for (const [index, { rule, offset }] of placed.entries()) {
      if (rule.lockRestarts !== undefined) notices.push({ offset, fault: fault(`rules[${index}].lockRestarts`) })
    }
  }
  const idle = rules.some(({ enforce, audit }) => enforce || audit) ? [] : ['failurePolicy', 'inFront']
  for (const key of idle.filter((each) => enforced.has(each))) {
    notices.push({ offset: enforced.offset, fault: { kind: 'no-enforced-rule', path: enforced.pathOf(key) } })
  }
  return { configuration, notices }
}

/** What keeps an enforced rule's lock from locking anything. */
function unlocking({ enforce, audit, lock, check, existingHook }: Rule, defaults: Configuration['defaults']) {
  if (!(enforce || audit) || (lock ?? defaults.lock) !== 'on') return undefined
  if ((check ?? defaults.check).kind === 'none') return 'check: none'
  return (existingHook ?? defaults.existingHook) === 'keep' ? 'existingHook: keep' : undefined
}

const exactly =
  (value: string) =>
  (text: string): Parsed<string, WrongValue> =>
    text === value ? parsed(text) : problem({ kind: 'not-the-value', text, value })

/** `1.36`, `v1.36.3` and what a provider adds to it: `1.36+`, `v1.36.3-gke.1`. */
export function parseKubernetesVersion(text: string): Parsed<{ major: number; minor: number }, WrongValue> {
  const match = /^v?(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})(?:\+|\.\d.*)?$/.exec(text)
  if (match === null) return problem({ kind: 'not-a-version', text })
  const [major, minor] = [Number(match[1]), Number(match[2])]
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1]))
    return problem({ kind: 'not-a-version', text, isOld: true })
  return parsed({ major, minor })
}

/** A kubelet may be three minor versions older than its API server, and API servers before 1.30 are refused. */
export const oldestNode = [1, 27] as const

/** The name of a RuntimeClass: a DNS subdomain. */
const parseRuntimeClass = matching('not-a-runtime-class', /^(?=.{1,253}$)[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/)

const parseImage = matching('not-an-image', imageForm)
