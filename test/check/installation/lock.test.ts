import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Pod } from '@kubernetes/client-node'
import { droppedLock, dropsLock, storesLock } from '../../../src/check/installation/lock.ts'
import { ClusterError } from '../../../src/kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../../../src/kubernetes/objects.ts'
import { installation } from '../cluster.ts'

const variable = (pod: ClusterObject) => (pod as V1Pod).spec?.containers[0]?.env?.[0]

/** As much of an API server as tries out a pod: what it makes of one, or a failure. */
function creating(make: (pod: V1Pod) => V1Pod) {
  const tried: V1Pod[] = []
  const create = async (pod: ClusterObject, how?: { dryRun?: boolean }) => {
    assert.equal(how?.dryRun, true)
    tried.push(pod)
    return make(structuredClone(pod) as V1Pod)
  }
  return { objects: { create } as unknown as Objects, tried }
}
const stores = (pod: V1Pod) => pod
/** An API server without the feature drops the field, and then finds no source. */
const drops = (pod: V1Pod) => {
  if (variable(pod) !== undefined) throw new ClusterError('invalid', 'valueFrom: Invalid value: must specify one of')
  return pod
}
const fails = (kind: 'invalid' | 'forbidden') => () => {
  throw new ClusterError(kind, 'no')
}

describe('an API server that is asked, in a dry run, whether it stores a lock', () => {
  test('has a pod with the field to judge', async () => {
    const { objects, tried } = creating(stores)
    assert.equal(await storesLock(objects, 'here'), true)
    assert.equal(tried.length, 1)
    assert.equal(tried[0]?.metadata?.namespace, 'here')
    assert.deepEqual(variable(tried[0] as V1Pod), {
      name: 'SIDECAR_FIRST_READY_1',
      valueFrom: {
        fileKeyRef: { volumeName: 'sidecar-first-lock', path: 'ready-1', key: 'SIDECAR_FIRST_READY_1' },
      },
    })
  })

  test('does not, if it refuses the variable alone', async () => {
    assert.equal(await storesLock(creating(drops).objects, 'here'), false)
    const silent = creating((pod) => {
      delete pod.spec?.containers[0]?.env
      return pod
    })
    assert.equal(await storesLock(silent.objects, 'here'), false)
  })

  test('says nothing of it, if the pod is refused without the variable, too', async () => {
    await assert.rejects(storesLock(creating(fails('invalid')).objects, 'here'), ClusterError)
    await assert.rejects(storesLock(creating(fails('forbidden')).objects, 'here'), ClusterError)
  })
})

describe('before install has auto lock pods', () => {
  test('it tries that out where every version knows the lock, and takes no failure for an answer', async () => {
    const judge = async (make: (pod: V1Pod) => V1Pod, version = '1.36') => {
      const { objects, tried } = creating(make)
      return [await dropsLock(objects, version), tried.length > 0]
    }
    assert.deepEqual(await judge(drops), [true, true])
    assert.deepEqual(await judge(drops, '1.35'), [true, true])
    assert.deepEqual(await judge(drops, '1.34'), [false, false])
    assert.deepEqual(await judge(stores), [false, true])
    assert.deepEqual(await judge(fails('forbidden')), [false, true])
    assert.deepEqual(await judge(fails('invalid')), [false, true])
  })

  test('it says what becomes of the lock', () => {
    const judge = (more: string) => {
      const { code, text } = droppedLock(installation(`kubernetesVersion: "1.36"\n${more}`).configuration)
      return `${code} ${text}`
    }
    const off = 'defaults: {lock: off}\n'
    assert.match(judge(off), /^SF586 lock: auto locks nothing: the API server drops variables that come from files/)
    const refused = /^SF582 the API server drops variables .*refuses pods that are to be locked; .*set lock: off/
    assert.match(judge(''), refused)
    assert.match(judge('defaults: {lock: on}\n'), refused)
    assert.match(judge(`${off}rules: [{name: a, tier: 1, match: {container: a}, lock: on}]\n`), refused)
  })
})
