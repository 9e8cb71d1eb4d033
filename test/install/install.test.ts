import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { install } from '../../src/cli/install.ts'
import { uninstall } from '../../src/cli/uninstall.ts'
import { unowned } from '../../src/install/unowned-images.ts'
import { run } from '../cli/inside.ts'

test('install prints YAML without a cluster, and its example is a call of it', async () => {
  const [, example = ''] = /^Example: sidecar-first install (.+) \|/m.exec(install.help) ?? []
  const { code, stdout, stderr } = await run(install, ...example.split(' '))
  assert.deepEqual([code, stderr], [0, ''])
  const kinds = parseAllDocuments(stdout).map((document) => document.toJS().kind)
  assert.equal(kinds[0], 'Namespace')
  assert.ok(kinds.includes('MutatingWebhookConfiguration'))
})

test('install says what a configuration hardly means, unless nobody wants to hear of it', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'sidecar-first-install-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'configuration.yaml')
  const rules = 'rules:\n- {name: a, match: {preset: istio}}\n- {name: b, match: {container: istio-proxy}, tier: 1}\n'
  writeFileSync(file, `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${rules}`)
  const flags = ['--image', 'r/s:1', '--waiter-image', 'r/w:1', '--config', file]
  const all = await run(install, ...flags)
  assert.equal(all.stderr, `${file}: SF329 the rule b never matches: the rule a before it takes all its containers\n`)
  assert.deepEqual(await run(install, ...flags, '--ignore', 'SF329'), { ...all, stderr: '' })
  const { code, stderr } = await run(install, ...flags, '--ignore', 'SF319')
  assert.deepEqual([code, stderr.slice(0, 40)], [2, 'sidecar-first install: SF003 --ignore: S'])
})

test('a wrong call is told before any cluster is asked', async () => {
  for (const [command, ...args] of [
    [install, '--mode', 'all'],
    [install, '--gate', 'hard'],
    [install, '--lock', 'yes'],
    [install, '--replicas', '0'],
    [install, '--timeout', '8d'],
    [install, '--namespace', 'kube-system'],
    [install, '--namespace', 'A'],
    [install, '--namespace', 'a'.repeat(64)],
    [install, '--image', 'r/s:1 '],
    [install, '--waiter-image', ''],
    [install, '--image-pull-secret', 'A'],
    [install, '--image-pull-secret', 'a'.repeat(254)],
    [install, '--config', '/nowhere.yaml'],
    [install, '--unknown'],
    [uninstall, '--namespace', 'default'],
    [uninstall, '--timeout', 'soon'],
  ] as const) {
    const { code, stdout, stderr } = await run(command, ...args)
    assert.deepEqual([code, stdout], [2, ''], args.join(' '))
    assert.match(stderr, /takes|cannot read|use 1s to 7d|Unknown option/)
  }
})

test('an image that nobody has published is not named for the nodes to pull', async (t) => {
  const file = join(tmpdir(), `sidecar-first-${process.pid}.yaml`)
  writeFileSync(file, 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n')
  t.after(() => rmSync(file))
  const text = (names: readonly string[]) =>
    `sidecar-first install: SF005 ${names.join(' and ')} missing: nobody has published `
  const server = ['--image', 'r/server:1']
  const waiter = ['--waiter-image', 'r/waiter:1']
  for (const [flags, missing] of [
    [[], ['--image', '--waiter-image']],
    [server, ['--waiter-image']],
    [waiter, ['--image']],
    [[...server, '--config', file], [`waiter.image in ${file} (or --waiter-image)`]],
  ] as const) {
    const { code, stdout, stderr } = await run(install, ...flags)
    assert.deepEqual([code, stdout], [2, ''])
    assert.ok(stderr.startsWith(text(missing)), stderr)
  }
  assert.equal((await run(install, ...server, ...waiter)).code, 0)
  const node = (...names: string[]) => ({ status: { images: [{ names }] } })
  const image = 'docker.io/sidecar-first/waiter:1'
  assert.deepEqual(unowned([image], [node(image)]), [])
  assert.deepEqual(unowned(['sidecar-first/waiter:1'], [node(image), node(image)]), [], 'as nodes call it')
  assert.deepEqual(unowned([image], [node(image), node()]), [image], 'one node would pull it')
  assert.deepEqual(unowned([image], []), [image])
})

test('without a kubeconfig, or with a cluster that is not there, one line says so', async (t) => {
  const before = process.env.KUBECONFIG
  t.after(() => {
    process.env.KUBECONFIG = before
  })
  process.env.KUBECONFIG = '/nowhere/config'
  for (const command of [uninstall, install]) {
    const { code, stdout, stderr } = await run(command, ...(command === install ? ['--apply'] : ['--yes']))
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^sidecar-first (un)?install: SF014 the kubeconfig can't be read: .*\/nowhere\/config'\n$/)
  }
})
