import type { V1Node } from '@kubernetes/client-node'
import type { Configuration } from '../../admission/intent/configuration.ts'
import { oldestNode } from '../../configuration/read.ts'
import { imageVolumes, isOlder } from '../../install/nodes.ts'
import type { Finding } from '../findings.ts'
import { type Check, validConfiguration } from '../site.ts'

/** Whether every node can do what the configuration asks of it. */
export const nodes: Check = {
  name: 'nodes',
  async run({ objects, installed }) {
    const { configuration } = validConfiguration(installed)
    return judgeNodes(await objects.list<V1Node>({ apiVersion: 'v1', kind: 'Node' }), configuration)
  },
}

export function judgeNodes(all: readonly V1Node[], configuration: Configuration): readonly Finding[] {
  const found = all.flatMap((node) => {
    const { kubeletVersion: kubelet = '', containerRuntimeVersion = '', operatingSystem } = node.status?.nodeInfo ?? {}
    const [runtime = '', runtimeVersion = ''] = containerRuntimeVersion.split('://')
    return operatingSystem === 'windows' ? [] : [{ name: node.metadata?.name ?? '', kubelet, runtime, runtimeVersion }]
  })
  const { waiter, defaults, rules, kubernetesVersion } = configuration
  const findings: Finding[] = []
  const complain = (of: (node: (typeof found)[number]) => boolean, finding: (nodes: readonly string[]) => Finding) => {
    const some = found.filter(of).map(({ name }) => name)
    if (some.length > 0) findings.push(finding(some))
  }

  if (waiter.delivery === 'image-volume') {
    complain(
      ({ kubelet }) => isOlder(kubelet, imageVolumes.kubelet),
      (nodes) => ({ kind: 'kubelets-without-image-volumes', nodes, least: imageVolumes.kubelet.join('.') }),
    )
    for (const [name, least] of Object.entries(imageVolumes.runtimes)) {
      complain(
        ({ runtime, runtimeVersion }) => runtime === name && isOlder(runtimeVersion, least),
        (nodes) => ({ kind: 'runtimes-without-image-volumes', nodes, runtime: name, least: least.join('.') }),
      )
    }
    complain(
      ({ runtime }) => !Object.hasOwn(imageVolumes.runtimes, runtime),
      (nodes) => ({ kind: 'runtimes-unknown', nodes }),
    )
  }
  const gates = new Set([defaults.gate, ...rules.rules.flatMap(({ gate }) => gate ?? [])])
  const version = kubernetesVersion && ([kubernetesVersion.major, kubernetesVersion.minor] as const)
  const auto = gates.has('auto') && version !== undefined && !isOlder(version.join('.'), [1, 29])
  if (gates.has('native') || auto) {
    complain(
      ({ kubelet }) => isOlder(kubelet, [1, 29]),
      (nodes) => ({ kind: 'kubelets-without-native', nodes }),
    )
  }
  // No configuration takes an older version than that, and nothing depends on one.
  if (version !== undefined && isOlder(oldestNode.join('.'), version)) {
    complain(
      ({ kubelet }) => isOlder(kubelet, version),
      (nodes) => ({ kind: 'kubelets-older', nodes, version: version.join('.') }),
    )
  }
  if (findings.length > 0) return findings
  const versions = [...new Set(found.map(({ kubelet }) => kubelet))].sort()
  return [{ kind: 'nodes-fit', count: found.length, versions, delivery: waiter.delivery }]
}
