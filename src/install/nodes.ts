import type { V1NodeSystemInfo } from '@kubernetes/client-node'
import type { Delivery } from '../admission/words/choices.ts'
import { oldestNode } from '../configuration/read.ts'

/** What a node reports about itself. */
export type NodeInfo = Pick<V1NodeSystemInfo, 'kubeletVersion' | 'containerRuntimeVersion' | 'operatingSystem'>

/** What the cluster can do, which depends on its oldest Linux node. */
export type Ability = ReturnType<typeof abilityOf>

type Version = readonly [major: number, minor: number]

/** Image volumes are on by default in kubelets from 1.35; the runtimes mount them from these versions on (Kubernetes' blog, 1.31 and 1.33). */
export const imageVolumes: { readonly kubelet: Version; readonly runtimes: Readonly<Record<string, Version>> } = {
  kubelet: [1, 35],
  runtimes: { containerd: [2, 1], 'cri-o': [1, 31] },
}

/** @param server the API server's version: no kubelet is newer, and it decides if there are no nodes yet */
export function abilityOf(server: string, nodes: readonly NodeInfo[]) {
  const linux = nodes.filter(({ operatingSystem }) => operatingSystem !== 'windows')
  const versions = [server, ...linux.map(({ kubeletVersion }) => kubeletVersion)].map(parseVersion)
  const [major, minor] = versions.reduce((oldest, version) => (isBefore(version, oldest) ? version : oldest))
  const found = `${major}.${minor}`
  // A virtual node may report anything. What is that old has none of what depends on the version.
  const kubernetesVersion = isBefore([major, minor], oldestNode) ? oldestNode.join('.') : found
  const delivered = (delivery: Delivery, because: string) => ({ kubernetesVersion, delivery, because })
  const copied = (because: string) => delivered('init-container', because)
  if (linux.length === 0) return copied('there are no nodes yet')
  if (isBefore([major, minor], imageVolumes.kubelet)) return copied(`the oldest kubelet is ${found}`)
  const old = linux.find(({ containerRuntimeVersion }) => {
    const [name = '', version = ''] = containerRuntimeVersion.split('://')
    const least = imageVolumes.runtimes[name]
    return least === undefined || isBefore(parseVersion(version), least)
  })
  if (old !== undefined) return copied(`a node runs ${old.containerRuntimeVersion.replace('://', ' ')}`)
  return delivered('image-volume', 'every node can mount an image')
}

/** Whether a version, such as `v1.29.3-eks-1`, is older than another. */
export const isOlder = (version: string, than: Version): boolean => isBefore(parseVersion(version), than)

function isBefore([major, minor]: Version, [otherMajor, otherMinor]: Version): boolean {
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}

/** A version that can't be read counts as older than all others. */
function parseVersion(text: string): Version {
  const [, major = 0, minor = 0] = /^v?(\d+)\.(\d+)/.exec(text) ?? []
  return [Number(major), Number(minor)]
}
