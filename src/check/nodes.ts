import type { V1Node } from '@kubernetes/client-node'
import type { Configuration } from '../admission/configuration.ts'
import { imageVolumes, isOlder } from '../install/nodes.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { type Check, validConfiguration } from './site.ts'

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
  const complain = (
    level: typeof warning,
    next: string,
    what: string,
    of: (node: (typeof found)[number]) => boolean,
  ) => {
    const some = found.filter(of)
    if (some.length > 0) findings.push(level(`${named(some)} ${what}`, next))
  }

  if (waiter.delivery === 'image-volume') {
    const next = 'set waiter.delivery: init-container in the configuration'
    const young = `has a kubelet before ${imageVolumes.kubelet.join('.')}, which mounts no image volumes unless it's told to`
    complain(problem, next, young, ({ kubelet }) => isOlder(kubelet, imageVolumes.kubelet))
    for (const [name, least] of Object.entries(imageVolumes.runtimes)) {
      const what = `has a ${name} before ${least.join('.')}, which mounts no image volumes`
      complain(problem, next, what, ({ runtime, runtimeVersion }) => runtime === name && isOlder(runtimeVersion, least))
    }
    const what = 'has a runtime of which it is not known whether it mounts image volumes'
    complain(warning, next, what, ({ runtime }) => !Object.hasOwn(imageVolumes.runtimes, runtime))
  }
  const gates = new Set([defaults.gate, ...rules.rules.flatMap(({ gate }) => gate ?? [])])
  const version = kubernetesVersion && ([kubernetesVersion.major, kubernetesVersion.minor] as const)
  const auto = gates.has('auto') && version !== undefined && !isOlder(version.join('.'), [1, 29])
  if (gates.has('native') || auto) {
    const what = 'has a kubelet before 1.29, for which a native sidecar is an init container that never ends'
    const next = 'set gate: hook in the configuration, or upgrade the nodes'
    complain(problem, next, what, ({ kubelet }) => isOlder(kubelet, [1, 29]))
  }
  if (version !== undefined) {
    const next = 'set kubernetesVersion to that of the oldest node: gate: auto goes by it'
    const what = `is older than the configuration's kubernetesVersion, ${version.join('.')}`
    complain(warning, next, what, ({ kubelet }) => isOlder(kubelet, version))
  }
  if (findings.length > 0) return findings
  const versions = [...new Set(found.map(({ kubelet }) => kubelet))].sort().join(', ')
  return [ok(`${found.length} with kubelets ${versions}: fit for the delivery ${waiter.delivery}`)]
}

/** Some of them by name: a cluster has thousands. */
function named(some: readonly { name: string }[]): string {
  const [first, ...others] = some.map(({ name }) => name)
  return others.length === 0 ? `node ${first}` : `each of ${some.length} nodes (${first} and others)`
}
