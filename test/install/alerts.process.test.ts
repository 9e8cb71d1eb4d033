import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import { manifests } from '../../src/install/manifests.ts'

test('the alerts on starts fire at what somebody should look at, and at nothing else', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'alerts-'))
  try {
    const { groups } = parse(manifests['optional/monitoring/alerts.yaml'] ?? '').spec
    await writeFile(join(folder, 'rules.yaml'), stringify({ groups }))
    await cp(join(import.meta.dirname, 'alerts.yaml'), join(folder, 'alerts.yaml'))
    const { stdout } = await promisify(execFile)('promtool', ['test', 'rules', 'alerts.yaml'], { cwd: folder })
    assert.match(stdout, /SUCCESS/)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    context.skip("promtool is not installed (Debian's package prometheus)")
  } finally {
    await rm(folder, { recursive: true })
  }
})
