import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statusText } from '../../certs/show.ts'
import { statusOf } from '../../certs/status.ts'
import { StoredCluster } from './stored-cluster.ts'
import { lifetimes } from './world.ts'

test('a configuration that somebody has emptied trusts no CA', async () => {
  const cluster = new StoredCluster()
  const [mutating] = await cluster.readConfigurations()
  assert.ok(mutating)
  cluster.readConfigurations = async () => [{ ...mutating, bundles: [] }]
  const status = await statusOf({ cluster, names: ['sidecar-first'], lifetimes, ask: async () => undefined })
  const look = { width: 100, color: false, unicode: true, terminal: false }
  assert.match(statusText(status, look), /zz-sidecar-first: 0 CAs/)
})
