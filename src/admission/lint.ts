import { formatCheck } from './check.ts'
import type { Surroundings } from './decision.ts'
import { timeoutOf } from './gate.ts'
import { matchesGlob } from './glob.ts'
import type { Member } from './members.ts'
import type { Container, Spec } from './pod.ts'
import { presets } from './presets.ts'
import type { Warning } from './warning.ts'

/** What will hurt although the plan does as it was told, each with the fix. */
export function lint(
  tiers: readonly (readonly Member[])[],
  spec: Spec,
  surroundings: Surroundings,
): readonly Warning[] {
  const members = tiers.flat()
  const sidecars = new Set(members.map(({ container }) => container))
  const apps = spec.containers.filter((container) => !sidecars.has(container))
  return [
    ...members.flatMap(deadlocks),
    ...deadlines(tiers, spec, surroundings),
    ...members.flatMap((member) => apps.flatMap((app) => waitsItself(member, app))),
  ]
}

/** A check that passes only once the app is up never passes, since the app is held back. */
function deadlocks({ sidecar, container, resolved }: Member): readonly Warning[] {
  if (resolved.kind !== 'polled' || !('path' in resolved.check)) return []
  const { path: written } = resolved.check
  const query = written.indexOf('?')
  const path = query < 0 ? written : written.slice(0, query)
  return (presetsByDeadlock.get(path) ?? [])
    .map(({ preset }) => preset)
    .filter(({ containers, images }) => {
      return containers.includes(container.name) || images.some((glob) => matchesGlob(glob, container.image))
    })
    .flatMap(({ deadlocks }) => deadlocks.filter((deadlock) => deadlock.path === path))
    .map(({ instead }) => ({
      severity: 'app-may-start-too-early',
      text: `the check of ${sidecar.name} waits for the app, which waits for it: ${path} never answers; use ${formatCheck(instead)}`,
    }))
}

const presetsByDeadlock = Map.groupBy(
  presets.flatMap((preset) => preset.deadlocks.map(({ path }) => ({ path, preset }))),
  ({ path }) => path,
)

function deadlines(
  tiers: readonly (readonly Member[])[],
  spec: Spec,
  { progressDeadlineSeconds, activeDeadlineSeconds }: Surroundings,
): readonly Warning[] {
  const longest = tiers.map((tier) =>
    Math.max(
      0,
      ...tier.map(({ sidecar, container, resolved }) =>
        resolved.kind === 'polled' ? timeoutOf(sidecar, container) : 0,
      ),
    ),
  )
  const total = longest.reduce((sum, timeout) => sum + timeout, 0) / 1000
  const limits = [
    ['progressDeadlineSeconds', progressDeadlineSeconds, 'the Deployment counts as failed'],
    ['activeDeadlineSeconds', spec.activeDeadlineSeconds ?? activeDeadlineSeconds, 'the pod is killed'],
  ] as const
  return limits.flatMap(([field, limit, then]) => {
    if (limit === undefined || total <= limit) return []
    const text = `the sidecars may take ${total}s, and after ${field} (${limit}s) ${then}: shorten sidecar-first.dev/timeout or raise ${field}`
    return [{ severity: 'bites-later' as const, text }]
  })
}

const loop = /\b(until|while|wait-for|wait-for-it|wait4x|dockerize|nc -z|--retry)\b/

/** An app that waits for the same port by itself only waits twice. */
function waitsItself({ sidecar, resolved }: Member, app: Container): readonly Warning[] {
  if (resolved.kind !== 'polled' || !('port' in resolved.check)) return []
  const { port } = resolved.check
  const command = [...app.command, ...app.args].join(' ')
  if (!command.includes(String(port)) || !loop.test(command)) return []
  if (!new RegExp(String.raw`(localhost|127\.0\.0\.1|\[::1\])[: ]${port}\b`).test(command)) return []
  const text = `${app.name} waits for port ${port} of ${sidecar.name} in its own command; that is no longer needed`
  return [{ severity: 'has-no-effect', text }]
}
