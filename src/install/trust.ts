import type { V1MutatingWebhookConfiguration } from '@kubernetes/client-node'
import { objectKeys } from '../kubernetes/names.ts'
import type { ClusterObject } from '../kubernetes/objects.ts'
import { type Applying, explained, label, type Manifest } from './apply.ts'
import { until } from './ready.ts'

type Configuration = Pick<V1MutatingWebhookConfiguration, 'metadata' | 'webhooks'>

/**
 * Has the webhooks of a configuration that the cluster doesn't have yet made without rules, so that they aren't called, and waits until they have
 * a caBundle. Those that are there stay as they are meanwhile.
 * @throws ExpectedError with the last state
 */
export async function awaitTrust(
  wanted: Manifest,
  before: ClusterObject | undefined,
  applying: Applying,
): Promise<void> {
  const { objects, force } = applying
  const former = (before as Configuration | undefined)?.webhooks ?? []
  const there = new Set(former.map(({ name }) => name))
  const fresh = ((wanted as Configuration).webhooks ?? []).filter(({ name }) => !there.has(name))
  if (fresh.length === 0) return
  const asleep = fresh.map(({ rules, ...rest }) => rest)
  // The caBundle is whoever's who keeps it.
  const kept = former.map(({ clientConfig: { caBundle, ...clientConfig }, ...rest }) => ({ ...rest, clientConfig }))
  const metadata = before === undefined ? wanted.metadata : { ...wanted.metadata, annotations: annotationsOf(before) }
  const first = { ...wanted, metadata, webhooks: [...kept, ...asleep] }
  await objects.apply(first, { force }).catch(explained(wanted))
  const isTheirs = wanted.metadata.annotations?.[objectKeys.certManager] !== undefined
  const keeper = isTheirs ? "cert-manager's cainjector" : 'certs'
  await until(label(wanted), applying, async () => {
    const { webhooks = [] } = (await objects.read<Manifest & Configuration>(wanted)) ?? {}
    const without = webhooks.filter(({ clientConfig }) => !clientConfig.caBundle).length
    return { done: without === 0, state: without === 0 ? 'has its caBundle' : `waits for its caBundle from ${keeper}` }
  })
}

const annotationsOf = ({ metadata }: ClusterObject) => metadata?.annotations ?? {}
