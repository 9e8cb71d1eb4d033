import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { costly } from '../runs.ts'
import { call } from './call.ts'
import { folder } from './pairs.ts'
import { startServe } from './process.ts'

const script = fileURLToPath(new URL('../../scripts/bundle.ts', import.meta.url))

// The page and the process that previews are found another way there than in src/.
test('the bundle, away from everything, serves the page and previews within limits', costly, async () => {
  await using place = await folder()
  await promisify(execFile)(process.execPath, [script, place.path])
  await using server = await startServe([], [], join(place.path, 'sidecar-first.mjs'))
  const get = (path: string) => call(server.url + path, { method: 'GET' })
  const page = await get('/')
  const parts = [...page.text.matchAll(/(?:src|href)="([^"#]+)"/g), ...page.text.matchAll(/data-example="(.+)"/g)]
  assert(parts.length >= 8, page.text)
  const urls = parts.map(([attribute, path]) =>
    attribute.startsWith('data-') ? `/page/examples/${path}.yaml` : `/${path}`,
  )
  let size = gzipSync(page.text).length
  for (const url of [...urls, '/page/vocabulary.json', '/page/messages.json']) {
    const { status, text } = await get(url)
    assert.equal(status, 200, url)
    size += gzipSync(text).length
  }
  // With everything that it can load, compressed.
  assert(size < 300_000, String(size))
  const browserScript = (await get('/page/page.js')).text
  assert.doesNotMatch(browserScript, /\bfrom\s*["']\./)
  const headers = { 'content-type': 'application/yaml' }
  const preview = (body: string) => call(`${server.url}/preview`, { body, headers })
  assert.equal((await preview('- a\n'.repeat(1_700_000))).status, 422)
  assert.match((await preview((await get('/page/examples/native.yaml')).text)).text, /"verdict":"patched"/)
})
