import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { V1Pod } from '@kubernetes/client-node'
import { install } from '../../src/cli/install.ts'
import { run } from '../cli/inside.ts'
import { fakeApiServer } from '../kubernetes/fake-api-server.ts'

/** As much of an API server of 1.36 as install asks before it prints, a fake: one that stores variables from files, or drops them and sees what is left. */
async function startCluster(context: TestContext, stores: boolean) {
  const tried: string[] = []
  const server = await fakeApiServer(async (request, response) => {
    const answer = (body: object, code = 200) =>
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.method === 'POST') {
      tried.push(request.url ?? '')
      const pod = (await json(request)) as V1Pod
      const invalid = !stores && pod.spec?.containers.some(({ env = [] }) => env.length > 0)
      return invalid ? answer({ kind: 'Status', message: 'must specify one of' }, 422) : answer(pod, 201)
    }
    if (request.url === '/version') return answer({ major: '1', minor: '36', gitVersion: 'v1.36.3' })
    const resources = [
      { name: 'pods', kind: 'Pod', namespaced: true },
      { name: 'nodes', kind: 'Node', namespaced: false },
    ]
    return answer(request.url === '/api/v1' ? { resources } : { metadata: {}, items: [] })
  })
  const folder = mkdtempSync(join(tmpdir(), 'sidecar-first-dropped-'))
  const before = process.env.KUBECONFIG
  process.env.KUBECONFIG = join(folder, 'kubeconfig')
  writeFileSync(process.env.KUBECONFIG, server.kubeconfig.exportConfig())
  context.after(() => {
    process.env.KUBECONFIG = before
    server[Symbol.dispose]()
    rmSync(folder, { recursive: true })
  })
  return tried
}

const printing = (...flags: readonly string[]) =>
  run(install, '--image', 'r/s:1', '--waiter-image', 'r/w:1', '--context', 'loaded-context', ...flags)

test('install asks the API server whether it stores a lock, and writes it off where it does not', async (context) => {
  const tried = await startCluster(context, false)
  const { code, stdout, stderr } = await printing()
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^ {4}defaults:\n {6}lock: off$/m)
  assert.match(stderr, /^sidecar-first: SF586 lock: auto locks nothing: the API server drops variables.*\n$/)
  assert.ok(tried.length > 0)
  for (const url of tried) assert.match(url, /^\/api\/v1\/namespaces\/kube-system\/pods\?.*dryRun=All/)

  const asked = await printing('--lock', 'auto')
  assert.match(asked.stdout, /^ {6}lock: auto$/m)
  assert.match(asked.stderr, /^sidecar-first: SF582 .*refuses pods that are to be locked/)
})

test('where it stores one, install says nothing of it', async (context) => {
  const tried = await startCluster(context, true)
  const { stdout, stderr } = await printing()
  assert.deepEqual([/lock:/.test(stdout), stderr, tried.length], [false, '', 1])
})
