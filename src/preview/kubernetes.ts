import type { Configuration } from '../admission/intent/configuration.ts'

/** With which all tests of a cluster run: scripts/node/tools/kubernetes/go.mod. */
const newest = { major: 1, minor: 36 } as const
/** That the chart takes. */
const oldestMinor = 30

/** The versions that a preview can be for, the newest first. */
export const offeredVersions: readonly string[] = Array.from(
  { length: newest.minor - oldestMinor + 1 },
  (_, older) => `${newest.major}.${newest.minor - older}`,
)

/** The Kubernetes that a preview is for; `assumed` where nobody has said one. */
export function underKubernetes({ kubernetesVersion }: Configuration) {
  const { major, minor } = kubernetesVersion ?? newest
  return { version: `${major}.${minor}`, assumed: kubernetesVersion === undefined }
}

/** For what is looked at. What is applied as it comes must not have what only the newest Kubernetes takes: an older one refuses such a pod. */
export const assuming = (configuration: Configuration): Configuration =>
  configuration.kubernetesVersion === undefined ? { ...configuration, kubernetesVersion: newest } : configuration
