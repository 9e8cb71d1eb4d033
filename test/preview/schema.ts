import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'

/** The part of JSON Schema (2020-12) that src/preview/openapi.json and `show/sarif-shape.ts` use; a keyword that isn't checked here must not be there. */
export interface Schema {
  $ref?: string
  type?: 'object' | 'array' | 'string' | 'integer'
  enum?: readonly unknown[]
  const?: unknown
  oneOf?: readonly Schema[]
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: false
  items?: Schema
  minimum?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
  format?: 'uri' | 'uri-reference'
  description?: string
}

/** What is wrong with a value by a schema, each with its place. `resolve`: the schema that a `$ref` means. */
export function faultsOf(value: unknown, schema: Schema, resolve: (ref: string) => Schema, at = '$'): string[] {
  const is = (holds: boolean, what: string) => (holds ? [] : [`${at}: ${what}: ${JSON.stringify(value)?.slice(0, 80)}`])
  const checks: { [K in keyof Schema]-?: (keyword: NonNullable<Schema[K]>) => string[] } = {
    $ref: (ref) => faultsOf(value, resolve(ref), resolve, at),
    type: (type) => is(typeOf(value) === type, `no ${type}`),
    enum: (choices) => is(choices.includes(value), `none of ${choices}`),
    const: (constant) => is(isDeepStrictEqual(value, constant), `not ${constant}`),
    oneOf(schemas) {
      const fitting = schemas.filter((each) => faultsOf(value, each, resolve).length === 0)
      return is(fitting.length === 1, `fits ${fitting.length} of ${schemas.length}`)
    },
    properties: (properties) =>
      Object.entries(properties).flatMap(([key, each]) =>
        has(value, key) ? faultsOf(value[key], each, resolve, `${at}.${key}`) : [],
      ),
    required: (keys) => keys.flatMap((key) => is(has(value, key), `${key} is missing`)),
    additionalProperties: () => {
      const known = Object.keys(schema.properties ?? {})
      return Object.keys(value ?? {}).flatMap((key) => is(known.includes(key), `${key} is not described`))
    },
    items: (each) =>
      Array.isArray(value) ? value.flatMap((item, index) => faultsOf(item, each, resolve, `${at}[${index}]`)) : [],
    minimum: (least) => is(typeof value === 'number' && value >= least, `below ${least}`),
    maxLength: (most) => is(typeof value === 'string' && [...value].length <= most, `longer than ${most}`),
    minItems: (least) => is(Array.isArray(value) && value.length >= least, `fewer than ${least}`),
    maxItems: (most) => is(Array.isArray(value) && value.length <= most, `more than ${most}`),
    pattern: (pattern) => is(typeof value === 'string' && new RegExp(pattern, 'u').test(value), `not ${pattern}`),
    format: (format) =>
      is(URL.canParse(String(value), format === 'uri' ? undefined : 'https://example.com'), `no ${format}`),
    description: () => [],
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
