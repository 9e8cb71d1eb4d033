import { KubeConfig } from '@kubernetes/client-node'
import { runExporter } from '../../src/starts/exporter.ts'

/** One series as Prometheus would get it. */
export interface Series {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** `sidecar-first starts run` for the whole node, for as long as it isn't disposed of. */
export async function startExporter(): Promise<AsyncDisposable & { scrape(): Promise<readonly Series[]> }> {
  const kubeconfig = new KubeConfig()
  kubeconfig.loadFromDefault()
  const stop = new AbortController()
  const port = Promise.withResolvers<number>()
  const over = runExporter({
    kubeconfig,
    resync: 600_000,
    namespaces: true,
    state: undefined,
    log: { info: (fields) => 'port' in fields && port.resolve(Number(fields.port)), warn() {} },
    signal: stop.signal,
    metricsPort: 0,
  })
  const url = `http://127.0.0.1:${await port.promise}/metrics`
  return {
    async scrape() {
      const text = await (await fetch(url)).text()
      return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
        name,
        labels: Object.fromEntries(
          [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', each = '']) => [key, each]),
        ),
        value: Number(value),
      }))
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await over
    },
  }
}
