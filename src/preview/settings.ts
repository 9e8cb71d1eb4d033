import { Document } from 'yaml'
import { parseLockRestarts } from '../admission/check/duration.ts'
import type { Configuration } from '../admission/intent/configuration.ts'
import { indexRules } from '../admission/intent/rule-index.ts'
import { knowsLock } from '../admission/plan/lock.ts'
import { deliveries, ends, gates, locks, nativePositions } from '../admission/words/choices.ts'
import { type Parsed, parsed, problem } from '../admission/words/parsed.ts'
import { type Fault, faultText } from '../configuration/faults.ts'
import { parseKubernetesVersion } from '../configuration/read.ts'
import { parseContainerName, parsePreset, readRules } from '../configuration/rules.ts'
import { Section } from '../configuration/section.ts'

/** What to try on top of a configuration, each with the values that it takes. */
export const choices = {
  gate: gates,
  delivery: deliveries,
  nativePosition: nativePositions,
  lock: locks,
  end: ends,
} as const satisfies Partial<Record<string, readonly string[]>>

/** `presets`: a rule for each; `injected`: containers that an injector adds. */
const known = [...Object.keys(choices), 'lockRestarts', 'kubernetesVersion', 'presets', 'injected']

/** A configuration with settings on top, which anybody may have written. */
export function withSettings(base: Configuration, settings: unknown): Parsed<Configuration, string> {
  const faults: Fault[] = []
  const sectionOf = (path: string, value: unknown, keys: readonly string[]) =>
    new Section(path, new Document(value).contents, (_, fault) => void faults.push(fault), keys)
  const section = sectionOf('settings', settings, known)
  const presets = new Set(section.texts('presets', parsePreset, []).map(({ name }) => name))
  const added = [...presets].map((preset) => ({ name: `what if: ${preset}`, match: { preset } }))
  const rules = readRules(sectionOf('', { rules: added }, ['rules'])).map(({ rule }) => rule)
  const { waiter, defaults } = base
  const configuration: Configuration = {
    ...base,
    kubernetesVersion: section.text('kubernetesVersion', parseKubernetesVersion, base.kubernetesVersion),
    waiter: { ...waiter, delivery: section.choice('delivery', deliveries, waiter.delivery) },
    defaults: {
      ...defaults,
      gate: section.choice('gate', gates, defaults.gate),
      nativePosition: section.choice('nativePosition', nativePositions, defaults.nativePosition),
      lock: section.choice('lock', locks, defaults.lock),
      end: section.choice('end', ends, defaults.end),
      lockRestarts: section.text('lockRestarts', parseLockRestarts, defaults.lockRestarts),
    },
    injected: new Set([...base.injected, ...section.texts('injected', parseContainerName, [])]),
    rules: rules.length === 0 ? base.rules : indexRules([...base.rules.rules, ...rules]),
  }
  const fault = faults[0] ?? lockFault(configuration)
  return fault === undefined ? parsed(configuration) : problem(faultText(fault))
}

/** As for a configuration file: such a pod would start its app at once. */
function lockFault(configuration: Configuration): Fault | undefined {
  const { defaults, rules } = configuration
  if (knowsLock(configuration) !== false) return undefined
  if (defaults.lock === 'on') return { kind: 'lock-unknown', path: 'defaults.lock' }
  const index = rules.rules.findIndex(({ lock }) => lock === 'on')
  return index < 0 ? undefined : { kind: 'lock-unknown', path: `rules[${index}].lock` }
}
