import type { Configuration } from './configuration.ts'
import type { Decision, PlannedSidecar, Surroundings, Tiers } from './decision.ts'
import { examine } from './examine.ts'
import type { Order } from './order.ts'
import { isCost, printable, shownWarnings, type Warning } from './warning.ts'

/**
 * The one function behind `/mutate`, `/preview`, `inject` and the page: a pod's manifest (any value; it may come from anybody) to
 * what is done to it. Never throws.
 */
export function decide(
  pod: unknown,
  configuration: Configuration,
  surroundings: Surroundings = { job: false },
): Decision {
  const examined = examine(pod, configuration, surroundings)
  switch (examined.kind) {
    case 'left':
      return { verdict: 'skipped', reasons: [examined.reason], warnings: shownWarnings(examined.warnings) }
    case 'invalid':
      return refuse(examined.problems, examined.warnings, examined.binding && configuration.invalid === 'refuse')
    case 'planned': {
      const { plan, operations, absent } = examined
      const { tiers } = plan
      const warnings = shownWarnings(examined.warnings)
      if (tiers.length === 0) {
        const named = 'none of the named sidecars is in this pod'
        const reason = absent.length > 0 ? named : '"*" stands for what rules add, and no rule matches'
        return { verdict: 'skipped', reasons: [reason], warnings }
      }
      const starts = startsFirst(tiers, plan.order)
      if (operations.length === 0) return { verdict: 'unchanged', reasons: [`already ${starts}`], warnings, tiers }
      return { verdict: 'patched', reasons: [starts], warnings, tiers, patch: operations }
    }
    default:
      return examined satisfies never
  }
}

/** A pod that can't be helped is refused, or left untouched with a warning where nobody is owed it. */
function refuse(problems: readonly string[], warnings: readonly Warning[], owed: boolean): Decision {
  const reasons = problems.map((text) => printable(text, 1024))
  // Nothing is done, so nothing is paid.
  const free = warnings.filter((each) => !isCost(each))
  if (owed) return { verdict: 'refused', reasons, warnings: shownWarnings(free) }
  const untouched = problems.map(
    (text) => ({ severity: 'app-may-start-too-early', text: `left untouched: ${text}` }) as const,
  )
  return { verdict: 'skipped', reasons, warnings: shownWarnings([...untouched, ...free]) }
}

/** `starts vault-agent, then envoy + otel (not waited for), before app` */
function startsFirst(tiers: Tiers, { containers }: Order): string {
  const name = (sidecar: PlannedSidecar) =>
    sidecar.check === 'none' ? `${sidecar.name} (not waited for)` : sidecar.name
  const first = tiers.map((tier) => tier.map(name).join(' + ')).join(', then ')
  const sidecars = new Set(tiers.flat().map((sidecar) => sidecar.name))
  // What stands before all of them, a mesh proxy, starts earlier still.
  const behind = containers.findLastIndex((container) => sidecars.has(container.name)) + 1
  const rest = containers.slice(behind).map((container) => container.name)
  return printable(`starts ${first}${rest.length > 0 ? `, before ${rest.join(', ')}` : ''}`, 1024)
}
