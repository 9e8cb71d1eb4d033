import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fixFolder } from '../../src/scan/fix-files.ts'
import { fixText } from '../../src/scan/fix-words.ts'
import type { ScannedWorkload } from '../../src/scan/survey.ts'

const key = 'sidecar-first.dev/sidecars'
const workload = (
  name: string,
  more: Partial<Extract<ScannedWorkload['mend'], { kind: 'lines' }>> = {},
): ScannedWorkload => ({
  owner: { kind: 'Deployment', namespace: 'shop', name },
  pods: 1,
  sidecars: [],
  standing: 'unguarded',
  seen: [],
  mend: { kind: 'lines', lines: [{ key, value: 'envoy' }], conditional: [], holds: true, ...more },
  example: undefined,
})
const web = workload('web')

const manifest = (name = 'web', namespace = '\n  namespace: shop') => `# ours, kept
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}${namespace}
spec:
  template:
    metadata:
      labels: {app: ${name}} # kept, too
    spec:
      containers:
        - name: app
          image: "app:1"   # as it stands
        - {name: envoy, image: envoy}
`
const fixed = (text: string) => text.replace(/( {6}labels: .*\n)/, `$1      annotations:\n        ${key}: envoy\n`)

/** A folder with these files; what is said of it, and what it then holds. */
async function fix(files: Record<string, string | Buffer>, workloads: readonly ScannedWorkload[] = [web]) {
  const folder = await mkdtemp(join(tmpdir(), 'fix-'))
  after(() => rm(folder, { recursive: true }))
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  const run = async () =>
    (await fixFolder(folder, [], workloads)).map((each) => {
      const { code, text } = fixText(each)
      return `${code} ${text.replaceAll(`${folder}/`, '')}`
    })
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  return { folder, said: await run(), again: run, read }
}

describe('a scan that writes its lines', () => {
  test('finds an object that has only a generateName', async () => {
    const text = manifest().replace('name: web\n', 'generateName: web-\n')
    const { said, read } = await fix({ 'web.yaml': text }, [workload('web-*')])
    assert.deepEqual(said, [`SF961 web.yaml:2: Deployment shop/web-*: added ${key}: envoy`])
    assert.equal(await read('web.yaml'), fixed(text))
  })

  test('adds them to the manifest with that kind, namespace and name, keeps comments, and a second time writes nothing', async () => {
    const others = { 'k8s/other.yaml': manifest('other'), 'k8s/prod.yaml': manifest('web', '\n  namespace: prod') }
    const { said, again, read, folder } = await fix({ 'k8s/web.yaml': manifest(), ...others })
    assert.deepEqual(said, [`SF961 k8s/web.yaml:2: Deployment shop/web: added ${key}: envoy`])
    assert.equal(await read('k8s/web.yaml'), fixed(manifest()))
    for (const [name, text] of Object.entries(others)) assert.equal(await read(name), text)
    const before = await stat(join(folder, 'k8s/web.yaml'))
    assert.deepEqual(await again(), ['SF962 k8s/web.yaml:2: Deployment shop/web has its lines already; apply it'])
    assert.equal((await stat(join(folder, 'k8s/web.yaml'))).ino, before.ino)
    assert.deepEqual((await readdir(join(folder, 'k8s'))).toSorted(), ['other.yaml', 'prod.yaml', 'web.yaml'])
  })

  test('takes a manifest without a namespace for the workload of that name', async () => {
    const { said, read } = await fix({ 'web.yaml': manifest('web', '') })
    assert.match(said.join(), /^SF961/)
    assert.equal(await read('web.yaml'), fixed(manifest('web', '')))
  })

  test('keeps a byte order mark, line breaks of Windows, a file without a last one, and the other documents', async () => {
    const documents = `${manifest('other')}---\n${manifest()}---\nkind: ConfigMap # last\n`
    const forms: Record<string, (text: string) => string> = {
      mark: (text) => `\uFEFF${text}`,
      windows: (text) => text.replaceAll('\n', '\r\n'),
      open: (text) => text.trimEnd(),
    }
    for (const [name, form] of Object.entries(forms)) {
      const { said, read } = await fix({ [`${name}.yaml`]: form(manifest()) })
      assert.match(said.join(), /^SF961/, name)
      assert.equal(await read(`${name}.yaml`), form(fixed(manifest())), name)
    }
    const { read } = await fix({ 'all.yaml': documents })
    assert.equal(await read('all.yaml'), documents.replace(manifest(), fixed(manifest())))
  })

  test('keeps the mode of a file', async () => {
    const { folder, again } = await fix({ 'web.yaml': manifest('x') })
    await writeFile(join(folder, 'web.yaml'), manifest())
    await chmod(join(folder, 'web.yaml'), 0o640)
    assert.match((await again()).join(), /^SF961/)
    assert.equal((await stat(join(folder, 'web.yaml'))).mode & 0o777, 0o640)
  })

  test('writes both objects of one file, and of a list', async () => {
    const both = `${manifest()}---\n${manifest('api')}`
    const { said, read } = await fix({ 'all.yaml': both }, [web, workload('api')])
    assert.equal(said.length, 2)
    assert.equal(await read('all.yaml'), `${fixed(manifest())}---\n${fixed(manifest('api'))}`)
    const item = (name: string) =>
      `- kind: Deployment\n  metadata: {name: ${name}}\n  spec:\n    template:\n      spec:\n        containers: [{name: app}]\n`
    const list = await fix({ 'list.yaml': `kind: List\nitems:\n${item('web')}${item('api')}` }, [web, workload('api')])
    assert.equal([...(await list.read('list.yaml')).matchAll(/: envoy/g)].length, 2)
  })
})

