import { posix } from 'node:path'
import type { Json } from '../../../src/admission/words/json.ts'

/**
 * A small model of how a kubelet ends a pod, written from its contract and apart from the code: killContainer runs a container's preStop, then has a
 * native sidecar wait for its turn, then sends SIGTERM; after the grace period it kills what is left. Times are in milliseconds from the deletion.
 */
interface End {
  /** When its own preStop begins, and how often that runs; undefined: never. */
  readonly own: { readonly at: number; readonly is: Json } | undefined
  readonly sigterm: number
  readonly ended: number
}

type Fields = { readonly [key: string]: Json }
const map = (value: Json | undefined): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const list = (value: Json | undefined) => (Array.isArray(value) ? (value as readonly Json[]).map(map) : [])

/** A hook as the waiter reads it: its command, and what it is told. */
interface Told {
  readonly command: string
  readonly file?: string
  readonly files?: readonly string[]
  readonly appear?: string
  readonly limit?: string
  readonly before?: Fields
}

/** What stands in a container's preStop; undefined if it isn't ours. */
export function toldTo(container: Fields): Told | undefined {
  const { command } = map(map(map(container.lifecycle).preStop).exec)
  const [program, sub, flag, spec, ...rest] = Array.isArray(command) ? command.map(String) : []
  if (program !== '/.sidecar-first/wait' || spec === undefined) return undefined
  if (flag !== '--spec' || rest.length > 0) throw new Error(`the waiter takes no ${command}`)
  const { v, ...told } = JSON.parse(spec)
  if (v !== 1) throw new Error(`the waiter knows no version ${v}`)
  return { command: `${sub}`, ...told }
}

function millisecondsOf(text: string): number {
  const [, h, m, s, ms] = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/.exec(text) ?? []
  const sum = Number(h ?? 0) * 3_600_000 + Number(m ?? 0) * 60_000 + Number(s ?? 0) * 1000 + Number(ms ?? 0)
  if (!(sum > 0)) throw new Error(`the waiter takes no duration ${text}`)
  return sum
}

/** The author's own preStop within ours, as a manifest has it: an exec is a plain list there. */
function ownOf(before: Fields): Json {
  return Array.isArray(before.exec) ? { exec: { command: before.exec as Json } } : before
}

/** @param takes how long each container takes for its own preStop, and after SIGTERM */
export function endOf(
  pod: Json,
  takes: (name: string) => { readonly own: number; readonly drain: number },
): ReadonlyMap<string, End> {
  const spec = map(map(pod).spec)
  const natives = list(spec.initContainers).filter(({ restartPolicy }) => restartPolicy === 'Always')
  const sequence = [...natives, ...list(spec.containers)]
  const grace = Number(spec.terminationGracePeriodSeconds ?? 30) * 1000
  const ends = new Map<string, End>()
  const running = new Set<string>()
  const byFile = new Map(
    sequence.flatMap((container) => {
      const file = toldTo(container)?.file
      // Without the mounts the hook can neither run nor be seen.
      const mounted = ['waiter', 'ends'].every((what) => {
        const path = what === 'ends' ? '/.sidecar-first-ends' : '/.sidecar-first'
        const inside = (at: Json | undefined) => `${posix.resolve('/', `${at}`)}/`.startsWith(`${path}/`)
        const [there, ...others] = list(container.volumeMounts).filter(({ mountPath }) => inside(mountPath))
        // What lies over a file in it is what the hook finds there.
        if (others.length > 0 || inside(container.terminationMessagePath)) return false
        const isWritable = what === 'waiter' || there?.readOnly !== true
        if (posix.resolve('/', `${there?.mountPath}`) !== path) return false
        return there?.name === `sidecar-first-${what}` && isWritable && !there.subPath && !there.subPathExpr
      })
      if (toldTo(container) !== undefined && !mounted) throw new Error(`${container.name} lacks a mount`)
      return file === undefined ? [] : [[file, container] as const]
    }),
  )

  function find(container: Fields): End {
    const name = `${container.name}`
    const known = ends.get(name)
    if (known !== undefined) return known
    if (running.has(name)) throw new Error(`${[...running, name].join(' waits for ')}`)
    running.add(name)
    const told = toldTo(container)
    const there = map(container.lifecycle).preStop
    const begins = told?.files === undefined ? 0 : Math.min(millisecondsOf(told.limit ?? ''), waited(told))
    const is = told === undefined ? there : told.before && ownOf(told.before)
    const own = is === undefined || is === null || begins >= grace ? undefined : { at: begins, is }
    const preStop = Math.min(grace, begins + (own === undefined ? 0 : takes(name).own))
    const at = natives.indexOf(container)
    const turn = at < 0 ? 0 : Math.max(0, ...sequence.slice(at + 1).map((later) => find(later).ended))
    const sigterm = Math.min(grace, Math.max(preStop, turn))
    const end = { own, sigterm, ended: Math.min(grace, sigterm + takes(name).drain) }
    running.delete(name)
    ends.set(name, end)
    return end
  }
  const waited = ({ files = [], appear = '' }: Told): number =>
    Math.max(
      ...files.map((file) => {
        const other = byFile.get(file)
        return other === undefined ? millisecondsOf(appear) : find(other).ended
      }),
    )
  for (const container of sequence) find(container)
  return ends
}
