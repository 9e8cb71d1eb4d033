import type { V1Node, VersionInfo } from '@kubernetes/client-node'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { ExpectedError } from '../terminal/command.ts'
import { isOlder } from './nodes.ts'

export type Connected = Awaited<ReturnType<typeof connect>>

/** The cluster of a kubeconfig, and its names for people. @throws ClusterError if there is no usable kubeconfig */
export async function connect(context: string | undefined) {
  const { kubeconfig } = await loadKubeconfig(context)
  const { connection } = await import('../kubernetes/connection.ts')
  const { objects } = await import('../kubernetes/objects.ts')
  const { rawCalls } = await import('../kubernetes/raw.ts')
  const configuration = connection(kubeconfig, { timeout: 30_000 })
  return {
    objects: objects(configuration),
    context: kubeconfig.getCurrentContext(),
    server: kubeconfig.getCurrentCluster()?.server ?? '',
    /** The API server's version, `v1.36.3`. */
    version: async () => (await rawCalls(configuration).get<VersionInfo>('/version')).gitVersion,
  }
}

/** The API server's version and the Linux nodes. @throws ExpectedError if the cluster is too old */
export async function survey(connected: Connected): Promise<{ version: string; nodes: V1Node[] }> {
  const version = await connected.version()
  if (isOlder(version, [1, 30])) {
    throw new ExpectedError(
      'unfit-cluster',
      `the cluster is ${version}; sidecar-first needs Kubernetes 1.30 or newer, whose API servers know matchConditions`,
    )
  }
  const nodes = await connected.objects.list<V1Node>({ apiVersion: 'v1', kind: 'Node' })
  return { version, nodes: nodes.filter(({ status }) => status?.nodeInfo?.operatingSystem !== 'windows') }
}
