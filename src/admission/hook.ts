import { isCommand } from './check.ts'
import type { Json } from './operation.ts'
import { type Parsed, parsed, problem } from './parsed.ts'
import { type Hook, type HttpGet, readHookValue } from './pod.ts'
import { readShellBefore, shellName } from './shell.ts'
import { type WaiterSpec, waiterPath } from './waiter.ts'

/** A container's PostStart hook as it was before us. */
export interface Unwrapped {
  readonly ours: boolean
  /** Absent where there was none. */
  readonly original: Hook | undefined
  /** The containers that a hook of ours polls. */
  readonly waitsFor: readonly string[]
}

/** Tells our hooks by their command, whatever version wrote them, and reads back the hook that they wrap. */
export function unwrap(hook: Hook | undefined): Parsed<Unwrapped> {
  if (hook?.kind !== 'exec') return parsed({ ours: false, original: hook, waitsFor: [] })
  const [program, flag, argument, name] = hook.command
  if (program === waiterPath) {
    const before = flag === '--spec' && argument !== undefined ? readSpecBefore(argument) : undefined
    return before ?? unreadable()
  }
  if (flag === '-c' && name === shellName) return readShellBefore(hook.command) ?? unreadable()
  return parsed({ ours: false, original: hook, waitsFor: [] })
}

export function waiterHook(spec: WaiterSpec): Hook {
  return { kind: 'exec', command: [waiterPath, '--spec', JSON.stringify(spec)] }
}

/** A hook as the waiter's spec has it under `before`: a command is a plain list there. */
export function beforeJson(hook: Hook): Json {
  return hook.kind === 'exec' ? { exec: hook.command } : hookJson(hook)
}

/** A hook as it stands in a manifest. */
export function hookJson(hook: Hook): { readonly [key: string]: Json } {
  switch (hook.kind) {
    case 'exec':
      return { exec: { command: hook.command } }
    case 'sleep':
      return { sleep: { seconds: hook.seconds } }
    case 'httpGet':
      return { httpGet: httpGetJson(hook) }
    case 'tcpSocket':
      return { tcpSocket: { ...(hook.host === '' ? {} : { host: hook.host }), port: hook.port } }
    default:
      return hook satisfies never
  }
}

export function sameHook(a: Hook | undefined, b: Hook | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return JSON.stringify(hookJson(a)) === JSON.stringify(hookJson(b))
}

function httpGetJson({ path, port, host, scheme, httpHeaders }: HttpGet): Json {
  return {
    ...(path === '' ? {} : { path }),
    port,
    ...(host === '' ? {} : { host }),
    scheme,
    ...(httpHeaders.length === 0 ? {} : { httpHeaders: httpHeaders.map(({ name, value }) => ({ name, value })) }),
  }
}

function readSpecBefore(text: string): Parsed<Unwrapped> | undefined {
  let spec: unknown
  try {
    spec = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof spec !== 'object' || spec === null) return undefined
  const before = 'before' in spec ? spec.before : undefined
  const checks: readonly unknown[] = 'checks' in spec && Array.isArray(spec.checks) ? spec.checks : []
  const waitsFor = checks.flatMap((check) => {
    const polls = typeof check === 'object' && check !== null && 'container' in check
    return polls && typeof check.container === 'string' ? [check.container] : []
  })
  if (before === undefined) return parsed({ ours: true, original: undefined, waitsFor })
  const command = typeof before === 'object' && before !== null && 'exec' in before ? before.exec : undefined
  const original = isCommand(command) ? ({ kind: 'exec', command } as const) : readHookValue(before as Json)
  return original === undefined ? undefined : parsed({ ours: true, original, waitsFor })
}

function unreadable(): Parsed<Unwrapped> {
  return problem(
    'has a hook that another version of sidecar-first wrote and this one cannot read; remove its lifecycle.postStart',
  )
}
