import type { Configuration } from '../admission/intent/configuration.ts'
import { faultCode, faultText, type Remark } from '../configuration/faults.ts'
import { readConfiguration } from '../configuration/read.ts'
import { type Answer, failure, type Mistake } from './failure.ts'
import { deepest, isObject, scanJson } from './json.ts'
import { withSettings } from './settings.ts'

/** The content type of a body that holds more than manifests. */
export const whatIfType = 'application/vnd.sidecar-first.preview+json'

/** What is to be previewed, and under which configuration. */
interface WhatIf {
  readonly manifests: string
  readonly configuration: Configuration
  /** What is hardly meant in the configuration that was sent. */
  readonly notices: readonly Mistake[]
}

const known: readonly string[] = ['manifests', 'configuration', 'settings']

/** Reads a body of that type. `base`: the server's own configuration, which holds unless the body brings another. */
export function readWhatIf(body: string, base: Configuration): WhatIf | { readonly wrong: Answer } {
  const wrong = (problem: string) => ({ wrong: failure('body-unreadable', 'the body can not be read', [problem]) })
  if (scanJson(body, 0).deep) return wrong(`it is nested more than ${deepest} levels deep`)
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch (error) {
    return wrong(`invalid JSON: ${error instanceof Error ? error.message : error}`)
  }
  if (!isObject(value)) return wrong('it is not an object')
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown !== undefined) return wrong(`${unknown.slice(0, 100)} is unknown; use ${known.join(', ')}`)
  const { manifests, configuration: text = '' } = value
  if (typeof manifests !== 'string') return wrong('manifests: not text')
  if (typeof text !== 'string') return wrong('configuration: not text')
  const read = text.trim() === '' ? undefined : readConfiguration(text, base.version)
  if (read !== undefined && !read.ok) return { wrong: unreadable(read.problems) }
  const configuration = withSettings(read?.configuration ?? base, value.settings)
  if (!configuration.ok)
    return { wrong: failure('wrong-settings', 'these settings can not be', [configuration.problem]) }
  return { manifests, configuration: configuration.value, notices: (read?.notices ?? []).map(mistakeOf) }
}

/** More than a person reads. */
const mostShown = 100

function unreadable(remarks: readonly Remark[]): Answer {
  const mistakes = remarks.slice(0, mostShown).map(mistakeOf)
  const problems = mistakes.map(({ line, column, code, text }) => `line ${line}, column ${column}: ${code} ${text}`)
  return failure('configuration-unreadable', 'the configuration can not be read', problems, mistakes)
}

const mistakeOf = ({ line, column, fault }: Remark): Mistake => ({
  source: 'configuration',
  code: faultCode(fault),
  text: faultText(fault),
  line,
  column,
})
