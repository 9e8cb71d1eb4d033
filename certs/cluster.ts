/** The small interface between the certificates and the cluster; `kubernetes.ts` has the real one. */

import type { Report } from '../src/kubernetes/event.ts'

/** The content of a Secret, as text; `version` is its resourceVersion. */
export interface StoredSecret {
  readonly version: string
  readonly data: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** What to write and, with null, to remove. */
export interface Changes {
  readonly data: Readonly<Record<string, string | null>>
  readonly annotations?: Readonly<Record<string, string | null>>
}

/** A mutating or validating webhook configuration; `bundles` are its webhooks' caBundles in their order, as PEM. */
export interface StoredConfiguration {
  readonly kind: 'mutating' | 'validating'
  readonly name: string
  readonly version: string
  readonly bundles: readonly string[]
  /** Whatever else than certs writes them. */
  readonly keptBy?: 'cert-manager'
}

/** A ready endpoint of the webhook's Service. */
export interface Endpoint {
  readonly host: string
  readonly port: number
  readonly pod: string | undefined
}

/** Every call may throw a ClusterError; only a 404 is "not there". A write with an old version is refused as a 'conflict'. */
export interface Cluster {
  /** The API server's clock as of its last answer, in ms: the API server is what judges certificates. */
  now(): number
  readSecret(): Promise<StoredSecret | undefined>
  createSecret(data: Readonly<Record<string, string>>): Promise<void>
  updateSecret(version: string, changes: Changes): Promise<void>
  /** Those of our configurations that exist. */
  readConfigurations(): Promise<StoredConfiguration[]>
  writeBundle(configuration: StoredConfiguration, bundle: string): Promise<void>
  /** undefined when the Service has no EndpointSlice at all: a webhook that is called by URL, say. */
  readEndpoints(): Promise<Endpoint[] | undefined>
  report(report: Report): Promise<void>
}