describe('a scan that writes its lines leaves alone', () => {
  const cases: Record<string, { files: Record<string, string>; says: RegExp }> = {
    'what is in no file': { files: { 'a.yaml': manifest('a') }, says: /^SF964 no file has Deployment shop\/web$/ },
    'what is in two': {
      files: { 'a.yaml': manifest(), 'b.yaml': manifest() },
      says: /^SF965 Deployment shop\/web stands in several places, and none was changed: a\.yaml:2, b\.yaml:2$/,
    },
    'a template of Helm': {
      files: { 'web.yaml': manifest('{{ .Release.Name }}'), 'x.yaml': 'kind: ConfigMap\n' },
      says: /^SF964 .*,SF966 web\.yaml can't be changed: it is a template of Helm/,
    },
    'what is rendered from one': {
      files: { 'web.yaml': `---\n# Source: web/templates/web.yaml\n${manifest()}` },
      says: /^SF966 web\.yaml:4 can't be changed: it says that it is generated/,
    },
    'what is generated': {
      files: { 'web.yaml': `# Code generated by x. DO NOT EDIT.\n${manifest()}` },
      says: /^SF966 web\.yaml:3 can't be changed: it says that it is generated/,
    },
    'what says something else': {
      files: { 'web.yaml': fixed(manifest()).replace(': envoy\n', ': other\n') },
      says: /^SF963 web\.yaml:2: Deployment shop\/web is left as it is: it says something else in sidecar-first\.dev\/sidecars$/,
    },
    'broken YAML': {
      files: { 'web.yaml': `${manifest()}  bad: [\n` },
      says: /^SF964 .*,SF966 web\.yaml can't be changed: it can't be read: line \d+: invalid YAML/,
    },
    'a template that something else repeats by an alias': {
      files: {
        'web.yaml': manifest().replace(
          / {4}metadata:\n.*\n/,
          '    metadata: &shared\n      labels: {app: web}\n    repeated: *shared\n',
        ),
      },
      says: /^SF966 web\.yaml can't be changed: its lines depend on anchors/,
    },
    'JSON in a form of its own': {
      files: {
        'web.json':
          '{"kind":"Deployment","metadata":{"name":"web"},\n "spec":{"template":{"spec":{"containers":[{"name":"app"}]}}}}',
      },
      says: /^SF966 web\.json can't be changed: .* formatting would be lost/,
    },
  }
  for (const [what, { files, says }] of Object.entries(cases)) {
    test(what, async () => {
      const { said, read } = await fix(files)
      assert.match(said.join(), says)
      for (const [name, text] of Object.entries(files)) assert.equal(await read(name), text)
    })
  }

  test('what would not hold the app back by itself', async () => {
    const { said, read } = await fix({ 'web.yaml': manifest() }, [workload('web', { holds: false })])
    assert.match(said.join(), /^SF967 Deployment shop\/web: nothing was written/)
    assert.equal(await read('web.yaml'), manifest())
  })

  test('whatever is outside the folder, however a link leads there', async () => {
    const outside = await fix({ 'real/web.yaml': manifest('x') })
    await writeFile(join(outside.folder, 'real/web.yaml'), manifest())
    const { folder, again } = await fix({ 'a.yaml': manifest('a') })
    await symlink(join(outside.folder, 'real/web.yaml'), join(folder, 'web.yaml'))
    await symlink(join(outside.folder, 'real'), join(folder, 'linked'))
    assert.match((await again()).join(), /^SF964 .*,SF966 web\.yaml can't be changed: it is a link to a file outside/)
    assert.equal(await outside.read('real/web.yaml'), manifest())
  })

  test('a link within the folder is followed, and stays a link', async () => {
    const { folder, again, read } = await fix({ 'real/web.txt': manifest(), 'a.yaml': manifest('a') })
    await symlink('real/web.txt', join(folder, 'web.yaml'))
    assert.match((await again()).join(), /^SF961 web\.yaml:2/)
    assert.equal(await read('real/web.txt'), fixed(manifest()))
    assert.equal(await read('web.yaml'), fixed(manifest()))
  })

  test('files that are huge, binary or not UTF-8', async () => {
    const files = {
      'huge.yaml': `${manifest()}# ${'x'.repeat(8_000_000)}\n`,
      'binary.yaml': Buffer.from([0, 1, 2, 0xff]),
      'utf16.yaml': Buffer.from(`\uFEFF${manifest()}`, 'utf16le'),
    }
    const { said } = await fix(files)
    assert.match(said.join(), /huge\.yaml can't be changed: it can't be read: it is over 8 MB/)
    assert.match(said.join(), /binary\.yaml can't be changed: .* binary/)
    assert.match(said.join(), /utf16\.yaml can't be changed: .* UTF-16/)
  })
})
