import { randomBytes } from 'node:crypto'
import type { ClusterObject, Reference } from '../kubernetes/objects.ts'
import { type Applying, applyObject, explained, label, type Manifest } from './apply.ts'
import { isCustomised } from './configuration.ts'
import { InstallError } from './error.ts'
import { labelled, leftovers } from './installed.ts'
import { awaitPatch, awaitRollout } from './ready.ts'

export interface Installation extends Applying {
  readonly manifests: readonly Manifest[]
  readonly namespace: string
  readonly version: string
  /** Whether the configuration comes from a file of the user's. */
  readonly configured: boolean
  /** `mode: observe`: no pod is patched. */
  readonly observes: boolean
  /** Where the trial pod is tried out; a namespace made for it where it is left out. */
  readonly trialNamespace: string | undefined
  readonly signal: AbortSignal
}

/**
 * Applies everything: first what the pods need, then the pods; when they are ready, what calls them. Ends when a pod has been patched.
 * @throws InstallError
 */
export async function apply(installation: Installation): Promise<void> {
  const { manifests, objects, progress, dryRun } = installation
  await refuseDamage(installation)
  const webhooks = manifests.filter(({ kind }) => kind.endsWith('WebhookConfiguration'))
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
  const others = manifests.filter((each) => !webhooks.includes(each) && !deployments.includes(each))
  const first = (kind: string) => others.filter((each) => each.kind === kind)
  const foundations = [...first('Namespace'), ...first('CustomResourceDefinition')]
  for (const each of [...foundations, ...others.filter((other) => !foundations.includes(other)), ...deployments]) {
    await applyObject(each, installation)
  }
  if (!dryRun) for (const each of deployments) await awaitRollout(each, installation)
  for (const each of webhooks) await applyObject(each, installation)
  if (!dryRun && !installation.observes) await tryOut(installation)
  for (const each of leftovers(await labelled(objects), manifests)) {
    if (!dryRun) await objects.remove(each)
    progress.done(label(each), dryRun ? 'removed (dry run)' : 'removed: an earlier installation left it')
  }
}

interface Labelled extends ClusterObject {
  readonly data?: Record<string, string>
}

/** What an installation must not do by accident: settle among others' pods, go back to an older version, drop a configuration. */
async function refuseDamage({ objects, namespace, version, configured, force }: Installation): Promise<void> {
  if (force) return
  const read = (apiVersion: string, kind: string, name: string, inNamespace?: string) => {
    const reference: Reference = {
      apiVersion,
      kind,
      metadata: { name, ...(inNamespace ? { namespace: inNamespace } : {}) },
    }
    return objects.read<Labelled>(reference).catch((error) => {
      throw explained(error, reference)
    })
  }
  const there = await read('v1', 'Namespace', namespace)
  if (there === undefined) return
  if (there.metadata?.labels?.['app.kubernetes.io/name'] !== 'sidecar-first') {
    const pods = await objects.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace })
    if (pods.length > 0) {
      throw new InstallError(
        `the namespace ${namespace} has pods of others, and would be made sidecar-first's own; name another with --namespace`,
      )
    }
  }
  const serve = await read('apps/v1', 'Deployment', 'sidecar-first', namespace)
  const installed = serve?.metadata?.labels?.['app.kubernetes.io/version']
  if (installed !== undefined && isNewer(installed, version)) {
    throw new InstallError(
      `sidecar-first ${installed} is installed, and this is ${version}; use the newer one, or go back to this with --force`,
    )
  }
  const configMap = await read('v1', 'ConfigMap', 'sidecar-first', namespace)
  if (!configured && isCustomised(configMap?.data?.['config.yaml'] ?? '')) {
    throw new InstallError(
      "the cluster's configuration says more than the standard one; name its file with --config, or have it replaced with --force",
    )
  }
}

/** By major, minor and patch. */
export function isNewer(version: string, than: string): boolean {
  const numbers = (text: string) => text.split(/[.+-]/).slice(0, 3).map(Number)
  const other = numbers(than)
  for (const [index, number] of numbers(version).entries()) {
    if (number !== other[index]) return number > (other[index] ?? 0)
  }
  return false
}

/** Has a pod patched, in a dry run. */
async function tryOut(installation: Installation): Promise<void> {
  const { objects, trialNamespace } = installation
  if (trialNamespace !== undefined) return await awaitPatch(trialNamespace, installation)
  const labels = { 'app.kubernetes.io/name': 'sidecar-first', 'sidecar-first.dev/injection': 'enabled' }
  const name = `sidecar-first-trial-${randomBytes(3).toString('hex')}`
  const made = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
  await objects.apply(made).catch((error) => {
    throw explained(error, made)
  })
  try {
    await awaitPatch(name, installation)
  } finally {
    await objects.remove(made)
  }
}
