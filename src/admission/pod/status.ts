import { keys } from '../words/keys.ts'

/** What the annotation `sidecar-first.dev/status` says of how a pod was patched, by whichever version; anyone may have written it. */
interface Status {
  readonly version?: unknown
  readonly gate?: unknown
  readonly tiers?: unknown
  readonly lock?: unknown
}

export function readStatus(annotation: unknown): Status {
  if (typeof annotation !== 'string') return {}
  try {
    const value: unknown = JSON.parse(annotation)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** Whether another version patched the pod, which may write details in another way. */
export function isOfAnother(version: string, annotations: ReadonlyMap<string, unknown>): boolean {
  const status = readStatus(annotations.get(keys.status))
  return typeof status.version === 'string' && status.version !== version
}
