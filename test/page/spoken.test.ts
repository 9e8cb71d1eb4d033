import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const page = readFileSync(new URL('../../src/page/index.html', import.meta.url), 'utf8')

test('what a screen reader says of a field at each focus is one short sentence or two', () => {
  const ids = [...page.matchAll(/aria-describedby="([^"]+)"/g)].map(([, id]) => id)
  assert.ok(ids.length > 0)
  for (const id of ids) {
    const text = new RegExp(` id="${id}">([^<]+)<`).exec(page)?.[1] ?? ''
    assert.ok(text.length > 0 && text.length <= 60, `${id}: ${text}`)
  }
})
