import type { PolledCheck } from '../check/grammar.ts'
import { imageTexts, matchesImage } from '../intent/glob.ts'
import { type Deadlock, presets } from '../intent/presets.ts'
import { isComparable } from '../intent/rule-index.ts'
import type { Container } from '../pod/pod.ts'

/** What is known of a check that a well-known sidecar's own endpoints answer only when something else is up. */
export function deadlockOf(container: Container, check: PolledCheck | undefined): Deadlock | undefined {
  if (check === undefined || !('path' in check)) return undefined
  const path = withoutQuery(check.path)
  const known = byPath.get(path)?.find(({ preset }) => {
    return (
      preset.containers.includes(container.name) ||
      (isComparable(container.image) && preset.images.some((glob) => matchesImage(glob, imageTexts(container.image))))
    )
  })
  return known?.deadlock
}

export function withoutQuery(path: string): string {
  const query = path.indexOf('?')
  return query < 0 ? path : path.slice(0, query)
}

const byPath = Map.groupBy(
  presets.flatMap((preset) => preset.deadlocks.map((deadlock) => ({ deadlock, preset }))),
  ({ deadlock }) => deadlock.path,
)

/** The check to use instead of one that a probe asks: on the probe's own port, unless an injector has rewritten that. */
export function rightCheck(container: Container, check: PolledCheck): PolledCheck | undefined {
  const instead = deadlockOf(container, check)?.instead
  if (instead?.kind !== 'http' || typeof instead.port !== 'number') return undefined
  const rewritten = !('path' in check) || check.path.startsWith('/app-health/')
  return check.kind === 'http' && !rewritten ? { ...check, path: instead.path } : { ...instead, port: instead.port }
}
