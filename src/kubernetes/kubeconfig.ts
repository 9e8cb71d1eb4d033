import type { KubeConfig } from '@kubernetes/client-node'

/**
 * The kubeconfig as kubectl finds it, or in a pod the service account's; the client is loaded only when it's asked for.
 * @param context the kubeconfig's current one by default
 * @throws Error when there is no such context, or the file can't be read
 */
export async function loadKubeconfig(
  context?: string,
): Promise<{ readonly kubeconfig: KubeConfig; readonly inside: boolean }> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const kubeconfig = new KubeConfig()
  kubeconfig.loadFromDefault()
  if (context !== undefined) {
    if (kubeconfig.getContextObject(context) === null) throw new Error(`the kubeconfig has no context ${context}`)
    kubeconfig.setCurrentContext(context)
  }
  return { kubeconfig, inside: kubeconfig.getCurrentContext() === 'inClusterContext' }
}
