import type { V1ValidatingAdmissionPolicyBinding } from '@kubernetes/client-node'
import { objectNames, registration } from '../../kubernetes/names.ts'
import type { ClusterObject, Objects } from '../../kubernetes/objects.ts'
import type { Finding } from '../findings.ts'
import type { Check, Site } from '../site.ts'

/** Accounts with a right that RBAC can't limit to a field; what installs them also installs the policy that does. */
const narrowed = [
  { account: objectNames.certs, by: [objectNames.certs, objectNames.certsSecret], to: 'caBundle', flags: '' },
  { account: objectNames.rollouts, by: [objectNames.rollouts], to: "a sidecar's image", flags: ' --rollouts' },
] as const

/** Whether their policies exist: without one, the account's token is as powerful as an administrator's. */
export const policies = {
  name: 'policies',
  async run({ objects, namespace }: Pick<Site, 'objects' | 'namespace'>) {
    const judged = await Promise.all(
      narrowed.map(async ({ account, by, to, flags }): Promise<readonly Finding[]> => {
        const reference = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account, namespace } }
        if ((await objects.read(reference)) === undefined) return []
        const enforced = (await Promise.all(by.map((name) => isEnforced(objects, name)))).every(Boolean)
        return [enforced ? { kind: 'policy-in-force', account, to } : { kind: 'policy-missing', account, to, flags }]
      }),
    )
    const findings = judged.flat()
    return findings.length > 0 ? findings : [{ kind: 'no-policy-needed' } as const]
  },
} satisfies Check

async function isEnforced(objects: Objects, name: string): Promise<boolean> {
  const named = (kind: string) => ({ apiVersion: registration, kind, metadata: { name } })
  const [policy, binding] = await Promise.all([
    objects.read<ClusterObject>(named('ValidatingAdmissionPolicy')),
    objects.read<V1ValidatingAdmissionPolicyBinding>(named('ValidatingAdmissionPolicyBinding')),
  ])
  return policy !== undefined && binding?.spec?.validationActions?.includes('Deny') === true
}
