import { isCommand } from '../check/grammar.ts'
import type { Hook } from '../pod/pod.ts'
import { readHookValue } from '../pod/read.ts'
import type { Json } from '../words/json.ts'
import { keyOfScript, shellName } from './shell.ts'
import { mostArgument, waiterPath } from './waiter.ts'

/** A container's PostStart hook as it was before us. */
interface Unwrapped {
  readonly ours: boolean
  /** Undefined if there was none. */
  readonly original: Hook | undefined
  /** The containers that our hook polls. */
  readonly waitsFor: readonly string[]
}

/** The key of the lock that a hook of ours opens. */
export function openedBy(hook: Hook | undefined): string | undefined {
  if (hook?.kind !== 'exec') return undefined
  const [program, flag, argument = '', name] = hook.command
  if (argument.length > mostArgument) return undefined
  if (program !== waiterPath) return flag === '-c' && name === shellName ? keyOfScript(argument) : undefined
  return flag === '--spec' ? /"key":"(SIDECAR_FIRST_READY_[_A-Z0-9]{1,44})"/.exec(argument)?.[1] : undefined
}

/**
 * Recognises our hooks by their command, whatever version wrote them, and reads back the hook that they wrap. Undefined: the hook is ours
 * and can't be read.
 */
export function unwrap(hook: Hook | undefined): Unwrapped | undefined {
  if (hook?.kind !== 'exec') return { ours: false, original: hook, waitsFor: [] }
  const [program, flag, argument, name] = hook.command
  if (program === waiterPath) {
    return flag === '--spec' && argument !== undefined ? readSpecBefore(argument) : undefined
  }
  if (flag === '-c' && name === shellName) return readShellBefore(hook.command)
  return { ours: false, original: hook, waitsFor: [] }
}

function readSpecBefore(text: string): Unwrapped | undefined {
  const spec = parseSpec(text)
  if (typeof spec !== 'object' || spec === null) return undefined
  const before = 'before' in spec ? spec.before : undefined
  const checks: readonly unknown[] = 'checks' in spec && Array.isArray(spec.checks) ? spec.checks : []
  const waitsFor = checks.flatMap((check) => {
    const polls = typeof check === 'object' && check !== null && 'container' in check
    return polls && typeof check.container === 'string' ? [check.container] : []
  })
  if (before === undefined) return { ours: true, original: undefined, waitsFor }
  const original = readBefore(before)
  return original === undefined ? undefined : { ours: true, original, waitsFor }
}

/** The JSON of a hook's `--spec`; undefined if it is none, or not one of ours. */
export function parseSpec(text: string): unknown {
  // None of ours is longer, and parsing what somebody forged could take a hundred times its size.
  if (text.length > mostArgument) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What `beforeJson` has written. */
export function readBefore(before: unknown): Hook | undefined {
  const command = typeof before === 'object' && before !== null && 'exec' in before ? before.exec : undefined
  return isCommand(command) ? { kind: 'exec', command } : readHookValue(before as Json)
}

/** The hook that a shell form wraps; undefined if its arguments make no sense. */
function readShellBefore(command: readonly string[]): Unwrapped | undefined {
  const [kind, countText, ...rest] = command.slice(5)
  const count = Number(countText)
  if (!Number.isInteger(count) || count < 0 || count > rest.length) return undefined
  const words = rest.slice(0, count)
  const waitsFor = readShellContainers(rest.slice(count))
  switch (kind) {
    case 'none':
      return { ours: true, original: undefined, waitsFor }
    case 'exec':
      return count === 0 ? undefined : { ours: true, original: { kind, command: words }, waitsFor }
    case 'sleep': {
      const seconds = Number(words[0])
      return isSeconds(seconds) ? { ours: true, original: { kind, seconds }, waitsFor } : undefined
    }
    default:
      return undefined
  }
}

/** What the API accepts as the seconds of a sleep, an int64: a forged hook may say anything. */
function isSeconds(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** The first word of each check; nine more follow, and the headers that the last of them counts. */
function readShellContainers(groups: readonly string[]): readonly string[] {
  const names: string[] = []
  // Anyone may have written this, so the loop always has to move forward.
  for (let at = 0; at < groups.length; at += 10 + Math.max(Number(groups[at + 9]) || 0, 0)) {
    if (groups[at + 1] !== 'earlier') names.push(groups[at] ?? '')
  }
  return names
}
