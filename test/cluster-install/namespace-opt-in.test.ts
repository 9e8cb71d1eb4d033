import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Answer, createNamespace, deleteNamespaces, kubectl, tryCreate, until } from '../cluster/cluster.ts'
import { firstLineOf, logOf, markOf } from '../cluster/pod.ts'
import {
  configurations,
  install,
  namespace,
  orderOf,
  overlayOf,
  sample,
  startServe,
  stopServe,
  tryOut,
  uninstall,
} from './installation.ts'

const preview = join(import.meta.dirname, '../../manifests/optional/preview')
const main = join(import.meta.dirname, '../../src/main.ts')

describe('the manifests on a real node, failurePolicy Fail for labelled namespaces', () => {
  const labelled = 'install-labelled'
  const unlabelled = 'install-unlabelled'
  before(async () => {
    await install('namespace-opt-in')
    await createNamespace(labelled, { 'sidecar-first.dev/injection': 'enabled' })
    await createNamespace(unlabelled)
  })
  after(async () => {
    await uninstall('namespace-opt-in')
    await deleteNamespaces(labelled, unlabelled)
  })

  it('gives both configurations a caBundle, which another apply leaves there', async () => {
    const bundles = () =>
      kubectl('get', ...configurations, '-o', 'jsonpath={.items[*].webhooks[*].clientConfig.caBundle}')
    const before = await bundles()
    assert.equal(before.split(' ').length, 2)
    await kubectl('apply', '-k', overlayOf('namespace-opt-in'))
    assert.equal(await bundles(), before)
  })

  it('starts the sidecar first in a labelled namespace, and has the app wait for it', async () => {
    const { code, stderr } = await tryCreate([sample(labelled)])
    assert.equal(code, 0, stderr)
    const log = await logOf(labelled, 'sample', 'app', 2)
    assert.ok(log.some(({ text }) => text === 'first request succeeded'))
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
  })

  it('leaves a pod of an unlabelled namespace as it is', async () => {
    assert.deepEqual(await orderOf(unlabelled), ['app', 'sidecar'])
  })

  it('keeps a pod from starting unseen while all replicas are gone, but not its own replicas', async () => {
    await stopServe()
    const { code, stderr } = await tryOut(labelled)
    assert.equal(code, 1)
    assert.match(stderr, /failed calling webhook/)
    assert.deepEqual(await orderOf(unlabelled), ['app', 'sidecar'])
    await startServe()
    assert.deepEqual(await orderOf(labelled), ['sidecar', 'app'])
  })

  it('gives serve the leaf and its key alone, no token, and nothing to write to', async () => {
    const script = `
      const fs = require('node:fs')
      const entries = (path) => { try { return fs.readdirSync(path).filter((name) => !name.startsWith('..')) } catch ({ code }) { return code } }
      const write = (path) => { try { fs.writeFileSync(path, ''); return 'written' } catch ({ code }) { return code } }
      console.log(JSON.stringify({
        certificate: entries('/etc/sidecar-first/certificate'),
        secrets: entries('/var/run/secrets'),
        writes: ['/tmp', '/opt/sidecar-first', '/etc/sidecar-first/certificate'].map((folder) => write(folder + '/x')),
      }))`
    const output = await kubectl('exec', '-n', namespace, 'deploy/sidecar-first', '--', '/usr/bin/node', '-e', script)
    const { certificate, secrets, writes } = JSON.parse(output)
    assert.deepEqual(certificate, ['tls.crt', 'tls.key'])
    assert.equal(secrets, 'ENOENT')
    assert.ok(!writes.includes('written'), output)
  })

  it('previews in a pod of its own, with a certificate made in memory', async () => {
    await kubectl('apply', '-k', preview)
    await kubectl('rollout', 'status', '-n', namespace, 'deploy/sidecar-first-preview', '--timeout=120s')
    const ask = `
      const options = { method: 'POST', rejectUnauthorized: false, headers: { 'content-type': 'application/json' } }
      const request = require('node:https').request('https://127.0.0.1:8443/preview', options, (answer) => answer.pipe(process.stdout))
      request.end(process.argv[1])`
    const input = JSON.stringify(sample('anywhere'))
    const program = ['/usr/bin/node', '-e', ask, input]
    const output = await kubectl('exec', '-n', namespace, 'deploy/sidecar-first-preview', '--', ...program)
    assert.equal(JSON.parse(output).results[0].verdict, 'patched', output)
  })

  it('says through the port-forward that all is well, and 1 when it is not', async () => {
    const well = await certs('status', '--via', 'port-forward')
    assert.equal(well.code, 0, well.stdout + well.stderr)
    assert.equal(well.stdout.match(/the Secret's leaf/g)?.length, 2, well.stdout)

    await kubectl('scale', '-n', namespace, 'deploy/sidecar-first-certs', '--replicas=0')
    await kubectl('wait', '-n', namespace, '--for=delete', 'pod', '-l', 'app.kubernetes.io/component=certs')
    const wipe = JSON.stringify([{ op: 'remove', path: '/webhooks/0/clientConfig/caBundle' }])
    await kubectl('patch', 'validatingwebhookconfiguration', 'sidecar-first', '--type=json', '-p', wipe)
    const broken = await certs('status', '--via', 'port-forward')
    assert.equal(broken.code, 1, broken.stdout + broken.stderr)
    assert.match(broken.stdout + broken.stderr, /serves a leaf that not every caBundle covers/)

    await kubectl('scale', '-n', namespace, 'deploy/sidecar-first-certs', '--replicas=1')
    await until('certs to mend it', async () => ((await certs('status')).code === 0 ? true : undefined))
  })

  it('takes a new leaf from `rotate leaf` in every replica, and no pod goes by meanwhile', async () => {
    const leaf = () => kubectl('get', 'secret', '-n', namespace, 'sidecar-first', '-o', 'jsonpath={.data.tls\\.crt}')
    const old = await leaf()
    const asked = await certs('rotate', 'leaf')
    assert.equal(asked.code, 0, asked.stderr)
    await until('a new leaf', async () => ((await leaf()) === old ? undefined : true))
    // The kubelet takes up to a minute and more to bring a changed Secret to its pods.
    const arrived = async () => {
      assert.deepEqual(await orderOf(labelled), ['sidecar', 'app'])
      const { code, stdout } = await certs('status')
      return code === 0 && stdout.match(/the Secret's leaf/g)?.length === 2 ? true : undefined
    }
    await until('both replicas to serve it', arrived, 240_000)
  })
})

/** `sidecar-first certs`, from outside the pods. */
function certs(...args: readonly string[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, 'certs', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    const answer: Answer = { code: null, stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text) => (answer.stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (answer.stderr += text))
    child.on('error', reject).on('close', (code) => resolve({ ...answer, code }))
  })
}
