import type {
  KubeConfig,
  V1ConfigMap,
  V1MutatingWebhookConfiguration,
  V1Namespace,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node'
import type { Configuration } from '../admission/intent/configuration.ts'
import { type ReadConfiguration, readConfiguration } from '../configuration/read.ts'
import { ClusterError } from '../kubernetes/failure.ts'
import {
  configurationFile,
  mutatingReference,
  objectNames,
  selectorOf,
  validatingReference,
  workloadsReference,
} from '../kubernetes/names.ts'
import type { Objects } from '../kubernetes/objects.ts'
import type { Obstacle } from './findings/configuration.ts'
import type { Finding } from './findings.ts'

/** One part of an installation that is examined. A new one is a new file and a line in `checks.ts`. */
export interface Check {
  readonly name: string
  /** Effects first, then a pure judgement. @throws ClusterError, Unseen if it can't look */
  run(site: Site): Promise<readonly Finding[]>
}

/** Something can't be judged because something else is missing or can't be read. */
export class Unseen extends Error {
  readonly obstacle: Obstacle
  constructor(obstacle: Obstacle) {
    super(obstacle.kind)
    this.obstacle = obstacle
  }
}

/** Why a check couldn't look. Any other error is thrown on. */
export function obstacleOf(error: unknown): Obstacle {
  if (error instanceof Unseen) return error.obstacle
  if (error instanceof ClusterError) return { kind: 'call-failed', message: error.message }
  throw error
}

/** The cluster that is examined. */
export interface Site {
  readonly objects: Objects
  readonly kubeconfig: KubeConfig
  /** Where the webhook runs. */
  readonly namespace: string
  readonly installed: Installed
  /** The only namespace whose pods are of interest, if there is one. */
  readonly only: string | undefined
  /** The cluster's time, in ms. */
  readonly now: () => number
  /** Whether it may create a pod, to see whether an image can be pulled. */
  readonly pods: boolean
  /** Ends what takes long. */
  readonly signal: AbortSignal
  /** What is being waited for, for a person at a terminal. */
  readonly progress: (what: string) => void
}

/** What several checks look at, read once. What is missing is undefined; what can't be read says why. */
export interface Installed {
  readonly configuration: Seen<{ readonly text: string; readonly read: ReadConfiguration } | undefined>
  readonly mutating: Seen<V1MutatingWebhookConfiguration | undefined>
  readonly validating: Seen<V1ValidatingWebhookConfiguration | undefined>
  readonly workloads: Seen<V1ValidatingWebhookConfiguration | undefined>
  readonly namespaces: Seen<readonly V1Namespace[]>
}

type Seen<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ClusterError }

/**
 * Reads what is installed.
 * @param namespace where it is; otherwise it finds itself, by the webhook configurations, or else by its ConfigMap
 * @param version of this program
 */
export async function readInstalled(
  objects: Objects,
  namespace: string | undefined,
  version: string,
): Promise<{ namespace: string; installed: Installed }> {
  const [mutating, validating, workloads, namespaces] = await Promise.all([
    see(objects.read<V1MutatingWebhookConfiguration>(mutatingReference)),
    see(objects.read<V1ValidatingWebhookConfiguration>(validatingReference)),
    see(objects.read<V1ValidatingWebhookConfiguration>(workloadsReference)),
    see(objects.list<V1Namespace>({ apiVersion: 'v1', kind: 'Namespace' })),
  ])
  const called = [mutating, validating].flatMap((seen) => (seen.ok ? (seen.value?.webhooks ?? []) : []))
  const service = called.flatMap(({ clientConfig }) => clientConfig.service?.namespace ?? [])[0]
  const where = namespace ?? service ?? (await findConfigMap(objects)) ?? objectNames.namespace
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: objectNames.configMap, namespace: where } }
  const map = await see(objects.read<V1ConfigMap>(reference))
  const text = map.ok ? map.value?.data?.[configurationFile] : undefined
  const configuration = map.ok
    ? { ok: true as const, value: text === undefined ? undefined : { text, read: readConfiguration(text, version) } }
    : map
  return { namespace: where, installed: { configuration, mutating, validating, workloads, namespaces } }
}

/** Where an installation without webhook configurations is. Whoever may not look sees the usual place. */
async function findConfigMap(objects: Objects): Promise<string | undefined> {
  const kind = { apiVersion: 'v1', kind: 'ConfigMap' }
  const found = await see(objects.list<V1ConfigMap>(kind, { labelSelector: selectorOf() }))
  const map = found.ok ? found.value.find(({ metadata }) => metadata?.name === objectNames.configMap) : undefined
  return map?.metadata?.namespace
}

async function see<T>(reading: Promise<T>): Promise<Seen<T>> {
  try {
    return { ok: true, value: await reading }
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    return { ok: false, error }
  }
}

/** @throws ClusterError */
export function needed<T>(seen: Seen<T>): T {
  if (!seen.ok) throw seen.error
  return seen.value
}

/** @throws ClusterError, Unseen */
export function validConfiguration({ configuration }: Installed): { configuration: Configuration; text: string } {
  const { text, read } = needed(configuration) ?? {}
  if (text === undefined || !read?.ok) throw new Unseen({ kind: 'no-configuration' })
  return { configuration: read.configuration, text }
}

/** The webhooks that the API server calls. @throws ClusterError, Unseen */
export function liveMutating({ mutating }: Installed): V1MutatingWebhookConfiguration {
  const live = needed(mutating)
  if (!live) throw new Unseen({ kind: 'no-webhooks' })
  return live
}
