import type { V1MutatingWebhookConfiguration } from '@kubernetes/client-node'
import { objectNames, selectorOf } from '../kubernetes/names.ts'
import type { Objects, Reference } from '../kubernetes/objects.ts'
import { explained, label, type Manifest } from './apply.ts'
import { labelled } from './installed.ts'
import { until, type Waiting } from './ready.ts'

interface Choices {
  readonly keepNamespace: boolean
  /** Also the definitions of our kinds, and with them all objects of these kinds. */
  readonly definitions: boolean
}

/** What is installed. */
interface Installed {
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

/** What `uninstall` does, in this order: first the webhook configurations, then the pods, the namespace last. */
type Step =
  | { readonly kind: 'remove'; readonly reference: Reference }
  /** Waits until they have ended. */
  | { readonly kind: 'pods' }
  | { readonly kind: 'stays'; readonly reference: Reference }

function stepsOf({ namespace, found }: Installed, { keepNamespace, definitions }: Choices): readonly Step[] {
  const remove = (reference: Reference): Step => ({ kind: 'remove', reference })
  const isHome = ({ kind, metadata }: Manifest) => kind === 'Namespace' && metadata.name === namespace
  const goes = !keepNamespace && found.some(isHome)
  const objects = found.filter((each) => !isWebhook(each) && !isDefinition(each) && each.kind !== 'Namespace')
  // Created by certs and rollouts, which are gone by then.
  const made = [
    ['v1', 'Secret', objectNames.secret],
    ['coordination.k8s.io/v1', 'Lease', objectNames.lease],
    ['coordination.k8s.io/v1', 'Lease', objectNames.rollouts],
  ] as const
  const left = made.map(([apiVersion, kind, name]) => remove({ apiVersion, kind, metadata: { name, namespace } }))
  return [
    ...found.filter(isWebhook).map(remove),
    // What is in the namespace goes with it.
    ...objects.filter(({ metadata }) => metadata.namespace === undefined || !goes).map(remove),
    ...(goes ? [] : [{ kind: 'pods' } as const, ...left]),
    ...found.filter((each) => each.kind === 'Namespace' && (goes || !isHome(each))).map(remove),
    ...found
      .filter(isDefinition)
      .map((each) => (definitions ? remove(each) : ({ kind: 'stays', reference: each } as const))),
  ]
}

/** What `uninstall` would remove, a line for each. @throws ClusterError */
export async function rehearse(installed: Installed, { objects, ...choices }: Choices & Pick<Waiting, 'objects'>) {
  const lines: string[] = []
  for (const step of stepsOf(installed, choices)) {
    if (step.kind === 'pods') continue
    const { reference, kind } = step
    if (kind === 'stays') lines.push(`keep    ${label(reference)}, with the objects of its kind; --crds removes them`)
    else if ((await objects.read(reference)) !== undefined) {
      const all = reference.kind === 'Namespace' ? ', with all that is in it' : ''
      lines.push(`remove  ${label(reference)}${all}`)
    }
  }
  return lines
}

/**
 * Removes an installation. Missing objects are no failure.
 * @throws ExpectedError
 */
export async function uninstall(installed: Installed, removal: Choices & Waiting): Promise<void> {
  const { objects, progress } = removal
  const { namespace } = installed
  for (const step of stepsOf(installed, removal)) {
    const { kind } = step
    switch (kind) {
      case 'remove': {
        const { reference } = step
        const there = await objects.remove(reference).catch(explained(reference))
        if (!there) break
        await until(label(reference), removal, async () => {
          const done = (await objects.read(reference)) === undefined
          return { done, state: done ? 'removed' : 'ending' }
        })
        break
      }
      case 'pods':
        await until('pods', removal, async () => {
          const left = await objects.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace, labelSelector: selectorOf() })
          return { done: left.length === 0, state: left.length === 0 ? 'ended' : `${left.length} ending` }
        })
        break
      case 'stays':
        progress.done(label(step.reference), 'stays, with the objects of its kind; --crds removes them')
        break
      default:
        kind satisfies never
    }
  }
}
