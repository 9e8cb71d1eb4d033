import { durationRange, parseDuration } from '../check/duration.ts'
import { type PolledCheck, parseCheck } from '../check/grammar.ts'
import type { Header, Hook } from '../pod/pod.ts'
import { isMap } from '../pod/reader.ts'
import { shellName } from './shell.ts'
import { parseSpec } from './unwrap.ts'
import { waiterPath } from './waiter.ts'

/** A check as a hook of ours has it: all that the plan that wrote it knew. */
export interface WrittenCheck {
  readonly container: string
  readonly check: PolledCheck
  readonly headers: readonly Header[]
  readonly path?: string
  /** Seconds. */
  readonly attemptTimeout: number
  readonly successes: number
  /** Milliseconds. */
  readonly timeout: number
}

/** The checks of a hook that we wrote. One that can't be read, since anyone may have forged it, is left out. */
export function writtenChecks(hook: Hook | undefined): readonly WrittenCheck[] {
  if (hook?.kind !== 'exec') return []
  const [program, flag, argument = '', name] = hook.command
  if (program === waiterPath && flag === '--spec') return readSpec(argument)
  return flag === '-c' && name === shellName ? readShell(hook.command) : []
}

function readSpec(text: string): readonly WrittenCheck[] {
  const spec = parseSpec(text)
  const checks: readonly unknown[] = isMap(spec) && Array.isArray(spec.checks) ? spec.checks : []
  return checks.flatMap((each) => {
    if (!isMap(each)) return []
    const { container, path, successes = 1, headers = [] } = each
    const check = polled(each.check)
    const timeout = milliseconds(each.timeout)
    const attemptTimeout = milliseconds(each.attemptTimeout ?? '1s')
    if (check === undefined || timeout === undefined || attemptTimeout === undefined) return []
    if (typeof container !== 'string' || !Number.isInteger(successes) || !Array.isArray(headers)) return []
    if (path !== undefined && typeof path !== 'string') return []
    const read = headers.flatMap((header) => {
      if (!isMap(header)) return []
      const { name, value } = header
      return typeof name === 'string' && typeof value === 'string' ? [{ name, value }] : []
    })
    const rest = { successes: Number(successes), timeout, attemptTimeout: attemptTimeout / 1000, headers: read }
    return [{ container, check, ...rest, ...(path === undefined ? {} : { path }) }]
  })
}

/** As `shellHook` writes them: behind the hook that was there, ten words for each check and its headers. */
function readShell(command: readonly string[]): readonly WrittenCheck[] {
  const count = Number(command[6])
  if (!Number.isInteger(count) || count < 0) return []
  const found: WrittenCheck[] = []
  // By its place, since copying what is left for each check would take the square of the length.
  let at = 7 + count
  while (at + 10 <= command.length) {
    const words = command.slice(at, at + 10)
    const [container = '', late, limit, attempt, successes, kind, host = '', port, path = '', headers] = words
    const length = Number(headers)
    if (!Number.isInteger(length) || length < 0) break
    const check = polled(`${kind}://${host}:${port}${path}`)
    const numbers = { timeout: Number(limit) * 1000, attemptTimeout: Number(attempt), successes: Number(successes) }
    const end = at + 10 + length
    // Of an earlier gate: its own hook says it.
    if (late !== 'earlier' && check !== undefined && Object.values(numbers).every(Number.isFinite)) {
      const read = command.slice(at + 10, end).map((header) => {
        const colon = header.indexOf(': ')
        return { name: header.slice(0, colon), value: header.slice(colon + 2) }
      })
      found.push({ container, check, ...numbers, headers: read })
    }
    at = end
  }
  return found
}

function polled(text: unknown): PolledCheck | undefined {
  const parsed = typeof text === 'string' ? parseCheck(text) : undefined
  const check = parsed?.ok ? parsed.value : undefined
  switch (check?.kind) {
    case 'http':
    case 'https':
    case 'tcp':
    case 'grpc': {
      const { port } = check
      return typeof port === 'number' ? { ...check, port } : undefined
    }
    case 'unix':
    case 'file':
      return { kind: check.kind, path: check.path }
    case 'exec':
      return { kind: 'exec', command: check.command }
    default:
      return undefined
  }
}

/** A probe's timeout may be longer than a pod may be held back. */
const any = durationRange('1ms', '999999999h')

function milliseconds(text: unknown): number | undefined {
  const parsed = typeof text === 'string' ? parseDuration(text, any) : undefined
  return parsed?.ok ? parsed.value : undefined
}
