import { randomBytes } from 'node:crypto'
import type { V1MutatingWebhookConfiguration } from '@kubernetes/client-node'
import { labelsOf, objectKeys, objectNames } from '../kubernetes/names.ts'
import { ExpectedError } from '../terminal/command.ts'
import { paths, plansAt } from '../webhooks/path.ts'
import { type Applying, applyObject, explained, label, type Manifest, present } from './apply.ts'
import { awaitItsWebhook, certificateState, certificatesIn } from './cert-manager.ts'
import { damageOf, type Intrusion } from './damage.ts'
import { labelled, leftovers } from './installed.ts'
import { awaitEnds, awaitPatch, awaitRollout } from './ready.ts'
import { awaitTrust } from './trust.ts'

interface Installation extends Applying {
  readonly manifests: readonly Manifest[]
  readonly namespace: string
  readonly version: string
  /** Whether the user gave a configuration file. */
  readonly configured: boolean
  readonly mode: Intrusion['mode']
  /** `mode: observe`: no pod is patched. */
  readonly observes: boolean
  /** Where a pod is tried out; by default, in a temporary namespace. */
  readonly trialNamespace: string | undefined
}

/** The Deployments that admission doesn't need. */
const parts: readonly string[] = [objectNames.rollouts, objectNames.starts]
const isPart = ({ kind, metadata }: Manifest) => kind === 'Deployment' && parts.includes(metadata.name)

/**
 * Applies everything: first what the pods need, then the pods, and once those that serve are ready, the webhook configurations. Ends when a
 * pod has been patched.
 * @throws ExpectedError
 */
export async function apply(installation: Installation): Promise<void> {
  const { manifests, objects, progress, namespace, version, configured, mode, dryRun, force } = installation
  const before = await present(manifests, objects)
  if (!force) {
    const pods = await objects.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace })
    const damage = damageOf({ before, pods: pods.length, version, configured, mode })
    if (damage !== undefined) throw new ExpectedError('would-harm', damage)
  }
  const webhooks = manifests.filter(({ kind }) => kind.endsWith('WebhookConfiguration'))
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment')
  const others = manifests.filter((each) => !webhooks.includes(each) && !deployments.includes(each))
  const first = (kind: string) => others.filter((each) => each.kind === kind)
  const foundations = [...first('Namespace'), ...first('CustomResourceDefinition')]
  const made = others.filter((other) => !foundations.includes(other))
  for (const each of foundations) await applyObject(each, before.get(each), installation)
  await awaitItsWebhook(made, installation)
  for (const each of [...made, ...deployments]) await applyObject(each, before.get(each), installation)
  // The server can't start before certs has made its certificate; until then, only the pods of certs tell what is wrong.
  const makers = deployments.filter(({ metadata }) => metadata.name === objectNames.certs)
  const awaited = new Set([...makers, ...deployments.filter((each) => !isPart(each))])
  const certificates = certificatesIn(manifests)
  const why = async () => certificateState(await Promise.all(certificates.map((each) => objects.read(each))))
  const certificate = certificates.length === 0 ? undefined : why
  if (!dryRun) for (const each of awaited) await awaitRollout(each, installation, { certificate })
  // Theirs call whoever answers, and servers of before refuse what they don't know of a lock: it may be there once none of them answers.
  const behind = webhooks.some((each) => {
    const path = plansAt(before.get(each) as V1MutatingWebhookConfiguration)
    return path !== undefined && path !== paths.mutate
  })
  const serving = deployments.find(({ metadata }) => metadata.name === objectNames.deployment)
  if (!dryRun && behind && serving !== undefined) await awaitEnds(serving, installation)
  for (const each of webhooks) {
    if (!dryRun) await awaitTrust(each, before.get(each), installation)
    await applyObject(each, before.get(each), installation)
  }
  if (!dryRun && !installation.observes) await tryOut(installation)
  for (const each of leftovers(await labelled(objects), manifests)) {
    if (!dryRun) await objects.remove(each)
    progress.done(label(each), dryRun ? 'removed (dry run)' : 'removed: an earlier installation left it')
  }
}

/** Waits for what nobody should wait for before pods are patched. @throws ExpectedError */
export async function awaitParts(installation: Installation): Promise<void> {
  for (const each of installation.manifests.filter(isPart)) await awaitRollout(each, installation, { optional: true })
}

/** Has a pod patched, in a dry run. */
async function tryOut(installation: Installation): Promise<void> {
  const { objects, trialNamespace } = installation
  if (trialNamespace !== undefined) return await awaitPatch(trialNamespace, installation)
  const labels = { ...labelsOf(), [objectKeys.injection]: 'enabled' }
  const name = `${objectNames.trialNamespace}${randomBytes(3).toString('hex')}`
  const made = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
  await objects.apply(made).catch(explained(made))
  try {
    await awaitPatch(name, installation)
  } finally {
    await objects.remove(made)
  }
}
