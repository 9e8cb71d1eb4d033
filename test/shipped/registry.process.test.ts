import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../free-port.ts'
import { SECOND, until } from '../until.ts'
import { goTool } from './go-tool.ts'

const root = join(import.meta.dirname, '../..')
const execute = promisify(execFile)
const program = await goTool('crane')
const crane = async (...args: string[]) => (await execute(program, args, { maxBuffer: 1 << 26 })).stdout
const work = mkdtempSync(join(tmpdir(), 'sidecar-first-registry-'))
let registry: ChildProcess
let address: string

before(async () => {
  address = `127.0.0.1:${await freePort()}`
  registry = spawn(program, ['registry', 'serve', '--address', address], { stdio: 'ignore' })
  await until('the registry answers', 30 * SECOND, () =>
    fetch(`http://${address}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
})
after(() => {
  registry.kill()
  rmSync(work, { recursive: true })
})

test('an image for two architectures: a registry takes it, and it is sound there', async () => {
  const build = async (out: string) => {
    const file = join(root, 'package.json')
    const words = ['--platform', 'amd64', `${file}:/a`, '--platform', 'arm64', `${file}:/a`, `${file}:/b/c`]
    await execute(process.execPath, [
      join(root, 'scripts/image.ts'),
      join(work, out),
      'docker.io/x/y:1',
      '{"User":"65532"}',
      ...words,
    ])
    return (await execute('sha256sum', [join(work, out)])).stdout.slice(0, 64)
  }
  assert.equal(await build('1.tar'), await build('2.tar'), 'twice the same bytes')

  const layout = join(work, 'layout')
  await execute('mkdir', [layout])
  await execute('tar', ['xf', join(work, '1.tar'), '-C', layout])
  const name = `${address}/x/y:1`
  await crane('push', layout, name)
  await crane('validate', '--remote', name)
  for (const [platform, files] of [
    ['linux/amd64', ['a']],
    ['linux/arm64', ['a', 'b', 'b/c']],
  ] as const) {
    const { architecture, config } = JSON.parse(await crane('config', '--platform', platform, name))
    assert.deepEqual({ platform: `linux/${architecture}`, config }, { platform, config: { User: '65532' } })
    await crane('export', '--platform', platform, name, join(work, 'files.tar'))
    const listed = (await execute('tar', ['tf', join(work, 'files.tar')])).stdout.trim().split('\n')
    assert.deepEqual(listed.map((path) => path.replace(/\/$/, '')).sort(), [...files])
  }
})
