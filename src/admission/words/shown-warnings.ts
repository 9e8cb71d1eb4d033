import { mostProblems } from './limits.ts'
import { type Severity, severities, severityOf, type Warning } from './messages.ts'

// The API server drops all warnings of an answer once they are over 4,096 characters together; 15 of ours can't be.
const most = 15

/** As an answer has them: worst first, each once, no more than the API takes. */
export function shownWarnings(warnings: readonly Warning[]): readonly Warning[] {
  if (warnings.length < 2) return warnings
  const bySeverity = Map.groupBy(warnings, severityOf)
  const sorted = severities.flatMap((severity: Severity) => bySeverity.get(severity) ?? [])
  const all = new Set(warnings.map(({ kind }) => kind)).size === warnings.length ? sorted : once(sorted)
  if (all.length <= most) return all
  const count = all.length - most + 1
  return [...all.slice(0, most - 1), { kind: 'more-warnings', count, ...(isCut(all) && { least: true }) }]
}

/** No more than so many of a kind are collected. */
const isCut = (warnings: readonly Warning[]): boolean =>
  [...Map.groupBy(warnings, ({ kind }) => kind).values()].some(({ length }) => length >= mostProblems)

function once(warnings: readonly Warning[]): readonly Warning[] {
  const byText = new Map<string, Warning>()
  for (const warning of warnings) {
    const text = JSON.stringify(warning)
    if (!byText.has(text)) byText.set(text, warning)
  }
  return [...byText.values()]
}
