import type { V1Deployment, V1Pod, V1SubjectAccessReview } from '@kubernetes/client-node'
import { objectNames, selectorOf } from '../../kubernetes/names.ts'
import type { Objects } from '../../kubernetes/objects.ts'
import type { Finding } from '../findings.ts'
import type { Check, Site } from '../site.ts'
import { idleness } from './replicas.ts'

/** Whether the exporter of starts, where there is one, counts them: each once, and with the rights it needs. */
export const exporter = {
  name: 'counted starts',
  async run({ objects, namespace }: Pick<Site, 'objects' | 'namespace'>) {
    const named = (name: string) =>
      objects.read<V1Deployment>({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace } })
    const deployment = await named(objectNames.starts)
    if (!deployment) return []
    const [server, pods, lacking] = await Promise.all([
      named(objectNames.deployment),
      objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, labelSelector: selectorOf('starts') }),
      lackingRights(objects, namespace, deployment),
    ])
    return judgeExporter({ deployment, server, pods, lacking }, namespace)
  },
} satisfies Check

export function judgeExporter(
  {
    deployment,
    server,
    pods,
    lacking,
  }: {
    readonly deployment: V1Deployment
    readonly server: V1Deployment | undefined
    readonly pods: readonly V1Pod[]
    readonly lacking: readonly string[]
  },
  namespace: string,
): readonly Finding[] {
  const wanted = deployment.spec?.replicas ?? 1
  const [image, ours] = [imageOf(deployment), imageOf(server)]
  const idle = idleness(pods)
  const findings: Finding[] = []
  if (idle) findings.push({ kind: 'exporter-idle', ...idle, namespace })
  if (wanted > 1) findings.push({ kind: 'exporter-twice', namespace, wanted })
  if (ours !== undefined && image !== ours) findings.push({ kind: 'exporter-differs', image: image ?? '', ours })
  if (lacking.length > 0) findings.push({ kind: 'exporter-forbidden', names: lacking })
  return findings.length > 0 ? findings : [{ kind: 'exporter-counts' }]
}

const imageOf = (deployment: V1Deployment | undefined) => deployment?.spec?.template.spec?.containers[0]?.image

/** What its account may not do of what it needs: `watch pods`. */
async function lackingRights(objects: Objects, namespace: string, { spec }: V1Deployment): Promise<readonly string[]> {
  const user = `system:serviceaccount:${namespace}:${spec?.template.spec?.serviceAccountName ?? 'default'}`
  const asked = ['pods', 'events'].flatMap((resource) => ['list', 'watch'].map((verb) => ({ verb, resource })))
  const answers = await Promise.all(
    asked.map(async (resourceAttributes) => {
      const { status } = await objects.create<V1SubjectAccessReview>({
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user, groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`], resourceAttributes },
      })
      return status?.allowed === true
    }),
  )
  return asked.filter((_, index) => !answers[index]).map(({ verb, resource }) => `${verb} ${resource}`)
}
