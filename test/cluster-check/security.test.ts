import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { paste, run } from '../cli/process.ts'
import { createNamespace, deleteNamespaces, kubectl, tryKubectl } from '../cluster/cluster.ts'
import { configurations, installed, orderOf } from '../cluster-install/installation.ts'

/** What docs/security.md has people paste. */
const text = await readFile(join(import.meta.dirname, '../../docs/security.md'), 'utf8')
const procedure = /```\n(kubectl delete mutating[\s\S]*?)```/.exec(text)?.[1] ?? ''

const certs = '--as=system:serviceaccount:sidecar-first:sidecar-first-certs'
const asCerts = (object: string, ...operations: object[]) =>
  tryKubectl(['patch', ...object.split('/'), certs, '--type=json', '-p', JSON.stringify(operations)])
const all = [...configurations, 'validatingwebhookconfiguration/sidecar-first-workloads']
const bundles = async () =>
  (await kubectl('get', ...all, '-o', 'jsonpath={.items[*].webhooks[*].clientConfig.caBundle}')).split(' ')

describe('docs/security.md', () => {
  const shop = 'security-shop'
  before(async () => {
    await installed()
    await createNamespace(shop, { 'sidecar-first.dev/injection': 'enabled' })
  })
  after(async () => {
    await run(['uninstall'])
    await deleteNamespaces(shop)
  })

  test('is right that certs may change caBundle and nothing else', async () => {
    const [bundle = ''] = await bundles()
    for (const object of configurations) {
      // The one that plans is called last.
      const webhook = object.startsWith('mutating') ? '/webhooks/5' : '/webhooks/0'
      const denied = async (...operations: object[]) => {
        const { code, stderr } = await asCerts(object, ...operations)
        return code === 1 && stderr.includes('sidecar-first-certs may only change caBundle')
      }
      // A policy takes a moment to be in force.
      while (!(await denied({ op: 'replace', path: `${webhook}/failurePolicy`, value: 'Ignore' }))) await install()
      assert.ok(await denied({ op: 'replace', path: `${webhook}/rules/0/resources`, value: ['*'] }))
      assert.ok(await denied({ op: 'remove', path: `${webhook}/matchConditions` }))
      assert.ok(await denied({ op: 'remove', path: webhook }))
      const elsewhere = { op: 'add', path: `${webhook}/clientConfig/url`, value: 'https://elsewhere.example/' }
      assert.ok(await denied({ op: 'remove', path: `${webhook}/clientConfig/service` }, elsewhere))
      const allowed = await asCerts(object, { op: 'remove', path: `${webhook}/clientConfig/caBundle` })
      assert.equal(allowed.code, 0, allowed.stderr)
      await asCerts(object, { op: 'add', path: `${webhook}/clientConfig/caBundle`, value: bundle })
    }
  })

  test('has a procedure after which nobody trusts the old CA, and pods are patched', async () => {
    const [old] = await bundles()
    const { code, stdout, stderr } = await paste(procedure, import.meta.dirname)
    assert.equal(code, 0, stdout + stderr)
    for (const bundle of await bundles()) {
      assert.notEqual(bundle, '')
      assert.notEqual(bundle, old)
      const pem = Buffer.from(bundle, 'base64').toString()
      assert.equal(pem.match(/BEGIN CERTIFICATE/g)?.length, 1)
    }
    assert.deepEqual(await orderOf(shop), ['sidecar', 'app'])
    const { code: checked, stdout: report } = await run(['check', '--no-pods'])
    assert.equal(checked, 0, report)
  })
})

/** Puts back what a policy that wasn't in force yet has let through. */
const install = () => installed('--force')
