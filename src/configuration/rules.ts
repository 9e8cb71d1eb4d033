import { parseCheck } from '../admission/check.ts'
import { parseDuration } from '../admission/duration.ts'
import { type Parsed, parsed, problem } from '../admission/parsed.ts'
import { type Preset, presetOf, presets } from '../admission/presets.ts'
import { quote } from '../admission/quote.ts'
import type { Rule } from '../admission/rules.ts'
import { setOf } from '../webhooks/set.ts'
import { existingHooks, gates, nativePositions, timeoutActions } from './choices.ts'
import { type Section, suggest } from './section.ts'
import { readSelector } from './selector.ts'

const actions = ['tier', 'check', 'timeout', 'onTimeout', 'gate', 'nativePosition', 'existingHook', 'enforce']
const conditions = ['container', 'image', 'preset', 'podSelector', 'namespaceSelector']

/** A rule, and where it stands in the text. */
export interface PlacedRule {
  readonly rule: Rule
  readonly offset: number
}

/** The rules of a configuration, in order. What is wrong with them is reported. */
export function readRules(root: Section): readonly PlacedRule[] {
  const taken = new Map<string, number>()
  return root.sections('rules', ['name', 'match', ...actions]).map((section, index) => {
    const rule = readRule(section)
    const other = taken.get(rule.name)
    if (other !== undefined) section.fault('name', `${quote(rule.name)} is the name of rules[${other}] already`)
    else if (rule.name !== '') taken.set(rule.name, index)
    return { rule, offset: section.offset }
  })
}

function readRule(section: Section): Rule {
  const name = section.text('name', parseName, '')
  if (!section.has('name')) section.fault(undefined, `${section.pathOf('name')} is missing`)
  const match = section.section('match', conditions)
  if (!['container', 'image', 'preset'].some((key) => match.has(key))) {
    section.fault('match', `${section.pathOf('match')} names no container, image or preset; it needs one of them`)
  }
  const preset = match.text('preset', parsePreset, undefined)
  const container = match.text('container', parseContainerGlob, undefined)
  const image = match.text('image', parseImageGlob, undefined)
  const containers = container === undefined ? list(preset?.containers) : [container]
  const namespaceSelector = readSelector(match, 'namespaceSelector')
  // One that selects everything is none: it needs no webhook of its own.
  const narrows = namespaceSelector !== undefined && Object.keys(namespaceSelector).length > 0
  if (!section.has('tier') && !match.has('preset')) {
    section.fault(undefined, `${section.pathOf('tier')} is missing; write a number, lower ones start first`)
  }
  const check = section.text('check', parseCheck, undefined)
  if (check?.kind === 'hook') {
    for (const bound of ['timeout', 'onTimeout']) {
      if (section.has(bound)) section.fault(bound, `${section.pathOf(bound)}: a hook bounds itself; remove it`)
    }
  }
  return {
    name,
    match: {
      containers,
      images: image !== undefined ? [image] : containers === undefined ? list(preset?.images) : undefined,
      podSelector: readSelector(match, 'podSelector'),
      namespaceSelector: narrows ? namespaceSelector : undefined,
    },
    set: narrows ? setOf(namespaceSelector) : undefined,
    tier: section.integer('tier', -1000, 1000, preset?.tier ?? 0),
    check: check ?? preset?.check,
    timeout: section.text('timeout', parseDuration, undefined),
    onTimeout: section.choice('onTimeout', timeoutActions, undefined),
    gate: section.choice('gate', gates, undefined),
    nativePosition: section.choice('nativePosition', nativePositions, undefined),
    existingHook: section.choice('existingHook', existingHooks, undefined),
    enforce: section.flag('enforce', false),
    preset,
  }
}

const list = (items: readonly string[] | undefined) => (items?.length === 0 ? undefined : items)

/** It stands in warnings and logs. */
function parseName(text: string): Parsed<string> {
  return /^[^\p{C}]{1,63}$/u.test(text) ? parsed(text) : problem(`${quote(text)} is no name: up to 63 characters`)
}

function parsePreset(text: string): Parsed<Preset> {
  const preset = presetOf(text)
  if (preset !== undefined) return parsed(preset)
  const names = presets.map(({ name }) => name)
  return problem(`${quote(text)} is no preset; ${suggest(text, names)}`)
}

/** What no name or image can fit is a mistake: a regular expression, say, or `?`. */
function parseContainerGlob(text: string): Parsed<string> {
  if (/^[a-z0-9*-]{1,256}$/.test(text)) return parsed(text)
  return problem(`${quote(text)} fits no container's name: those have a–z, 0–9 and "-"; "*" stands for any characters`)
}

function parseImageGlob(text: string): Parsed<string> {
  if (/^[\w./:@+[\]*-]{1,256}$/.test(text)) return parsed(text)
  return problem(`${quote(text)} fits no image; "*" stands for any characters, nothing else is special`)
}
