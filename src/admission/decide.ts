import type { Configuration } from './configuration.ts'
import type { Decision, PlannedSidecar, Surroundings, Tiers } from './decision.ts'
import { readIntent } from './intent.ts'
import { mirrorKey } from './keys.ts'
import { patch } from './patch.ts'
import { plan } from './plan.ts'
import { readMetadata, readSpec, type Spec } from './pod.ts'
import { printable, type Warning, warningTexts } from './warning.ts'

/**
 * The one function behind `/mutate`, `/preview`, `inject` and the page: a pod's manifest (any value; it may come from anybody) to
 * what is done to it. Never throws.
 */
export function decide(
  pod: unknown,
  configuration: Configuration,
  surroundings: Surroundings = { job: false },
): Decision {
  const refused = (problems: readonly string[], warnings: readonly Warning[]): Decision => {
    const reasons = problems.map((text) => printable(text, 1024))
    if (configuration.invalid === 'refuse') return { verdict: 'refused', reasons, warnings: warningTexts(warnings) }
    const untouched = problems.map(
      (text) => ({ severity: 'app-may-start-too-early', text: `left untouched: ${text}` }) as const,
    )
    return { verdict: 'skipped', reasons, warnings: warningTexts([...untouched, ...warnings]) }
  }
  const skipped = (reason: string, warnings: readonly Warning[] = []): Decision => {
    return { verdict: 'skipped', reasons: [reason], warnings: warningTexts(warnings) }
  }

  const metadata = readMetadata(pod)
  if (!metadata.ok) return refused(metadata.problems, [])
  const wish = readIntent(metadata.value, configuration)
  if (wish.kind === 'none') return skipped(wish.reason, wish.warnings)
  if (metadata.value.annotations.has(mirrorKey))
    return skipped('a mirror pod: the kubelet runs it from a file on the node')
  const spec = readSpec(pod)
  if (spec.ok && spec.value.windows) return skipped('a Windows pod')
  if (wish.kind === 'invalid') return refused([...wish.problems, ...(spec.ok ? [] : spec.problems)], wish.warnings)
  if (!spec.ok) return refused(spec.problems, wish.warnings)

  const planned = plan(wish.intent, metadata.value, spec.value, configuration, surroundings)
  const warnings = [...wish.warnings, ...planned.warnings]
  if (!planned.ok) return refused(planned.problems, warnings)
  const { tiers } = planned.plan
  if (tiers.length === 0) return skipped('none of the named sidecars is in this pod', warnings)

  const operations = patch(planned.plan, metadata.value, spec.value)
  const texts = warningTexts(warnings)
  const starts = startsFirst(tiers, spec.value)
  if (operations.length === 0) return { verdict: 'unchanged', reasons: [`already ${starts}`], warnings: texts, tiers }
  return { verdict: 'patched', reasons: [starts], warnings: texts, tiers, patch: operations }
}

/** `starts vault-agent, then envoy + otel (not waited for), before app` */
function startsFirst(tiers: Tiers, spec: Spec): string {
  const name = (sidecar: PlannedSidecar) =>
    sidecar.check === 'none' ? `${sidecar.name} (not waited for)` : sidecar.name
  const first = tiers.map((tier) => tier.map(name).join(' + ')).join(', then ')
  const sidecars = new Set(tiers.flat().map((sidecar) => sidecar.name))
  const rest = spec.containers.map((container) => container.name).filter((container) => !sidecars.has(container))
  return printable(`starts ${first}${rest.length > 0 ? `, before ${rest.join(', ')}` : ''}`, 1024)
}
