import type { KubeConfig } from '@kubernetes/client-node'
import { ClusterError } from './failure.ts'

/**
 * The kubeconfig as kubectl finds it, or in a pod the service account's; the client is loaded only when it's asked for.
 * @param context the kubeconfig's current one by default
 * @throws ClusterError when there is none, it can't be read, or it has no such context
 */
export async function loadKubeconfig(context?: string) {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const kubeconfig = new KubeConfig()
  try {
    kubeconfig.loadFromDefault()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw unusable(`the kubeconfig can't be read: ${reason}`)
  }
  if (context !== undefined) {
    if (kubeconfig.getContextObject(context) === null) {
      const names = kubeconfig.getContexts().map(({ name }) => name)
      throw unusable(`the kubeconfig has no context ${context}; it has ${names.join(', ') || 'none'}`)
    }
    kubeconfig.setCurrentContext(context)
  }
  const server = kubeconfig.getCurrentCluster()?.server
  // What the client makes up where there is no file.
  if (
    server === undefined ||
    (server === 'http://localhost:8080' && kubeconfig.getCurrentContext() === 'loaded-context')
  ) {
    throw unusable('there is no kubeconfig; set KUBECONFIG to its path, or name a context')
  }
  return { kubeconfig, inside: kubeconfig.getCurrentContext() === 'inClusterContext' }
}

const unusable = (why: string): ClusterError => new ClusterError('other', why, undefined, 'kubeconfig')

/** The context's namespace, as kubectl takes it. */
export const namespaceOf = (kubeconfig: KubeConfig): string =>
  kubeconfig.getContextObject(kubeconfig.getCurrentContext())?.namespace || 'default'
