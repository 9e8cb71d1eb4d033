import type { V1Namespace, V1Pod } from '@kubernetes/client-node'
import { connection } from '../kubernetes/connection.ts'
import { loadKubeconfig, namespaceOf } from '../kubernetes/kubeconfig.ts'
import { rawCalls } from '../kubernetes/raw.ts'

interface Where {
  readonly context: string | undefined
  readonly namespace: string | undefined
}

/** What completion asks of a kubeconfig and its cluster. Anything may fail. */
export interface Cluster {
  contexts(where: Where): Promise<readonly string[]>
  namespaces(where: Where): Promise<readonly string[]>
  /** `pod/NAME`, of one namespace. */
  pods(where: Where): Promise<readonly string[]>
}

/** A page: nobody looks through more. */
const most = 500

async function names<T extends V1Namespace | V1Pod>(path: string, { context }: Where): Promise<readonly string[]> {
  const { kubeconfig } = await loadKubeconfig(context)
  const { items } = await rawCalls(connection(kubeconfig)).get<{ items: readonly T[] }>(`${path}?limit=${most}`)
  return items.map(({ metadata }) => metadata?.name ?? '')
}

export const cluster: Cluster = {
  async contexts() {
    const { kubeconfig } = await loadKubeconfig()
    return kubeconfig.getContexts().map(({ name }) => name)
  },
  namespaces: (where) => names('/api/v1/namespaces', where),
  async pods(where) {
    const { kubeconfig } = await loadKubeconfig(where.context)
    const namespace = encodeURIComponent(where.namespace ?? namespaceOf(kubeconfig))
    return (await names(`/api/v1/namespaces/${namespace}/pods`, where)).map((name) => `pod/${name}`)
  },
}
