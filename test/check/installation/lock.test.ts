import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Node, V1Pod } from '@kubernetes/client-node'
import { told } from '../../../src/check/findings.ts'
import { droppedLock, dropsLock, lock, storesLock } from '../../../src/check/installation/lock.ts'
import type { Site } from '../../../src/check/site.ts'
import { readConfiguration } from '../../../src/configuration/read.ts'
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

describe('check, where auto locks no pod', () => {
  const node = (kubeletVersion: string, operatingSystem = 'linux') =>
    ({ status: { nodeInfo: { kubeletVersion, operatingSystem, containerRuntimeVersion: '' } } }) as V1Node
  const judge = async (more: string, nodes: readonly V1Node[] | ClusterError, make = stores, path?: string) => {
    const { text, mutating } = installation(more)
    const base = mutating.webhooks?.at(-1)?.clientConfig.service
    if (base && path !== undefined) base.path = path
    const list = async () => {
      if (nodes instanceof ClusterError) throw nodes
      return nodes
    }
    const read = readConfiguration(text, '1.0.0')
    const installed = { configuration: { ok: true, value: { text, read } }, mutating: { ok: true, value: mutating } }
    const objects = { ...creating(make).objects, list }
    const found = await lock.run({ objects, installed, namespace: 'here' } as unknown as Site)
    return found.map(told).map(({ level, code, text: said, next = '' }) => `${level} ${code} ${said} → ${next}`)
  }
  const new136 = [node('v1.36.3'), node('v1.35.0'), node('v1.28.0', 'windows')]

  test('though every node could, it warns and says what to set', async () => {
    assert.deepEqual(await judge('', new136), [
      'warning SF592 lock: auto locks nothing, though every node could: the configuration has no kubernetesVersion → set kubernetesVersion: "1.35" in the configuration; install --apply finds it, the chart has a value for it',
    ])
    assert.match((await judge('kubernetesVersion: "1.34"\n', new136)).join(), /^warning SF592 .*is 1\.34.* → set/)
    const version = 'kubernetesVersion: "1.35"\n'
    const [finding, ...others] = await judge(version, new136, stores, '/mutate')
    assert.match(finding ?? '', /^warning SF592 .*that of 0\.1 → sidecar-first install --apply/)
    assert.deepEqual(others, [])
  })

  test('where a node is too old, the API server drops locks, or somebody has chosen so, that is fine', async () => {
    const old = [...new136, node('v1.34.9')]
    assert.match((await judge('', old)).join(), /^ok SF586 .*no kubernetesVersion → $/)
    assert.match((await judge('', [])).join(), /^ok SF586/)
    assert.match((await judge('', new136, drops)).join(), /^ok SF586 .*the API server drops/)
    assert.match((await judge('defaults: {lock: off}\n', new136)).join(), /^ok SF586 .*says lock: off → $/)
    // The check of the nodes says that they can't be seen.
    assert.match((await judge('', new ClusterError('forbidden', 'no'))).join(), /^ok SF586/)
    assert.match((await judge('', new136, fails('forbidden'))).join(), /^ok SF586/)
    assert.match((await judge('kubernetesVersion: "1.35"\n', new136)).join(), /^ok SF585 .*,ok SF581/)
  })
})
