import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'

/** The part of JSON Schema that src/preview/openapi.ts (2020-12) and SARIF's schema (draft 7) use; a keyword that isn't checked here must not be there. */
export interface Schema {
  $ref?: string
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  enum?: readonly unknown[]
  const?: unknown
  oneOf?: readonly Schema[]
  anyOf?: readonly Schema[]
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: false | Schema
  items?: Schema
  minimum?: number
  maximum?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  pattern?: string
  format?: 'uri' | 'uri-reference' | 'date-time'
  description?: string
  title?: string
  default?: unknown
  definitions?: Readonly<Record<string, Schema>>
  $schema?: string
  $id?: string
}

/** What is wrong with a value by a schema, each with its place. `resolve`: the schema that a `$ref` means. */
export function faultsOf(value: unknown, schema: Schema, resolve: (ref: string) => Schema, at = '$'): string[] {
  const is = (holds: boolean, what: string) => (holds ? [] : [`${at}: ${what}: ${JSON.stringify(value)?.slice(0, 80)}`])
  const checks: { [K in keyof Schema]-?: (keyword: NonNullable<Schema[K]>) => string[] } = {
    $ref: (ref) => faultsOf(value, resolve(ref), resolve, at),
    type: (type) => is(typeOf(value) === type || (type === 'number' && typeof value === 'number'), `no ${type}`),
    enum: (choices) => is(choices.includes(value), `none of ${choices}`),
    const: (constant) => is(isDeepStrictEqual(value, constant), `not ${constant}`),
    oneOf(schemas) {
      const fitting = schemas.filter((each) => faultsOf(value, each, resolve).length === 0)
      return is(fitting.length === 1, `fits ${fitting.length} of ${schemas.length}`)
    },
    anyOf: (schemas) =>
      is(
        schemas.some((each) => faultsOf(value, each, resolve).length === 0),
        `fits none of ${schemas.length}`,
      ),
    properties: (properties) =>
      Object.entries(properties).flatMap(([key, each]) =>
        has(value, key) ? faultsOf(value[key], each, resolve, `${at}.${key}`) : [],
      ),
    required: (keys) => keys.flatMap((key) => is(has(value, key), `${key} is missing`)),
    additionalProperties: (others) => {
      const known = Object.keys(schema.properties ?? {})
      return Object.entries(value ?? {}).flatMap(([key, each]) => {
        if (known.includes(key)) return []
        return others === false ? is(false, `${key} is not described`) : faultsOf(each, others, resolve, `${at}.${key}`)
      })
    },
    items: (each) =>
      Array.isArray(value) ? value.flatMap((item, index) => faultsOf(item, each, resolve, `${at}[${index}]`)) : [],
    minimum: (least) => is(typeof value === 'number' && value >= least, `below ${least}`),
    maximum: (most) => is(typeof value === 'number' && value <= most, `above ${most}`),
    maxLength: (most) => is(typeof value === 'string' && [...value].length <= most, `longer than ${most}`),
    minItems: (least) => is(Array.isArray(value) && value.length >= least, `fewer than ${least}`),
    uniqueItems: () =>
      is(Array.isArray(value) && new Set(value.map((each) => JSON.stringify(each))).size === value.length, 'twice'),
    maxItems: (most) => is(Array.isArray(value) && value.length <= most, `more than ${most}`),
    pattern: (pattern) => is(typeof value === 'string' && new RegExp(pattern, 'u').test(value), `not ${pattern}`),
    format: (format) => is(format === 'uri-reference' || URL.canParse(String(value)), `no ${format}`),
    description: () => [],
    title: () => [],
    default: () => [],
    definitions: () => [],
    $schema: () => [],
    $id: () => [],
  }
  return Object.entries(schema).flatMap(([keyword, argument]) => {
    const check = (checks as Partial<Record<string, (argument: unknown) => string[]>>)[keyword]
    assert(check, `${at}: the keyword ${keyword} is not checked`)
    return check(argument)
  })
}

const has = (value: unknown, key: string): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (value === null) return 'null'
  return Number.isInteger(value) ? 'integer' : typeof value
}
