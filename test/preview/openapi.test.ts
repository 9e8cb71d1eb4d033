import assert from 'node:assert/strict'
import { test } from 'node:test'
import { presets } from '../../src/admission/intent/presets.ts'
import { ownPreset } from '../../src/admission/suggest/own.ts'
import { gateForms } from '../../src/admission/words/openings.ts'
import openapi from '../../src/preview/openapi.json' with { type: 'json' }
import { parts } from '../../src/preview/query.ts'
import { choices } from '../../src/preview/settings.ts'
import { whatIfType } from '../../src/preview/what-if.ts'

const { schemas } = openapi.components
const { parameters, requestBody } = openapi.paths['/preview'].post

test('the description of the API offers what the program takes', () => {
  for (const [key, values] of Object.entries(choices)) {
    const { [key as keyof typeof choices]: described } = schemas.Settings.properties
    assert.deepEqual(described, { enum: [...values] }, key)
  }
  const further = ['lockRestarts', 'kubernetesVersion', 'presets', 'injected']
  assert.deepEqual(Object.keys(schemas.Settings.properties), [...Object.keys(choices), ...further])
  assert.deepEqual(schemas.KnownSidecar.properties.preset.enum, [...presets.map(({ name }) => name), ownPreset.name])
  assert.deepEqual(schemas.Gate.properties.form.enum, gateForms)
  assert.deepEqual(parameters.find(({ name }) => name === 'include')?.schema, { enum: parts })
  assert.ok(whatIfType in requestBody.content)
})

test('every schema of the description is used, and every one that is used is there', () => {
  const used = [...JSON.stringify(openapi).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name = '']) => name)
  assert.deepEqual([...new Set(used)].toSorted(), Object.keys(schemas).toSorted())
})
