import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }

const root = join(import.meta.dirname, '../..')
const execute = promisify(execFile)

describe('the npm package, in an empty folder', () => {
  let work: string
  let packed: { filename: string; size: number; files: { path: string }[] }
  const inside = (...path: string[]) => join(work, ...path)
  const installed = (...args: string[]) => execute('node_modules/.bin/sidecar-first', args, { cwd: inside('user') })

  // A folder of its own for `npm pack`: others may be running what is in dist/.
  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'sidecar-first-package-'))
    await mkdir(inside('package'))
    await mkdir(inside('user'))
    for (const file of ['package.json', 'LICENSE', 'README.md', 'CHANGELOG.md', 'THIRD-PARTY-NOTICES']) {
      await copyFile(join(root, file), inside('package', file))
    }
    await execute(process.execPath, [join(root, 'scripts/bundle.ts'), inside('package/dist')])
    const flags = ['--json', '--ignore-scripts', '--pack-destination', work]
    packed = JSON.parse((await execute('npm', ['pack', ...flags], { cwd: inside('package') })).stdout)[0]
    await writeFile(inside('user/package.json'), '{}')
    await execute('npm', ['install', '--prefer-offline', '--no-audit', inside(packed.filename)], {
      cwd: inside('user'),
    })
  })
  after(() => rm(work, { recursive: true, force: true }))

  test('weighs less than 3 MB', () => assert.ok(packed.size < 3_000_000, `${packed.size} bytes`))

  test('brings no other package: the bundle holds what it needs', async () => {
    const packages = await readdir(inside('user/node_modules'))
    assert.deepEqual(
      packages.filter((name) => !name.startsWith('.')),
      ['sidecar-first'],
    )
  })

  test('has no file that is not for users', async () => {
    const others = packed.files.filter(
      ({ path }) => !/^(dist\/|package\.json$|LICENSE$|README\.md$|CHANGELOG\.md$|THIRD-PARTY-NOTICES$)/.test(path),
    )
    assert.deepEqual(others, [])
    assert.ok((await stat(inside('user/node_modules/.bin/sidecar-first'))).mode & 0o100)
  })

  test('npx runs it: its help and version, a preview, an installation', async () => {
    const npx = await execute('npx', ['--offline', 'sidecar-first', '--help'], { cwd: inside('user') })
    assert.match(npx.stdout, /^ {2}install /m)
    assert.equal((await installed('--version')).stdout, `${manifest.version}\n`)
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'shop', annotations: { 'sidecar-first.dev/sidecars': 'proxy' } },
      spec: {
        containers: [
          { name: 'app', image: 'a' },
          { name: 'proxy', image: 'b' },
        ],
      },
    }
    await writeFile(inside('user/pod.yaml'), JSON.stringify(pod))
    assert.match((await installed('preview', '-f', 'pod.yaml')).stdout, /proxy/)
    const objects = parseAllDocuments(
      (await installed('install', '--mode', 'cluster-wide', '--image', 'r/server:1', '--waiter-image', 'r/waiter:1'))
        .stdout,
    )
    assert.ok(objects.length > 10)
    assert.deepEqual(
      objects.flatMap(({ errors }) => errors),
      [],
    )
  })
})
