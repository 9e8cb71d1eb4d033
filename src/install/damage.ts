import type { V1MutatingWebhookConfiguration } from '@kubernetes/client-node'
import { configurationFile, nameLabel, objectNames } from '../kubernetes/names.ts'
import type { ClusterObject } from '../kubernetes/objects.ts'
import { type InstallMode, modeOf } from '../webhooks/configurations.ts'
import type { Manifest } from './apply.ts'
import { isCustomised, waiterImageOf } from './settings.ts'

/** What an installation is about to change. */
export interface Intrusion {
  /** The existing objects, by what would be applied. */
  readonly before: ReadonlyMap<Manifest, ClusterObject>
  /** How many pods run in the namespace. */
  readonly pods: number
  readonly version: string
  /** Whether the user gave a configuration file. */
  readonly configured: boolean
  /** What would be installed; `said`: a flag says so. */
  readonly mode: { readonly wanted: InstallMode; readonly said: boolean }
}

/**
 * What hardly anybody wants: to install among others' pods, to go back to an older version, to drop a configuration or the waiter's image,
 * to change the mode, to install into a namespace that is being deleted. With what to do instead.
 */
export function damageOf({ before, pods, version, configured, mode }: Intrusion): string | undefined {
  const ours = (kind: string) =>
    [...before].find(([manifest]) => manifest.kind === kind && manifest.metadata.name === objectNames.deployment)
  const there = (kind: string): ClusterObject & { data?: Record<string, string> } => ours(kind)?.[1] ?? {}
  const namespace = [...before].find(([{ kind }]) => kind === 'Namespace')?.[1]
  if (namespace?.metadata?.deletionTimestamp !== undefined) {
    const name = namespace.metadata.name
    return `the namespace ${name} is being deleted; call again when it is gone: kubectl wait --for=delete namespace/${name}`
  }
  if (namespace && pods > 0 && namespace.metadata?.labels?.[nameLabel] !== objectNames.namespace) {
    const name = namespace.metadata?.name
    return `the namespace ${name} has pods of others, and would be made sidecar-first's own; name another with --namespace`
  }
  const installed = there('Deployment').metadata?.labels?.['app.kubernetes.io/version']
  if (installed !== undefined && isNewer(installed, version)) {
    return `sidecar-first ${installed} is installed, and this is ${version}; use the newer one, or go back with --force`
  }
  const text = there('ConfigMap').data?.[configurationFile] ?? ''
  if (!configured && isCustomised(text)) {
    return "the cluster's configuration says more than the standard one; name its file with --config, or replace it with --force"
  }
  const wanted = ours('ConfigMap')?.[0] as (Manifest & { data?: Record<string, string> }) | undefined
  const image = waiterImageOf(text)
  if (image !== undefined && waiterImageOf(wanted?.data?.[configurationFile] ?? '') === undefined) {
    return `pods pull the waiter as ${image}; say --waiter-image ${image} again, or drop it with --force`
  }
  const calls: V1MutatingWebhookConfiguration | undefined = [...before].find(
    ([{ kind }]) => kind === 'MutatingWebhookConfiguration',
  )?.[1]
  const found = modeOf(calls?.webhooks ?? [])
  if (calls && !mode.said && found !== mode.wanted) {
    return `it is installed with --mode ${found}; say so again, or --mode ${mode.wanted} to change it`
  }
  return undefined
}

/** By major, minor and patch. */
function isNewer(version: string, than: string): boolean {
  const release = (text: string) => text.split(/[+-]/, 1).join()
  return release(version).localeCompare(release(than), 'en', { numeric: true }) > 0
}
