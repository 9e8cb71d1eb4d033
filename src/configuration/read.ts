import { LineCounter, type Node, parseAllDocuments } from 'yaml'
import { type CheckKind, checkKinds, parseCheck } from '../admission/check.ts'
import { type Configuration, defaultConfiguration } from '../admission/configuration.ts'
import { parseDuration } from '../admission/duration.ts'
import { type Parsed, parsed, problem } from '../admission/parsed.ts'
import { quote } from '../admission/quote.ts'
import { indexRules, noRules } from '../admission/rules.ts'
import { existingHooks, gates, nativePositions, timeoutActions } from './choices.ts'
import { noticesOf } from './notices.ts'
import { readRules } from './rules.ts'
import { type Report, Section } from './section.ts'

/** Something in a configuration file, and where; both count from 1. */
export interface Remark {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** All remarks are in the order of the lines. */
export type ReadConfiguration =
  /** Notices: what is no mistake by itself, but hardly meant. */
  | { readonly ok: true; readonly configuration: Configuration; readonly notices: readonly Remark[] }
  | { readonly ok: false; readonly problems: readonly Remark[] }

/** Reads the text of a configuration file. `version` is the program's. Never throws. */
export function readConfiguration(text: string, version: string): ReadConfiguration {
  const lines = new LineCounter()
  const found: Found[] = []
  const report: Report = (offset, message) => void found.push({ offset, message })
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const [document, second] = 'empty' in documents ? [] : documents
  for (const { pos, message } of document?.errors ?? []) report(pos[0], message)
  if (second !== undefined) report(second.range[0], 'a second document; the configuration is one')
  const read = found.length === 0 ? configurationOf(document?.contents ?? null, version, report) : undefined
  if (read === undefined || found.length > 0) return { ok: false, problems: remarks(found, lines) }
  return { ok: true, configuration: read.configuration, notices: remarks(read.notices, lines) }
}

/** A remark before its line is known. */
interface Found {
  readonly offset: number
  readonly message: string
}

function remarks(found: readonly Found[], lines: LineCounter): readonly Remark[] {
  return found
    .toSorted((a, b) => a.offset - b.offset)
    .map(({ offset, message }) => {
      const { line, col } = lines.linePos(offset)
      return { line: Math.max(line, 1), column: Math.max(col, 1), message }
    })
}

function configurationOf(
  contents: Node | null,
  version: string,
  report: Report,
): { configuration: Configuration; notices: readonly Found[] } {
  const standard = defaultConfiguration(version)
  const root = new Section('', contents, report, [
    ...['apiVersion', 'kind', 'defaults', 'mode', 'invalid', 'kubernetesVersion', 'waiter', 'annotations', 'rules'],
  ])
  root.required('apiVersion', 'sidecar-first.dev/v1')
  root.required('kind', 'Configuration')
  const names = ['check', 'timeout', 'onTimeout', 'gate', 'nativePosition', 'existingHook']
  const defaults = root.section('defaults', names)
  const waiter = root.section('waiter', ['image', 'imagePullPolicy', 'delivery'])
  const annotations = root.section('annotations', ['checks'])
  const placed = readRules(root)
  const rules = placed.map(({ rule }) => rule)
  const configuration: Configuration = {
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
      onTimeout: defaults.choice('onTimeout', timeoutActions, standard.defaults.onTimeout),
      gate: defaults.choice('gate', gates, standard.defaults.gate),
      nativePosition: defaults.choice('nativePosition', nativePositions, standard.defaults.nativePosition),
      existingHook: defaults.choice('existingHook', existingHooks, standard.defaults.existingHook),
    },
    annotations: { checks: new Set(annotations.choices<CheckKind>('checks', checkKinds, checkKinds)) },
    rules: rules.length === 0 ? noRules : indexRules(rules),
  }
  const notices = noticesOf(rules).map(({ position, message }) => ({ offset: placed[position]?.offset ?? 0, message }))
  return { configuration, notices }
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
