import type { Schema } from '../schema.ts'

const object = (properties: Readonly<Record<string, Schema>>, ...optional: readonly string[]): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((key) => !optional.includes(key)),
  additionalProperties: false,
})
const list = (items: Schema): Schema => ({ type: 'array', items })
const text: Schema = { type: 'string', pattern: '.' }
const place: Schema = { type: 'integer', minimum: 1 }
const level: Schema = { enum: ['none', 'note', 'warning', 'error'] }
/** GitHub shows so many characters of it. */
const message = object({ text: { ...text, maxLength: 1024 } })

const rule = object(
  {
    id: text,
    name: { ...text, maxLength: 255 },
    shortDescription: message,
    fullDescription: message,
    help: object({ text, markdown: text }),
    helpUri: { type: 'string', format: 'uri' },
    defaultConfiguration: object({ level }),
  },
  'helpUri',
)

const physicalLocation = object({
  artifactLocation: object(
    { uri: { type: 'string', format: 'uri-reference' }, uriBaseId: { const: '%SRCROOT%' } },
    'uriBaseId',
  ),
  region: object({ startLine: place, startColumn: place }),
})

/**
 * By hand, and no schema of SARIF: of SARIF 2.1.0 (OASIS) what `preview` writes and nothing else, with what GitHub's code scanning needs of it
 * required. @param files whether the input has lines in a repository
 */
export function shape({ files }: { readonly files: boolean }): Schema {
  const location = object(
    { physicalLocation, logicalLocations: list(object({ fullyQualifiedName: text })) },
    'logicalLocations',
    ...(files ? [] : ['physicalLocation']),
  )
  const result = object({
    ruleId: text,
    ruleIndex: { type: 'integer', minimum: 0 },
    level,
    message,
    locations: { ...list(location), minItems: 1 },
  })
  const run = object({
    tool: object({ driver: object({ name: text, semanticVersion: text, rules: list(rule) }) }),
    columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
    results: list(result),
  })
  return object({ $schema: { type: 'string', format: 'uri' }, version: { const: '2.1.0' }, runs: list(run) })
}
