import { keys } from '../words/keys.ts'

/** What the annotation `sidecar-first.dev/status` says of how a pod was patched, by whichever version; anyone may have written it. */
interface Status {
  readonly version?: unknown
  readonly gate?: unknown
  readonly tiers?: unknown
  readonly lock?: unknown
}

export function readStatus(annotation: unknown): Status {
  // Ours is an object, and whatever else stands there needn't be parsed: nested lists cost V8 more than their length.
  if (typeof annotation !== 'string' || !annotation.startsWith('{')) return {}
  try {
    return JSON.parse(annotation)
  } catch {
    return {}
  }
}

/** Whether another version patched the pod, which may write details in another way. */
export function isOfAnother(version: string, annotations: ReadonlyMap<string, unknown>): boolean {
  const status = readStatus(annotations.get(keys.status))
  return typeof status.version === 'string' && status.version !== version
}
