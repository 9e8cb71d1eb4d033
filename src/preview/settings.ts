import type { Configuration } from '../admission/intent/configuration.ts'
import { presets } from '../admission/intent/presets.ts'
import { indexRules } from '../admission/intent/rule-index.ts'
import { knowsLock } from '../admission/plan/lock.ts'
import { deliveries, gates, locks, nativePositions } from '../admission/words/choices.ts'
import { type Parsed, parsed, problem } from '../admission/words/parsed.ts'
import { quote } from '../admission/words/quote.ts'
import { type Fault, faultText } from '../configuration/faults.ts'
import { readConfiguration } from '../configuration/read.ts'
import { isObject } from './json.ts'

/** What to try on top of a configuration, each with the values that it takes. */
export const choices = {
  gate: gates,
  delivery: deliveries,
  nativePosition: nativePositions,
  lock: locks,
} as const satisfies Partial<Record<string, readonly string[]>>

type PreviewSettings = {
  readonly [K in keyof typeof choices]?: (typeof choices)[K][number]
} & {
  readonly kubernetesVersion?: string
  /** A rule for each of these presets. */
  readonly presets?: readonly string[]
}

const known: readonly string[] = [...Object.keys(choices), 'kubernetesVersion', 'presets']
const names: readonly string[] = presets.map(({ name }) => name)

/** Reads the settings of a body: anybody may have written them. */
export function readSettings(value: unknown): Parsed<PreviewSettings, string> {
  if (value === undefined) return parsed({})
  if (!isObject(value)) return problem('settings: not an object')
  for (const [key, given] of Object.entries(value)) {
    const at = `settings.${key}`
    if (!known.includes(key)) return problem(`settings: ${quote(key)} is unknown; use ${known.join(', ')}`)
    if (key === 'presets') {
      if (!Array.isArray(given)) return problem(`${at}: not a list`)
      const other = given.find((name) => !names.includes(name as string))
      if (other !== undefined) return problem(`${at}: ${quote(String(other))} is not a preset; use ${names.join(', ')}`)
    } else if (typeof given !== 'string') return problem(`${at}: not text`)
    else if (key in choices) {
      const allowed: readonly string[] = choices[key as keyof typeof choices]
      if (!allowed.includes(given)) return problem(`${at}: ${quote(given)} is unknown; use ${allowed.join(', ')}`)
    }
  }
  return parsed(value as PreviewSettings)
}

/** A configuration with settings on top. */
export function withSettings(configuration: Configuration, settings: PreviewSettings): Parsed<Configuration, string> {
  const { gate, delivery, nativePosition, lock, kubernetesVersion, presets: wanted = [] } = settings
  const read = readConfiguration(
    JSON.stringify({
      apiVersion: 'sidecar-first.dev/v1',
      kind: 'Configuration',
      ...(kubernetesVersion !== undefined && { kubernetesVersion }),
      rules: [...new Set(wanted)].map((preset) => ({ name: `what if: ${preset}`, match: { preset } })),
    }),
    configuration.version,
  )
  if (!read.ok) return problem(`settings: ${read.problems.map(({ fault }) => faultText(fault)).join('; ')}`)
  const { rules, kubernetesVersion: version } = read.configuration
  const { defaults, waiter } = configuration
  const changed: Configuration = {
    ...configuration,
    kubernetesVersion: version ?? configuration.kubernetesVersion,
    waiter: { ...waiter, delivery: delivery ?? waiter.delivery },
    defaults: {
      ...defaults,
      gate: gate ?? defaults.gate,
      nativePosition: nativePosition ?? defaults.nativePosition,
      lock: lock ?? defaults.lock,
    },
    rules: rules.rules.length === 0 ? configuration.rules : indexRules([...configuration.rules.rules, ...rules.rules]),
  }
  const fault = lockFault(changed)
  return fault === undefined ? parsed(changed) : problem(`settings: ${faultText(fault)}`)
}

/** As for a configuration file: such a pod would start its app at once. */
function lockFault(configuration: Configuration): Fault | undefined {
  if (knowsLock(configuration) !== false) return undefined
  if (configuration.defaults.lock === 'on') return { kind: 'lock-unknown', path: 'defaults.lock' }
  const index = configuration.rules.rules.findIndex(({ lock }) => lock === 'on')
  return index < 0 ? undefined : { kind: 'lock-unknown', path: `rules[${index}].lock` }
}
