import type { V1Node } from '@kubernetes/client-node'
import type { Configuration } from '../admission/configuration.ts'
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

interface Version {
  readonly major: number
  readonly minor: number
}

/** Runtimes that mount image volumes, from which version on. */
const mounting: Readonly<Record<string, Version>> = {
  containerd: { major: 2, minor: 1 },
  'cri-o': { major: 1, minor: 31 },
}

export function judgeNodes(all: readonly V1Node[], configuration: Configuration): readonly Finding[] {
  const found = all.flatMap((node) => {
    const { kubeletVersion = '', containerRuntimeVersion = '', operatingSystem } = node.status?.nodeInfo ?? {}
    if (operatingSystem === 'windows') return []
    const [runtime = '', runtimeVersion = ''] = containerRuntimeVersion.split('://')
    const name = node.metadata?.name ?? ''
    return [{ name, kubelet: versionOf(kubeletVersion), runtime, runtimeVersion: versionOf(runtimeVersion) }]
  })
  const { waiter, kubernetesVersion } = configuration
  const kubeletsBefore = (minor: number) =>
    found.filter(({ kubelet }) => kubelet && before(kubelet, { major: 1, minor }))
  const findings: Finding[] = []
  const complain = (level: typeof warning, some: readonly { name: string }[], what: string, next: string) => {
    if (some.length > 0) findings.push(level(`${named(some)} ${what}`, next))
  }

  if (waiter.delivery === 'image-volume') {
    const other = 'set waiter.delivery: init-container in the configuration'
    complain(
      problem,
      kubeletsBefore(35),
      "has a kubelet before 1.35, which mounts no image volumes unless it's told to",
      other,
    )
    for (const [runtime, least] of Object.entries(mounting)) {
      const old = found.filter(
        (each) => each.runtime === runtime && each.runtimeVersion && before(each.runtimeVersion, least),
      )
      complain(
        problem,
        old,
        `has a ${runtime} before ${least.major}.${least.minor}, which mounts no image volumes`,
        other,
      )
    }
    const unknown = found.filter(({ runtime }) => !Object.hasOwn(mounting, runtime))
    complain(warning, unknown, 'has a runtime of which it is not known whether it mounts image volumes', other)
  }
  const gates = new Set([configuration.defaults.gate, ...configuration.rules.rules.flatMap(({ gate }) => gate ?? [])])
  const auto =
    gates.has('auto') && kubernetesVersion !== undefined && !before(kubernetesVersion, { major: 1, minor: 29 })
  if (gates.has('native') || auto) {
    const what = 'has a kubelet before 1.29, for which a native sidecar is an init container that never ends'
    complain(problem, kubeletsBefore(29), what, 'set gate: hook in the configuration, or upgrade the nodes')
  }
  if (kubernetesVersion !== undefined) {
    const { major, minor } = kubernetesVersion
    const older = found.filter(({ kubelet }) => kubelet && before(kubelet, kubernetesVersion))
    const what = `is older than the configuration's kubernetesVersion, ${major}.${minor}`
    complain(warning, older, what, 'set kubernetesVersion to that of the oldest node: gate: auto goes by it')
  }
  if (findings.length > 0) return findings
  const versions = new Set(found.flatMap(({ kubelet }) => (kubelet ? `${kubelet.major}.${kubelet.minor}` : [])))
  return [
    ok(`${found.length} with kubelets ${[...versions].sort().join(', ')}: fit for the delivery ${waiter.delivery}`),
  ]
}

/** `v1.36.3`, `2.1.0-rc.1`; undefined where it is no version. */
function versionOf(text: string): Version | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(text) ?? []
  return major === undefined || minor === undefined ? undefined : { major: Number(major), minor: Number(minor) }
}

const before = (a: Version, b: Version) => a.major < b.major || (a.major === b.major && a.minor < b.minor)

/** Some of them by name: a cluster has thousands. */
function named(some: readonly { name: string }[]): string {
  const [first, ...others] = some.map(({ name }) => name)
  return others.length === 0 ? `node ${first}` : `each of ${some.length} nodes (${first} and others)`
}
