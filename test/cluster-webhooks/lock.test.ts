import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storesLock } from '../../src/check/installation/lock.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { objects } from '../../src/kubernetes/objects.ts'
import { startApiServer } from '../apiserver/apiserver.ts'

for (const [what, flags, stored] of [
  ['this version stores it', [], true],
  ['the feature is off', ['--feature-gates=EnvFiles=false'], false],
] as const) {
  test(`an API server is asked whether it stores the lock: ${what}`, async () => {
    const api = await startApiServer(flags)
    try {
      assert.equal(await storesLock(objects(connection(api.kubeconfig('admin'))), 'default'), stored)
    } finally {
      await api.stop()
    }
  })
}
