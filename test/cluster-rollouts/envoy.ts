import type { RolloutSpec, RolloutStrategy } from '../../rollouts/types.ts'
import type { RawCalls } from '../../src/kubernetes/raw.ts'
import { SECOND, until } from '../until.ts'

/** A pod of the app `shop` with a container `envoy`, which a fake kubelet has run. */
export async function createPod(
  calls: RawCalls,
  namespace: string,
  name: string,
  { image = 'envoy:v1', node = 'node-0', owner }: { image?: string; node?: string; owner?: object } = {},
): Promise<void> {
  await calls.create(`/api/v1/namespaces/${namespace}/pods`, {
    metadata: { name, labels: { app: 'shop' }, ...(owner && { ownerReferences: [owner] }) },
    spec: { nodeName: node, containers: [{ name: 'envoy', image }] },
  })
}

/** `pod-0` and so on, on two nodes; they run. */
export async function createPods(calls: RawCalls, namespace: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await createPod(calls, namespace, `pod-${i}`, { node: `node-${i % 2}` })
  await running(calls, namespace, count)
}

export const running = (calls: RawCalls, namespace: string, count: number): Promise<unknown> =>
  until(`${count} pods that run`, 30 * SECOND, async () => {
    const { items } = await calls.get<{ items: { status?: { phase?: string } }[] }>(
      `/api/v1/namespaces/${namespace}/pods`,
    )
    return items.filter(({ status }) => status?.phase === 'Running').length >= count
  })

export const rolloutsPath = (namespace: string) =>
  `/apis/sidecar-first.dev/v1alpha1/namespaces/${namespace}/sidecarrollouts`

export type RolloutChoice = Partial<Omit<RolloutSpec, 'strategy'>> & {
  name?: string
  strategy?: Partial<RolloutStrategy>
}

/** A rollout of these pods. */
export const rolloutOf = ({ name = 'envoy', strategy = {}, ...spec }: RolloutChoice = {}) => ({
  apiVersion: 'sidecar-first.dev/v1alpha1',
  kind: 'SidecarRollout',
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: 'shop' } },
    container: 'envoy',
    image: 'envoy:v2',
    strategy: { minReadySeconds: 0, bakeSeconds: 0, ...strategy },
    ...spec,
  },
})
