import type { V1Condition } from '@kubernetes/client-node'
import type { ClusterObject, Objects } from '../kubernetes/objects.ts'
import type { Applying, Manifest } from './apply.ts'
import { until } from './ready.ts'

const group = 'cert-manager.io/'
const isIts = ({ apiVersion }: Pick<Manifest, 'apiVersion'>): boolean => apiVersion.startsWith(group)

/** Those among an installation's objects that cert-manager makes certificates from, in the order in which it needs them. */
export const certificatesIn = (manifests: readonly Manifest[]): readonly Manifest[] =>
  manifests.filter((each) => isIts(each) && each.kind === 'Certificate')

/**
 * Waits until the API server takes one of cert-manager's objects: its kinds are there before its webhook answers, which until then has them refused.
 * What else they are refused for is told when they are applied.
 * @throws ExpectedError with what is in the way
 */
export async function awaitItsWebhook(manifests: readonly Manifest[], waiting: Applying): Promise<void> {
  const first = manifests.find(isIts)
  if (first === undefined) return
  const { objects, force } = waiting
  if ((await unanswered(objects, first, force)) === undefined) return
  await until("cert-manager's webhook", waiting, async () => {
    const state = await unanswered(objects, first, force)
    return { done: state === undefined, state: state ?? 'answers' }
  })
}

/** Undefined: somebody has answered, whatever. */
async function unanswered(objects: Objects, object: Manifest, force: boolean): Promise<string | undefined> {
  try {
    await objects.apply(object, { dryRun: true, force })
  } catch (error) {
    const said = error instanceof Error ? error.message.replace(/\s+/g, ' ') : ''
    if (/failed calling webhook/.test(said)) return said
  }
  return undefined
}

interface Certificate extends ClusterObject {
  readonly status?: { readonly conditions?: readonly Partial<V1Condition>[] }
}

/** What a replica waits for whose Secret isn't there: cert-manager says it of the certificates, the CA's first. */
export function certificateState(certificates: readonly (Certificate | undefined)[]): string {
  const waits = 'it waits for the certificate from cert-manager'
  for (const certificate of certificates) {
    const name = `certificate/${certificate?.metadata?.name}`
    const ready = certificate?.status?.conditions?.find(({ type }) => type === 'Ready')
    if (certificate === undefined || ready?.status === 'True') continue
    if (ready === undefined) return `${waits}: ${name} has no condition: does cert-manager run?`
    return [waits, name, ready.reason, ready.message].filter(Boolean).join(': ')
  }
  return waits
}
