import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { storesLock } from '../../src/check/installation/lock.ts'
import { install } from '../../src/cli/install.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { objects } from '../../src/kubernetes/objects.ts'
import { startApiServer } from '../apiserver/apiserver.ts'
import { run } from '../cli/inside.ts'
import { hasLock, kubernetesVersion } from '../cluster/kubernetes.ts'

/** What install says and writes of the lock for the cluster of KUBECONFIG. */
async function installing(...flags: readonly string[]) {
  const images = ['--image', 'example/server:1', '--waiter-image', 'example/waiter:1']
  const { code, stdout, stderr } = await run(install, ...images, '--context', 'loaded-context', ...flags)
  assert.equal(code, 0, stderr)
  const [configMap] = parseAllDocuments(stdout)
    .map((document) => document.toJS())
    .filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'sidecar-first')
  const text: string = configMap.data['config.yaml']
  const [, version] = /^kubernetesVersion: "([0-9.]+)"$/m.exec(text) ?? []
  return { off: /^ {2}lock: off$/m.test(text), version, said: stderr }
}

for (const [what, flags, stored] of [
  [`this version ${hasLock ? 'stores' : 'does not store'} it`, [], hasLock],
  ['the feature is off', ['--feature-gates=EnvFiles=false'], false],
] as const) {
  test(`an API server is asked whether it stores the lock, and install goes by it: ${what}`, async (context) => {
    const { KUBECONFIG } = process.env
    context.after(() => {
      if (KUBECONFIG === undefined) delete process.env.KUBECONFIG
      else process.env.KUBECONFIG = KUBECONFIG
    })
    const api = await startApiServer(flags)
    try {
      assert.equal(await storesLock(objects(connection(api.kubeconfig('admin'))), 'default'), stored)
      process.env.KUBECONFIG = api.kubeconfigFile('admin')
      // Before 1.35 `auto` locks nothing by the version alone, so nobody has to turn it off.
      const drops = hasLock && !stored
      const plain = await installing()
      assert.equal(plain.version, kubernetesVersion)
      assert.equal(plain.off, drops)
      assert.match(plain.said, drops ? /^sidecar-first: SF586 lock: auto locks nothing: the API server drops/ : /^$/)
      const asked = await installing('--lock', 'auto')
      assert.equal(asked.off, false)
      assert.match(asked.said, drops ? /^sidecar-first: SF582 .*refuses pods that are to be locked/ : /^$/)
    } finally {
      await api.stop()
    }
  })
}
