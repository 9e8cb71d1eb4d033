/** How much a warning matters: the API cuts long lists, so the worst come first. */
export type Severity = 'app-may-start-too-early' | 'bites-later' | 'costs' | 'has-no-effect'

export interface Warning {
  readonly severity: Severity
  readonly text: string
}

/** Whether it only names a price, as the default way of the waiter into a pod has always: nothing that somebody should act on. */
export const isCost = ({ severity }: Warning): boolean => severity === 'costs'

const worstFirst: readonly Severity[] = ['app-may-start-too-early', 'bites-later', 'costs', 'has-no-effect']

// The API server cuts a warning over 256 characters, and all of them once they are over 4,096 together
// (k8s.io/apiserver, endpoints/filters/warning.go); ours stay below both.
const longest = 256
const most = 15

/** As an answer has them: worst first, each once, within the API's limits and printable. */
export function shownWarnings(warnings: readonly Warning[]): readonly Warning[] {
  if (warnings.length === 0) return []
  const sorted = worstFirst.flatMap((severity) => warnings.filter((warning) => warning.severity === severity))
  const shown = new Map<string, Warning>()
  for (const { severity, text } of sorted) {
    const cut = printable(text, longest)
    if (!shown.has(cut)) shown.set(cut, { severity, text: cut })
  }
  const all = [...shown.values()]
  const [worst] = all.slice(most - 1)
  if (worst === undefined || all.length === most) return all
  return [...all.slice(0, most - 1), { severity: worst.severity, text: `and ${all.length - most + 1} more warnings` }]
}

/** Text on one line, at most `limit` characters: control characters out, and invisible ones that could reorder what a terminal shows. */
export function printable(text: string, limit: number): string {
  if (text.length <= limit && /^[\x20-\x7e]*$/.test(text)) return text
  const line = Array.from(text.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' '))
  return line.length <= limit ? line.join('') : `${line.slice(0, limit - 1).join('')}…`
}
