import { isCommand } from '../check/grammar.ts'
import type { Hook } from '../pod/pod.ts'
import { isMap } from '../pod/reader.ts'
import type { Json } from '../words/json.ts'
import { beforeJson } from './hook.ts'
import { parseSpec, readBefore } from './unwrap.ts'
import { waiterPath } from './waiter.ts'

/**
 * The end of a pod: what stands behind a sidecar holds a lock on a file of its own until it has ended, and the sidecar's preStop waits for that. The
 * volume isn't the lock's, which nothing behind a gate may mount.
 */
export const endsVolume = 'sidecar-first-ends'
export const endsDirectory = '/.sidecar-first-ends'
export const endsDir: Json = { medium: 'Memory', sizeLimit: '1Mi' }
export const endsMount: Json = { name: endsVolume, mountPath: endsDirectory }

export const endFile = (container: string): string => `${endsDirectory}/${container}`

/** What a preStop hook of ours does; `file` of `others`: it is waited for, too. Durations as `formatDuration` writes them. */
type EndSpec = { readonly file?: string; readonly before: Hook | undefined } & (
  | { readonly kind: 'witness'; readonly file: string }
  | { readonly kind: 'others'; readonly files: readonly string[]; readonly appear: string; readonly limit: string }
)

export function endHook({ kind, before, ...rest }: EndSpec): Hook {
  const spec = { v: 1, ...rest, ...(before === undefined ? {} : { before: beforeJson(before) }) }
  return { kind: 'exec', command: [waiterPath, kind, '--spec', JSON.stringify(spec)] }
}

/** A preStop hook as it was before us. */
export interface UnwrappedEnd {
  readonly ours: EndSpec['kind'] | undefined
  /** Undefined if there was none. */
  readonly original: Hook | undefined
  /** The containers whose end it waits for. */
  readonly waitsFor: readonly string[]
}

/** The same for a preStop as `unwrap` for a PostStart hook. Undefined: it is ours and can't be read. */
export function unwrapEnd(hook: Hook | undefined): UnwrappedEnd | undefined {
  const theirs = { ours: undefined, original: hook, waitsFor: [] }
  if (hook?.kind !== 'exec') return theirs
  const [program, kind, flag, text = ''] = hook.command
  if (program !== waiterPath || (kind !== 'witness' && kind !== 'others')) return theirs
  const spec = flag === '--spec' ? parseSpec(text) : undefined
  if (!isMap(spec)) return undefined
  const files: readonly unknown[] = Array.isArray(spec.files) ? spec.files : []
  // Anyone may have written this, and not everything that JSON can say becomes a text.
  const waitsFor = files.flatMap((file) => (typeof file === 'string' ? [file.slice(endFile('').length)] : []))
  if (spec.before === undefined) return { ours: kind, original: undefined, waitsFor }
  const original = readBefore(spec.before)
  return original === undefined ? undefined : { ours: kind, original, waitsFor }
}

/** Whether it can run at all: the kubelet fails any other, and goes on. */
export const canRun = (hook: Hook): boolean =>
  hook.kind === 'exec' ? isCommand(hook.command) : hook.kind !== 'tcpSocket'
