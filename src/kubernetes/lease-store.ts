import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { CoordinationV1Api, type createConfiguration, V1MicroTime } from '@kubernetes/client-node'
import { call, versionOf } from './call.ts'
import type { LeaseStore } from './lease.ts'

/** A name for this process as a candidate: a restarted one is another. */
export const candidateName = (): string => `${hostname()}-${randomBytes(4).toString('hex')}`

/** A Lease in the cluster. @param now the clock that its times are written by, in ms */
export function leaseStore(
  configuration: ReturnType<typeof createConfiguration>,
  { namespace, name, now }: { namespace: string; name: string; now: () => number },
): LeaseStore {
  const coordination = new CoordinationV1Api(configuration)
  const spec = (holder: string, duration: number, transitions: number) => ({
    holderIdentity: holder,
    leaseDurationSeconds: Math.max(1, Math.ceil(duration / 1000)),
    leaseTransitions: transitions,
    renewTime: new V1MicroTime(now()),
  })
  return {
    async read() {
      const found = await call(() => coordination.readNamespacedLease({ namespace, name }), { optional: true })
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
      const body = { metadata: { name, namespace }, spec: spec(holder, duration, 0) }
      await call(() => coordination.createNamespacedLease({ namespace, body }))
    },
    async update({ version, holder: before, transitions }, { holder, duration }) {
      const body = {
        metadata: { name, namespace, resourceVersion: version },
        spec: spec(holder, duration, before === holder ? transitions : transitions + 1),
      }
      await call(() => coordination.replaceNamespacedLease({ namespace, name, body }))
    },
  }
}
