import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type createConfiguration, type V1Lease, V1MicroTime } from '@kubernetes/client-node'
import { versionOf } from './call.ts'
import type { LeaseStore } from './lease.ts'
import { rawCalls } from './raw.ts'

/** A name for this process as a candidate: a restarted one is another. */
export const candidateName = (): string => `${hostname()}-${randomBytes(4).toString('hex')}`

/** A Lease in the cluster. @param now the clock that its times are written by, in ms */
export function leaseStore(
  configuration: ReturnType<typeof createConfiguration>,
  { namespace, name, now }: { namespace: string; name: string; now: () => number },
): LeaseStore {
  const calls = rawCalls(configuration)
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`
  const path = `${leases}/${encodeURIComponent(name)}`
  const spec = (holder: string, duration: number, transitions: number) => ({
    holderIdentity: holder,
    leaseDurationSeconds: Math.max(1, Math.ceil(duration / 1000)),
    leaseTransitions: transitions,
    renewTime: new V1MicroTime(now()),
  })
  return {
    async read() {
      const found = await calls.find<V1Lease>(path)
      return (
        found && {
          version: versionOf(found),
          holder: found.spec?.holderIdentity ?? '',
          transitions: found.spec?.leaseTransitions ?? 0,
          duration: (found.spec?.leaseDurationSeconds ?? 0) * 1000,
        }
      )
    },
    async create(holder, duration) {
      await calls.create(leases, { metadata: { name, namespace }, spec: spec(holder, duration, 0) })
    },
    async update({ version, holder: before, transitions }, { holder, duration }) {
      await calls.replace(path, {
        metadata: { name, namespace, resourceVersion: version },
        spec: spec(holder, duration, before === holder ? transitions : transitions + 1),
      })
    },
  }
}
