import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cluster } from '../../../rollouts/controller/cluster.ts'
import { Templates } from '../../../rollouts/controller/templates.ts'
import { ClusterError } from '../../../src/kubernetes/failure.ts'
import { pod, rollout } from '../pods.ts'

const born = (name: string, image: string, owner: string) => ({
  ...pod(name, { image }),
  owner: { kind: 'ReplicaSet', name: owner },
})
/** Workloads by name, each with its image; those without are forbidden to read. */
function clusterOf(images: Readonly<Record<string, string | undefined>>) {
  const read: string[] = []
  const readWorkload = async (_: string, __: string, name: string) => {
    read.push(name)
    const image = images[name]
    if (image === undefined) throw new ClusterError('forbidden', 'no')
    return { spec: { template: { spec: { containers: [{ name: 'envoy', image }] } } } }
  }
  return { read, cluster: { readWorkload } as unknown as Cluster }
}

test("of pods whose image looks like the rollout's, each owner's template is read once, until one has shown what it is", async () => {
  const { read, cluster } = clusterOf({ old: 'mirror/envoy:v2', young: 'envoy:v2', never: 'envoy:v2' })
  const pods = [
    born('a', 'envoy:v1', 'never'),
    born('b', 'other/agent:v2', 'never'),
    born('c', 'mirror/envoy:v2', 'closed'),
    born('d', 'mirror/envoy:v2', 'old'),
    born('e', 'mirror/envoy:v2', 'young'),
  ]
  const templates = new Templates()
  const look = (some: typeof pods) => templates.lookAtBirths({ rollout: rollout(), pods: some }, cluster)
  assert.equal(await look(pods.slice(0, 4)), false)
  assert.equal(await look(pods.slice(0, 4)), false)
  assert.equal(templates.bornAs(rollout()), undefined)
  assert.equal(await look(pods), true)
  assert.equal(await look(pods), false)
  assert.deepEqual(read, ['closed', 'old', 'young'])
  assert.equal(templates.bornAs(rollout()), 'mirror/envoy:v2')
  assert.equal(templates.bornAs(rollout({}, { image: 'envoy:v3' })), undefined)
})
