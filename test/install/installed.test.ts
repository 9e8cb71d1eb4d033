import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Manifest } from '../../src/install/apply.ts'
import { leftovers } from '../../src/install/installed.ts'

const applied = [{ manager: 'sidecar-first', operation: 'Apply' }]
const object = (name: string, metadata: Partial<Manifest['metadata']> = {}, kind = 'ConfigMap'): Manifest => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'sidecar-first', managedFields: applied, ...metadata },
})

test('what an earlier installation made goes, and nothing else', () => {
  const found = [
    object('kept'),
    object('kept', { namespace: 'before' }),
    object('dropped'),
    object('by kubectl', { managedFields: [{ manager: 'kubectl', operation: 'Apply' }] }),
    object('written, not applied', { managedFields: [{ manager: 'sidecar-first', operation: 'Update' }] }),
    object('going already', { deletionTimestamp: new Date(0) }),
    object('rollouts.sidecar-first.dev', {}, 'CustomResourceDefinition'),
  ]
  const left = leftovers(found, [object('kept')])
  assert.deepEqual(
    left.map(({ metadata: { name, namespace } }) => `${namespace}/${name}`),
    ['before/kept', 'sidecar-first/dropped'],
  )
})
