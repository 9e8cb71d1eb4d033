import type { Cluster, StoredConfiguration, StoredSecret } from '../../certs/cluster.ts'
import type { Report } from '../../src/kubernetes/event.ts'
import { ClusterError } from '../../src/kubernetes/failure.ts'

/** A cluster in memory, a fake: it stores what is written, with versions, and lets a test undo it. */
export class StoredCluster implements Cluster {
  secret: StoredSecret | undefined
  readonly reports: Report[] = []
  /** The names of the configurations, one for each write. */
  readonly writes: string[] = []
  /** Called after each write of a caBundle. */
  afterWrite: (name: string) => void = () => {}
  readonly #configurations = new Map<string, StoredConfiguration>()
  #change = new AbortController()
  #version = 0

  constructor() {
    for (const [kind, name] of [
      ['mutating', 'zz-sidecar-first'],
      ['validating', 'sidecar-first'],
    ] as const) {
      this.#configurations.set(name, { kind, name, version: this.#next(), bundles: [''] })
    }
  }

  bundle(name: string): string {
    return this.#configurations.get(name)?.bundles[0] ?? ''
  }

  setBundle(name: string, bundle: string) {
    const found = this.#configurations.get(name)
    if (found) this.#configurations.set(name, { ...found, version: this.#next(), bundles: [bundle] })
  }

  reasons(): string[] {
    return this.reports.map(({ reason }) => reason)
  }

  now = () => Date.now()
  readSecret = async () => this.secret
  readConfigurations = async () => [...this.#configurations.values()]
  readEndpoints: Cluster['readEndpoints'] = async () => undefined

  async createSecret(data: Readonly<Record<string, string>>) {
    if (this.secret) throw new ClusterError('conflict', 'it exists already')
    this.secret = { version: this.#next(), data, annotations: {} }
  }

  async updateSecret(version: string, { data, annotations = {} }: Parameters<Cluster['updateSecret']>[1]) {
    if (this.secret?.version !== version) throw new ClusterError('conflict', 'it has changed')
    const { secret } = this
    this.secret = {
      version: this.#next(),
      data: without({ ...secret.data, ...data }),
      annotations: without({ ...secret.annotations, ...annotations }),
    }
  }

  async writeBundle({ name, version }: StoredConfiguration, bundle: string) {
    if (this.#configurations.get(name)?.version !== version) throw new ClusterError('conflict', 'it has changed')
    this.writes.push(name)
    this.setBundle(name, bundle)
    this.afterWrite(name)
  }

  async report(report: Report) {
    this.reports.push(report)
  }

  /** Aborts at the next change, as a watch would tell it. */
  changed = () => this.#change.signal

  #next(): string {
    const change = this.#change
    this.#change = new AbortController()
    change.abort()
    return String(++this.#version)
  }
}

const without = (entries: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(entries).filter((entry): entry is [string, string] => entry[1] !== null))
