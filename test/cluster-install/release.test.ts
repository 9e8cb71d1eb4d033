import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { createNamespace, deleteNamespaces, kubectl } from '../cluster/cluster.ts'
import { kubernetesVersion } from '../cluster/kubernetes.ts'
import { freePort } from '../free-port.ts'
import { SECOND, until } from '../until.ts'
import { serveApi } from './api-service.ts'
import { namespace, ordered } from './installation.ts'

// test/cluster-install/from-release runs it.
const { RELEASE = '', CRANE = '', HELM = '', COMMAND = '' } = process.env
const labelled = 'install-release'
const inOrder = ['sidecar', 'app']

/** A program's output. Its failure has what it printed. */
async function call(program: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...args], { cwd: tmpdir(), maxBuffer: 1 << 26 })
  return stdout
}

/** Every object of ours that the cluster has. */
async function left(): Promise<string> {
  const listed = await kubectl('api-resources', '--verbs=list', '-o', 'name')
  const kinds = listed
    .trim()
    .split('\n')
    .filter((kind) => !/^(?:events|componentstatuses)\b/.test(kind))
  const labelledOnes = await kubectl(
    'get',
    kinds.join(),
    '-A',
    '-l',
    'app.kubernetes.io/name=sidecar-first',
    '-o',
    'name',
  )
  const home = await kubectl('get', 'namespace', namespace, '--ignore-not-found', '-o', 'name')
  return `${labelledOnes}${home}`.trim()
}

/** A namespace that was tried out in takes a moment to end. */
async function nothingLeft(): Promise<void> {
  let last = ''
  await until('nothing to be left', 60 * SECOND, async () => {
    last = await left()
    return last === ''
  }).catch(() => assert.equal(last, ''))
}

describe('from the folder of a release and a registry on loopback alone', () => {
  const file = (pattern: RegExp) =>
    join(RELEASE, readdirSync(RELEASE).find((name) => pattern.test(name)) ?? assert.fail())
  let registry: ReturnType<typeof spawn>
  let server: string
  let waiter: string
  let work: string
  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'sidecar-first-release-'))
    const address = `127.0.0.1:${await freePort()}`
    registry = spawn(CRANE, ['registry', 'serve', '--address', address], { stdio: 'ignore' })
    await until('the registry answers', 30 * SECOND, () =>
      call(CRANE, 'catalog', address).then(
        () => true,
        () => false,
      ),
    )
    const push = async (name: string, archive: string) => {
      const layout = join(work, name)
      await mkdir(layout)
      await call('tar', '-xf', archive, '-C', layout)
      await call(CRANE, 'push', layout, `${address}/${name}:1`)
      return `${address}/${name}@${(await call(CRANE, 'digest', `${address}/${name}:1`)).trim()}`
    }
    server = await push('server', file(/^sidecar-first-[\d.]+-image\.tar$/))
    waiter = await push('waiter', file(/-waiter-.*-image\.tar$/))
    await serveApi()
    await createNamespace(labelled, { 'sidecar-first.dev/injection': 'enabled' })
  })
  after(async () => {
    registry?.kill()
    await deleteNamespaces(labelled)
    await rm(work, { recursive: true, force: true })
  })

  test('the npm package installs and removes it', async () => {
    const images = ['--image', server, '--waiter-image', waiter]
    const printed = await call(COMMAND, 'install', '--apply', '--timeout', '4m', ...images)
    assert.match(printed, /^a pod tried out in \S+ +patched$/m)
    assert.match(printed, /^the waiter's image +\S+ came from its registry|^the waiter's image .*runs$/m)
    await ordered(labelled, inOrder)
    await call(COMMAND, 'uninstall', '--yes', '--timeout', '4m')
    await nothingLeft()
  })

  test('the chart installs and removes it', async () => {
    const release = ['sidecar-first', '--namespace', namespace, '--wait', '--timeout', '4m']
    const values = `image=${server},waiterImage=${waiter},kubernetesVersion=${kubernetesVersion}`
    await call(HELM, 'install', ...release, '--create-namespace', file(/-chart-.*\.tgz$/), '--set', values)
    await ordered(labelled, inOrder)
    await call(HELM, 'uninstall', ...release)
    // The Secret and the Lease of certs are in it.
    await kubectl('delete', 'namespace', namespace)
    await nothingLeft()
  })
})
