import { parseDuration, parseLockRestarts } from '../check/duration.ts'
import type { Hook } from '../pod/pod.ts'
import type { LockRestarts } from '../words/choices.ts'
import { keyOfScript } from './shell.ts'
import { unwrap } from './unwrap.ts'
import { defaultLockRestarts, runsWaiter } from './waiter.ts'

/** What a hook of ours waits for, read from the hook itself. */
export interface Polls {
  /** In the order in which it was written; the same container can be asked twice. */
  readonly checks: readonly Poll[]
  /** It first runs a hook that was there before, which takes its own time. */
  readonly afterAnother: boolean
  /** The key in the lock's file that it writes; with one, its end proves nothing. */
  readonly lock: string | undefined
  /** How long a later start waits, where it asks for a lease on that file; a node, or a waiter of before, may have none. */
  readonly lease: LockRestarts | undefined
}

interface Poll {
  readonly container: string
  /** It gives up no sooner than this, in ms. */
  readonly timeout: number
  readonly onTimeout: 'fail' | 'continue'
}

/** Undefined for a hook that isn't ours, or that nobody can read. */
export function pollsOf(hook: Hook | undefined): Polls | undefined {
  const unwrapped = unwrap(hook)
  if (!unwrapped?.ours || hook?.kind !== 'exec') return undefined
  const { original, waitsFor } = unwrapped
  const { checks, lock, lease } = runsWaiter(hook) ? fromSpec(hook.command[2] ?? '') : fromShell(hook.command)
  const known = new Map(checks.map((each) => [each.container, each]))
  return {
    checks: waitsFor.map((container) => known.get(container) ?? { container, timeout: 0, onTimeout: 'continue' }),
    afterAnother: original !== undefined,
    lock,
    lease,
  }
}

type Found = Pick<Polls, 'checks' | 'lock' | 'lease'>

/** `unwrap` has parsed it before. */
function fromSpec(text: string): Found {
  const spec = JSON.parse(text)
  const checks: readonly Partial<Record<string, unknown>>[] = Array.isArray(spec.checks) ? spec.checks : []
  const { key, handOver, lease, restarts } = typeof spec.lock === 'object' && spec.lock !== null ? spec.lock : {}
  return {
    checks: checks.flatMap((each) => {
      const { container, timeout, onTimeout } = each ?? {}
      if (typeof container !== 'string') return []
      const parsed = parseDuration(typeof timeout === 'string' ? timeout : '')
      return [poll(container, parsed.ok ? parsed.value : 0, onTimeout)]
    }),
    lock: typeof key === 'string' ? key : undefined,
    lease: handOver === undefined || lease !== undefined ? undefined : restartsOf(restarts),
  }
}

function restartsOf(text: unknown): LockRestarts {
  const read = typeof text === 'string' ? parseLockRestarts(text) : undefined
  return read?.ok ? read.value : defaultLockRestarts
}

/** Its groups are those of `shellHook`; it counts whole seconds by the clock, so up to one is missing. */
function fromShell(command: readonly string[]): Found {
  const groups = command.slice(7 + (Number(command[6]) || 0))
  const checks: Poll[] = []
  for (let at = 0; at < groups.length; at += 10 + Math.max(Number(groups[at + 9]) || 0, 0)) {
    const seconds = Number(groups[at + 2])
    checks.push(poll(groups[at] ?? '', seconds > 0 ? seconds * 1000 - 999 : 0, groups[at + 1]))
  }
  return { checks, lock: keyOfScript(command[2] ?? ''), lease: undefined }
}

/** What can't be read must not count as proof: a check that went on at once proves nothing. */
const poll = (container: string, timeout: number, onTimeout: unknown): Poll => ({
  container,
  timeout,
  onTimeout: onTimeout === 'fail' ? 'fail' : 'continue',
})
