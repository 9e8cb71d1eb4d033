import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import type { Certificate } from '../../src/server/certificate.ts'
import { openConfiguration } from '../../src/server/configuration.ts'
import { watchSources } from '../../src/server/reload.ts'
import { createTallies } from '../../src/server/tally.ts'
import { SECOND, until } from '../until.ts'

test('a file that changes while it is read is read again, and what is bad is told once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-reload-'))
  const file = join(folder, 'configuration.yaml')
  await writeFile(file, '')
  let text = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
  let held: Promise<void> | undefined
  const opened = await openConfiguration(file, '0', async () => {
    const found = text
    await held
    return found
  })
  assert.ok(opened.ok)
  const tallies = createTallies()
  const sources = { pair: { made: { certificate: '', key: '' } }, clientCa: undefined }
  const stop = new AbortController()
  watchSources(sources, {} as Certificate, opened.configuration, {
    every: 3600 * SECOND,
    signal: stop.signal,
    log: pino({ enabled: false }),
    tallies,
  })
  const bad = () => tallies.reloadFailures.configuration
  /** Changes the file, and again in the midst of being read. */
  const change = async (first: string, second: string) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    for (const each of [first, second, second]) {
      text = each
      await writeFile(file, each)
      await sleep(200)
    }
    resolve()
  }
  try {
    await change('bad: 1', 'bad: 1')
    await until('the bad version told', SECOND, async () => bad() > 0)
    await sleep(500)
    assert.equal(bad(), 1)
    await change('bad: 1', 'bad: 2')
    await until('the one that came meanwhile told', SECOND, async () => bad() > 1)
    await sleep(500)
    assert.equal(bad(), 2)
  } finally {
    stop.abort()
    await rm(folder, { recursive: true })
  }
})
