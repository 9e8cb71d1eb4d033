import type { Container } from '../pod/pod.ts'
import type { Surroundings } from '../pod/surroundings.ts'
import { mostProblems } from '../words/limits.ts'
import type { Warning } from '../words/messages.ts'
import { type HookGroup, hookGroups, timeoutOf } from './gate.ts'
import { type LineUp, type Member, waits } from './line-up.ts'

/** What will go wrong although the plan does what was asked, each with the fix. */
export function lint(lined: LineUp, surroundings: Surroundings): readonly Warning[] {
  const members = lined.tiers.flat()
  const sidecars = new Set(members.map(({ container }) => container))
  const apps = lined.pod.spec.containers.filter((container) => !sidecars.has(container))
  const awaiting = apps
    .map((app): Awaiting => ({ name: app.name, ports: awaitedPorts(app) }))
    .filter(({ ports }) => ports.size > 0)
  return [
    ...deadlines(lined, surroundings),
    ...hookGroups(lined).flatMap(sharedTiers),
    ...waitingTwice(members, awaiting),
  ]
}

/** A few hundred of each can be in a pod, and all for one port. */
function waitingTwice(members: readonly Member[], awaiting: readonly Awaiting[]): readonly Warning[] {
  const found: Warning[] = []
  for (const member of awaiting.length === 0 ? [] : members) {
    if (found.length >= mostProblems) break
    found.push(...awaiting.flatMap((app) => waitsItself(member, app)))
  }
  return found
}

/** While the hook of a tier runs, the kubelet restarts nothing else of the pod. */
function sharedTiers({ members, carrier }: HookGroup): readonly Warning[] {
  const others = members.filter((member) => member !== carrier && waits(member))
  if (carrier === undefined || others.length === 0) return []
  const names = others.map(({ sidecar }) => sidecar.name)
  const seconds = Math.max(...others.map(patience)) / 1000
  return [{ kind: 'tier-of-several', names, carrier: carrier.sidecar.name, seconds }]
}

function deadlines(
  { tiers, pod: { spec } }: LineUp,
  { progressDeadlineSeconds, activeDeadlineSeconds }: Surroundings,
): readonly Warning[] {
  const longest = tiers.map((tier) => Math.max(0, ...tier.map(patience)))
  const seconds = longest.reduce((sum, timeout) => sum + timeout, 0) / 1000
  const limits = [
    ['progressDeadlineSeconds', progressDeadlineSeconds],
    ['activeDeadlineSeconds', spec.activeDeadlineSeconds ?? activeDeadlineSeconds],
  ] as const
  return limits.flatMap(([field, limit]): readonly Warning[] =>
    limit === undefined || seconds <= limit ? [] : [{ kind: 'deadline', seconds, field, limit }],
  )
}

/** Milliseconds that a sidecar may take. */
function patience({ sidecar, container, resolved }: Member): number {
  if (resolved.kind === 'startupProbe') return resolved.limit * 1000
  return resolved.kind === 'polled' ? timeoutOf(sidecar, container) : 0
}

const loop = /\b(until|while|wait-for|wait-for-it|wait4x|dockerize|nc -z|--retry)\b/

const onLoopback = /(?:localhost|127\.0\.0\.1|\[::1\])[: ](\d{1,5})\b/g
/** Characters of a word that are looked at: a loop that waits stands in front of what it waits for, and a script of 1 MB would cost 10 ms. */
const readWord = 4096

/** An app whose command waits for ports itself. */
interface Awaiting {
  readonly name: string
  readonly ports: ReadonlySet<number>
}

/** The ports on loopback that an app's own command waits for. */
function awaitedPorts({ command, args }: Container): ReadonlySet<number> {
  const text = [...command, ...args]
    .slice(0, 64)
    .map((word) => word.slice(0, readWord))
    .join(' ')
  return new Set(loop.test(text) ? Array.from(text.matchAll(onLoopback), ([, port]) => Number(port)) : [])
}

/** An app that waits for the same port by itself waits twice. */
function waitsItself({ sidecar, resolved }: Member, { name, ports }: Awaiting): readonly Warning[] {
  if (resolved.kind !== 'polled' || !('port' in resolved.check) || !ports.has(resolved.check.port)) return []
  return [{ kind: 'waits-by-itself', app: name, port: resolved.check.port, name: sidecar.name }]
}
