import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseKubernetesVersion } from '../../src/configuration/read.ts'
import { abilityOf, isOlder, type NodeInfo } from '../../src/install/nodes.ts'

const node = (kubeletVersion: string, containerRuntimeVersion: string, operatingSystem = 'linux'): NodeInfo => ({
  kubeletVersion,
  containerRuntimeVersion,
  operatingSystem,
})
const deliveryOf = (...nodes: NodeInfo[]) => abilityOf('v1.36.3', nodes).delivery

test('the waiter comes by image where every node can mount one', () => {
  assert.equal(deliveryOf(node('v1.36.3', 'containerd://2.3.7'), node('v1.35.0', 'cri-o://1.35.1')), 'image-volume')
  assert.equal(deliveryOf(node('v1.35.4-gke.1', 'containerd://2.1.0')), 'image-volume')
})

test('one old kubelet, or one old or unknown runtime, has it copied everywhere', () => {
  const sound = node('v1.36.3', 'containerd://2.3.7')
  for (const [old, because] of [
    [node('v1.34.4', 'containerd://2.3.7'), 'the oldest kubelet is 1.34'],
    [node('v1.36.3', 'containerd://2.0.5'), 'a node runs containerd 2.0.5'],
    [node('v1.36.3', 'cri-o://1.30.9'), 'a node runs cri-o 1.30.9'],
    [node('v1.36.3', 'docker://29.0.0'), 'a node runs docker 29.0.0'],
    [node('', ''), 'the oldest kubelet is 0.0'],
  ] as const) {
    const { delivery, because: said } = abilityOf('v1.36.3', [sound, old])
    assert.deepEqual([delivery, said], ['init-container', because])
  }
})

test('Windows nodes run no waiter, and without nodes nothing is taken for granted', () => {
  assert.equal(
    deliveryOf(node('v1.36.3', 'containerd://2.3.7'), node('v1.30.0', 'containerd://1.7.2', 'windows')),
    'image-volume',
  )
  assert.deepEqual(abilityOf('v1.36.3', []), {
    kubernetesVersion: '1.36',
    delivery: 'init-container',
    because: 'there are no nodes yet',
  })
})

test('the version is the oldest that is there, by number and not by letter', () => {
  const versionOf = (server: string, ...kubelets: string[]) =>
    abilityOf(
      server,
      kubelets.map((each) => node(each, 'containerd://2.3.7')),
    ).kubernetesVersion
  assert.equal(versionOf('v1.36.3', 'v1.36.0', 'v1.34.9'), '1.34')
  assert.equal(versionOf('v1.100.0', 'v1.99.1'), '1.99')
  // Whatever a node reports, a configuration takes it.
  for (const odd of ['v1.19.10-vk-azure-aci-1.4.8', 'v1.27.0', 'v1.28.3', '', 'v0.0.0-fake']) {
    const version = versionOf('v1.36.3', 'v1.36.0', odd)
    assert.ok(parseKubernetesVersion(version).ok, version)
  }
  assert.ok(isOlder('v1.29.12+k3s1', [1, 30]))
  assert.ok(!isOlder('v1.30.0', [1, 30]))
})
