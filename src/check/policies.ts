import type { V1ValidatingAdmissionPolicyBinding } from '@kubernetes/client-node'
import type { ClusterObject, Objects } from '../kubernetes/objects.ts'
import { type Finding, ok, warning } from './finding.ts'
import type { Check, Site } from './site.ts'

const admission = 'admissionregistration.k8s.io/v1'
/** Who has a right that RBAC can't limit to a field, and whose installation brings the policy that does. */
const narrowed = [
  { name: 'sidecar-first-certs', to: 'caBundle', next: 'sidecar-first install --apply, with your flags' },
  {
    name: 'sidecar-first-rollouts',
    to: "a sidecar's image",
    next: 'sidecar-first install --apply --rollouts, with your flags',
  },
] as const

/** Whether the policies are there without which the token of one of these is an administrator's. */
export const policies = {
  name: 'policies',
  async run({ objects, namespace }: Pick<Site, 'objects' | 'namespace'>) {
    const judged = await Promise.all(
      narrowed.map(async ({ name, to, next }): Promise<readonly Finding[]> => {
        const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }
        if ((await objects.read(account)) === undefined) return []
        if (await isEnforced(objects, name)) return [ok(`${name} may patch nothing but ${to}`)]
        return [
          warning(`no policy limits what ${name} may patch to ${to}: its token is as good as an administrator's`, next),
        ]
      }),
    )
    const findings = judged.flat()
    return findings.length > 0 ? findings : [ok('nothing runs here that needs one')]
  },
} satisfies Check

async function isEnforced(objects: Objects, name: string): Promise<boolean> {
  const named = (kind: string) => ({ apiVersion: admission, kind, metadata: { name } })
  const [policy, binding] = await Promise.all([
    objects.read<ClusterObject>(named('ValidatingAdmissionPolicy')),
    objects.read<V1ValidatingAdmissionPolicyBinding>(named('ValidatingAdmissionPolicyBinding')),
  ])
  return policy !== undefined && binding?.spec?.validationActions?.includes('Deny') === true
}
