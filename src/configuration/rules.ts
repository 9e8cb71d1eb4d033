import { parseDuration, parseLockRestarts } from '../admission/check/duration.ts'
import { parseCheck } from '../admission/check/grammar.ts'
import type { Configuration } from '../admission/intent/configuration.ts'
import { type Preset, presetOf, presets } from '../admission/intent/presets.ts'
import type { Rule } from '../admission/intent/rule.ts'
import { isContainerName } from '../admission/intent/tiers.ts'
import {
  ends,
  existingHooks,
  gates,
  locks,
  nativePositions,
  startupProbeChoices,
  timeoutActions,
} from '../admission/words/choices.ts'
import { type Parsed, parsed, problem } from '../admission/words/parsed.ts'
import { setOf } from '../webhooks/set.ts'
import type { WrongValue } from './faults.ts'
import { configurationKeys } from './keys.ts'
import { matching, type Section } from './section.ts'
import { readSelector } from './selector.ts'

const probe = { kind: 'probe' } as const

/** The rules of a configuration, in order, and where each stands in the text. What is wrong with them is reported. */
export function readRules(root: Section) {
  const taken = new Map<string, number>()
  return root.sections('rules', configurationKeys['rules[]']).map((section, index) => {
    const rule = readRule(section)
    const other = taken.get(rule.name)
    if (other !== undefined) section.fault('name', { kind: 'duplicate-rule', rule: rule.name, index: other })
    else if (rule.name !== '') taken.set(rule.name, index)
    return { rule, offset: section.offset }
  })
}

type Defaults = Omit<Configuration['defaults'], 'check'>

/** What a rule may want otherwise than the defaults. */
export function readBehaviour(section: Section, standard: Defaults): Defaults
export function readBehaviour(section: Section): { readonly [K in keyof Defaults]: Defaults[K] | undefined }
export function readBehaviour(section: Section, standard?: Defaults) {
  return {
    timeout: section.text('timeout', parseDuration, standard?.timeout),
    onTimeout: section.choice('onTimeout', timeoutActions, standard?.onTimeout),
    gate: section.choice('gate', gates, standard?.gate),
    nativePosition: section.choice('nativePosition', nativePositions, standard?.nativePosition),
    existingHook: section.choice('existingHook', existingHooks, standard?.existingHook),
    startupProbe: section.choice('startupProbe', startupProbeChoices, standard?.startupProbe),
    lock: section.choice('lock', locks, standard?.lock),
    lockRestarts: section.text('lockRestarts', parseLockRestarts, standard?.lockRestarts),
    end: section.choice('end', ends, standard?.end),
    endAppear: section.text('endAppear', parseDuration, standard?.endAppear),
  }
}

function readRule(section: Section): Rule {
  const name = section.text('name', parseName, '')
  section.need('name')
  const match = section.section('match', configurationKeys['rules[].match'])
  if (!['container', 'image', 'preset'].some((key) => match.has(key))) {
    section.fault('match', { kind: 'matches-nothing' })
  }
  const preset = match.text('preset', parsePreset, undefined)
  const container = match.text('container', parseContainerGlob, undefined)
  const image = match.text('image', parseImageGlob, undefined)
  const containers = container === undefined ? list(preset?.containers) : [container]
  const namespaceSelector = readSelector(match, 'namespaceSelector')
  // One that selects everything is none: it needs no webhook of its own.
  const narrows = namespaceSelector !== undefined && Object.keys(namespaceSelector).length > 0
  if (!section.has('tier') && !match.has('preset')) {
    section.fault('tier', { kind: 'tier-missing' })
  }
  const check = section.text('check', parseCheck, undefined)
  if (check?.kind === 'hook') {
    for (const bound of ['timeout', 'onTimeout']) {
      if (section.has(bound)) section.fault(bound, { kind: 'hook-bounds-itself' })
    }
  }
  const flag = section.flag('enforce', 'audit')
  const enforce = flag === true
  const behaviour = readBehaviour(section)
  if (flag !== false && behaviour.startupProbe === 'hook' && (check ?? preset?.check ?? probe).kind === 'probe') {
    section.fault('startupProbe', { kind: 'enforced-probe-gone' })
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
    ...behaviour,
    enforce,
    audit: flag === 'audit',
    exempt: few(section, 'exempt', parsePodGlob),
    allowNatives: few(section, 'allowNatives', parseContainerName),
    preset,
  }
}

/** Entries of a list that is compared with containers and pods one by one. */
const mostEntries = 64

function few(section: Section, key: string, parse: (text: string) => Parsed<string, WrongValue>): readonly string[] {
  const items = section.texts(key, parse, [])
  tooMany(section, key, items.length)
  return items
}

function tooMany(section: Section, key: string, count: number): void {
  if (count <= mostEntries) return
  section.fault(key, { kind: 'too-many-entries', count, most: mostEntries })
}

/** The containers that may start before the sidecars of enforced rules. */
export function readInFront(enforced: Section): Configuration['enforced']['inFront'] {
  const sections = enforced.sections('inFront', configurationKeys['enforced.inFront[]'])
  tooMany(enforced, 'inFront', sections.length)
  return sections.map((section) => {
    section.need('container', 'image')
    const container = section.text('container', parseContainerGlob, '')
    return { container, image: section.text('image', parseImageGlob, '') }
  })
}

const list = (items: readonly string[] | undefined) => (items?.length === 0 ? undefined : items)

/** It appears in warnings and logs. */
const parseName = matching('not-a-rule-name', /^[^\p{C}]{1,63}$/u)

export function parsePreset(text: string): Parsed<Preset, WrongValue> {
  const preset = presetOf(text)
  const known = presets.map(({ name }) => name)
  return preset === undefined ? problem({ kind: 'not-a-preset', text, known }) : parsed(preset)
}

/** A glob that no name or image can match is a mistake: a regular expression, say, or `?`. */
const parseContainerGlob = matching('not-a-container-glob', /^[a-z0-9*-]{1,256}$/)
export const parseImageGlob = matching('not-an-image-glob', /^[\w./:@+[\]*-]{1,256}$/)

export function parseContainerName(text: string): Parsed<string, WrongValue> {
  return isContainerName(text) ? parsed(text) : problem({ kind: 'not-a-container', text })
}

/** An exemption is for one namespace; in that, whoever creates pods chooses their names. */
const parsePodGlob = matching('not-a-pod-glob', /^[a-z0-9-]{1,63}\/[a-z0-9.*-]{1,253}$/)
