import { LineCounter, type Node, parseAllDocuments } from 'yaml'
import { parseDuration } from '../admission/check/duration.ts'
import { type CheckKind, checkKinds, parseCheck } from '../admission/check/grammar.ts'
import { type Configuration, defaultConfiguration } from '../admission/intent/configuration.ts'
import type { Rule } from '../admission/intent/rule.ts'
import { indexRules, noRules } from '../admission/intent/rule-index.ts'
import { knowsLock } from '../admission/plan/lock.ts'
import {
  deliveries,
  existingHooks,
  failurePolicies,
  gates,
  locks,
  nativePositions,
  pullPolicies,
  startupProbeChoices,
  timeoutActions,
} from '../admission/words/choices.ts'
import { type Parsed, parsed, problem } from '../admission/words/parsed.ts'
import type { Fault, Remark, WrongValue } from './faults.ts'
import { configurationKeys } from './keys.ts'
import { noticesOf } from './notices.ts'
import { parseImageGlob, readInFront, readRules } from './rules.ts'
import { type Report, Section } from './section.ts'

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
  root.required('apiVersion', 'sidecar-first.dev/v1')
  root.required('kind', 'Configuration')
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
      timeout: defaults.text('timeout', parseDuration, standard.defaults.timeout),
      onTimeout: defaults.choice('onTimeout', timeoutActions, standard.defaults.onTimeout),
      gate: defaults.choice('gate', gates, standard.defaults.gate),
      nativePosition: defaults.choice('nativePosition', nativePositions, standard.defaults.nativePosition),
      existingHook: defaults.choice('existingHook', existingHooks, standard.defaults.existingHook),
      startupProbe: defaults.choice('startupProbe', startupProbeChoices, standard.defaults.startupProbe),
      lock: defaults.choice('lock', locks, standard.defaults.lock),
    },
    runtimeClasses: new Set(lock.texts('runtimeClasses', parseRuntimeClass, [])),
    annotations: { checks: new Set(annotations.choices<CheckKind>('checks', checkKinds, checkKinds)) },
    enforced: {
      failurePolicy: enforced.choice('failurePolicy', failurePolicies, standard.enforced.failurePolicy),
      inFront: readInFront(enforced),
    },
    rules: rules.length === 0 ? noRules : indexRules(rules),
  }
  // Such a pod would start its app at once, and only a node that is too old could tell.
  if (knowsLock(configuration) === false) {
    const locked = (path: string) => ({ kind: 'lock-unknown', path }) as const
    if (configuration.defaults.lock === 'on') defaults.fault('lock', locked('defaults.lock'))
    for (const [index, { rule, offset }] of placed.entries()) {
      if (rule.lock === 'on') report(offset, locked(`rules[${index}].lock`))
    }
  }
  // The app would run beside a sidecar that isn't ready, and nothing would say so.
  for (const [index, { rule, offset }] of placed.entries()) {
    const by = unlocking(rule, configuration.defaults)
    if (by !== undefined) report(offset, { kind: 'locks-nothing', path: `rules[${index}].lock`, by })
  }
  const notices = noticesOf(rules).map(({ position, fault }) => ({ offset: placed[position]?.offset ?? 0, fault }))
  const idle = rules.some(({ enforce, audit }) => enforce || audit) ? [] : ['failurePolicy', 'inFront']
  const more = idle
    .filter((key) => enforced.has(key))
    .map((key) => ({
      offset: enforced.offset,
      fault: { kind: 'no-enforced-rule', path: enforced.pathOf(key) } as const,
    }))
  return { configuration, notices: [...notices, ...more] }
}

/** What keeps an enforced rule's lock from locking anything. */
function unlocking({ enforce, audit, lock, check, existingHook }: Rule, defaults: Configuration['defaults']) {
  if (!(enforce || audit) || (lock ?? defaults.lock) !== 'on') return undefined
  if ((check ?? defaults.check).kind === 'none') return 'check: none'
  return (existingHook ?? defaults.existingHook) === 'keep' ? 'existingHook: keep' : undefined
}

/** `1.36`, `v1.36.3` and what a provider adds to it: `1.36+`, `v1.36.3-gke.1`. */
function parseKubernetesVersion(text: string): Parsed<{ major: number; minor: number }, WrongValue> {
  const match = /^v?(\d{1,4})\.(\d{1,4})(?:\+|\.\d.*)?$/.exec(text)
  if (match === null) return problem({ kind: 'not-a-version', text })
  return parsed({ major: Number(match[1]), minor: Number(match[2]) })
}

/** The name of a RuntimeClass: a DNS subdomain. */
function parseRuntimeClass(text: string): Parsed<string, WrongValue> {
  const isName = text.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text)
  return isName ? parsed(text) : problem({ kind: 'not-a-runtime-class', text })
}

/** Not the whole grammar of image references: only what certainly isn't one. */
function parseImage(text: string): Parsed<string, WrongValue> {
  return /^[\w][\w./:@-]*$/.test(text) ? parsed(text) : problem({ kind: 'not-an-image', text })
}
