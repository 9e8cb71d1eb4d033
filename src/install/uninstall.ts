import type { V1MutatingWebhookConfiguration } from '@kubernetes/client-node'
import { objectNames, selectorOf } from '../kubernetes/names.ts'
import type { Objects, Reference } from '../kubernetes/objects.ts'
import type { Progress } from '../terminal/progress.ts'
import { explained, label, type Manifest } from './apply.ts'
import { labelled } from './installed.ts'
import { until } from './ready.ts'

export interface Removal {
  readonly objects: Objects
  readonly progress: Progress
  readonly keepNamespace: boolean
  /** Also the definitions of our kinds, and with them all objects of these kinds. */
  readonly definitions: boolean
  readonly signal: AbortSignal
}

/** What is installed. */
export interface Installed {
  /** Where it runs, according to its webhook configurations. */
  readonly namespace: string
  readonly found: readonly Manifest[]
}

const isWebhook = ({ kind }: Manifest) => kind.endsWith('WebhookConfiguration')
const isDefinition = ({ kind }: Manifest) => kind === 'CustomResourceDefinition'

/** @param namespace where it runs, if known */
export async function findInstalled(objects: Objects, namespace: string | undefined): Promise<Installed> {
  const all = await labelled(objects)
  const called = (all.filter(isWebhook) as V1MutatingWebhookConfiguration[])
    .flatMap(({ webhooks = [] }) => webhooks)
    .map(({ clientConfig }) => clientConfig.service?.namespace)
  const where = namespace ?? called.find((each) => each !== undefined) ?? objectNames.namespace
  const found = all.filter(({ kind, metadata }) => {
    if (kind === 'Namespace') return metadata.name === where || metadata.name.startsWith(objectNames.trialNamespace)
    return metadata.namespace === undefined || metadata.namespace === where
  })
  return { namespace: where, found }
}

/**
 * Removes an installation: first the webhook configurations, then the pods, the namespace last. Missing objects are no failure.
 * @throws ExpectedError
 */
export async function uninstall({ namespace, found }: Installed, removal: Removal): Promise<void> {
  const { objects, progress, keepNamespace, definitions } = removal
  const remove = async (reference: Reference) => {
    const there = await objects.remove(reference).catch((error) => {
      throw explained(error, reference)
    })
    if (!there) return
    await until(label(reference), removal, async () => {
      const done = (await objects.read(reference)) === undefined
      return { done, state: done ? 'removed' : 'ending' }
    })
  }
  for (const each of found.filter(isWebhook)) await remove(each)
  const goes = !keepNamespace && found.some(({ kind, metadata }) => kind === 'Namespace' && metadata.name === namespace)
  for (const each of found) {
    if (isWebhook(each) || isDefinition(each) || each.kind === 'Namespace') continue
    if (each.metadata.namespace === undefined || !goes) await remove(each)
  }
  if (!goes) {
    await until('pods', removal, async () => {
      const left = await objects.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace, labelSelector: selectorOf() })
      return { done: left.length === 0, state: left.length === 0 ? 'ended' : `${left.length} ending` }
    })
    // Created by certs and rollouts, which are gone now.
    for (const [apiVersion, kind, name] of [
      ['v1', 'Secret', objectNames.secret],
      ['coordination.k8s.io/v1', 'Lease', objectNames.lease],
      ['coordination.k8s.io/v1', 'Lease', objectNames.rollouts],
    ] as const) {
      await remove({ apiVersion, kind, metadata: { name, namespace } })
    }
  }
  for (const each of found) {
    if (each.kind === 'Namespace' && (goes || each.metadata.name !== namespace)) await remove(each)
    if (isDefinition(each)) {
      if (definitions) await remove(each)
      else progress.done(label(each), 'stays, with the objects of its kind; --crds removes them')
    }
  }
}
