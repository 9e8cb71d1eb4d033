import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { inject } from '../../src/cli/inject.ts'
import { preview } from '../../src/cli/preview.ts'
import { run, runWith } from '../cli/inside.ts'

const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
after(() => rm(folder, { recursive: true }))
const manifest = (name: string) => `kind: ConfigMap\nmetadata: {name: ${name}}\n`
const files = {
  'k8s/b.yaml': manifest('b'),
  'k8s/a.yml': manifest('a'),
  'k8s/deep/er/c.json': '{"metadata": {"name": "c"}, "kind": "ConfigMap"}',
  'k8s/values.yaml': 'image:\n  kind: x\n',
  'k8s/README.md': 'kind: no\n',
  'k8s/.hidden/d.yaml': manifest('d'),
  'k8s/node_modules/e/package.json': '{"kind": "no"}',
  'empty/x.txt': '',
}
for (const [path, content] of Object.entries(files)) {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), content)
}
await symlink('b.yaml', join(folder, 'k8s/link.yaml'))
await symlink('..', join(folder, 'k8s/loop'))
// Which is why this is a process of its own.
process.chdir(folder)

/** The names of what is previewed, and what is said of the rest. */
async function previewed(...paths: string[]): Promise<{ names: string[]; stderr: string }> {
  const { stdout, stderr } = await runWith(manifest('piped'), preview, '-o', 'json', ...paths)
  const names = stdout === '' ? [] : JSON.parse(stdout).results.map(({ name }: { name: string }) => name)
  return { names, stderr }
}

test('a folder stands for the manifests below it, in order; what holds none is passed over and named', async () => {
  const { names, stderr } = await previewed('k8s')
  assert.deepEqual(names, ['a', 'b', 'c', 'b'])
  assert.equal(stderr, 'SF417 no manifests, passed over: k8s/values.yaml\n')
})

test('quoted globs, files, standard input and -f mix; a file that is meant twice is read once', async () => {
  assert.deepEqual((await previewed('k8s/**/*.json')).names, ['c'])
  assert.deepEqual((await previewed('k8s/{b,v*}.y*ml', '-f', './k8s/b.yaml', '-')).names, ['b', 'piped'])
  assert.deepEqual((await previewed('k8s/d*')).names, ['c'])
})

test('--exclude leaves out files and folders by name or path, and says so', async () => {
  const all = ['--exclude', 'deep', '--exclude', '*.yml']
  assert.deepEqual(await previewed('k8s', ...all), {
    names: ['b', 'b'],
    stderr: 'SF418 excluded: k8s/a.yml, k8s/deep\nSF417 no manifests, passed over: k8s/values.yaml\n',
  })
  assert.deepEqual((await previewed('k8s', '--exclude', 'k8s/*/c.json', '--exclude', 'k8s/d')).names, ['a', 'b', 'b'])
  assert.deepEqual((await previewed('k8s/*.y*ml', '--exclude', 'a.yml')).names, ['b', 'b'])
  const nothing = await run(preview, 'k8s', '--exclude', '*')
  assert.deepEqual(
    [nothing.code, nothing.stderr.split('\n')[0]],
    [2, 'sidecar-first preview: SF007 --exclude leaves nothing of k8s'],
  )
})

test("a chart's templates below a folder are told of, with the way out", async () => {
  const chart = join(folder, 'chart/templates')
  await mkdir(chart, { recursive: true })
  await writeFile(join(chart, 'a.yaml'), 'kind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n')
  await writeFile(join(folder, 'chart/b.yaml'), manifest('b'))
  const broken = await run(preview, 'chart')
  assert.equal(broken.code, 1)
  assert.match(broken.stderr, /SF406 .*Helm/)
  assert.match(broken.stderr, /^SF419 .*--exclude templates$/m)
  assert.deepEqual((await previewed('chart', '--exclude', 'templates')).names, ['b'])
})

test('a folder in which nothing is a manifest', async () => {
  for (const [name, command] of Object.entries({ preview, inject })) {
    const { code, stdout, stderr } = await run(command, 'k8s/v*.yaml')
    assert.deepEqual(
      [code, stdout, stderr],
      [1, '', `sidecar-first ${name}: SF007 there is no manifest in k8s/values.yaml\n`],
    )
  }
})

test('where there is nothing, it is said so', async () => {
  for (const [path, expected] of [
    ['empty', 'SF007 no *.yaml, *.yml or *.json file in empty'],
    ['k8s/*.toml', 'SF007 no file matches k8s/*.toml'],
    ['k8s/z.yaml', 'SF006 cannot read k8s/z.yaml: no such file'],
  ] as const) {
    const { names, stderr } = await previewed(path)
    assert.deepEqual([names, stderr.split('\n')[0]], [[], `sidecar-first preview: ${expected}`])
  }
})
