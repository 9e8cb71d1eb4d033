import { bounded } from './bounded.ts'
import { type Problem, problems, problemText } from './problems.ts'
import { orderText, type Reason, reasons } from './reasons.ts'
import type { Code, Grade } from './values.ts'
import { type Severity, type Warning, warnings } from './warnings.ts'

export type { MissingPort, Problem, Shape } from './problems.ts'
export { orderText, type Reason, type StartOrder } from './reasons.ts'
export { type Deadline, type NoLock, type Severity, severities, type Warning } from './warnings.ts'

/** What a verdict is explained with. */
export type Said = Problem | Reason | Warning

export const severityOf = ({ kind }: Warning): Severity => warnings[kind].severity

/** The public code of what is refused or warned of. */
export const codeOf = ({ kind }: Problem | Warning): Code => codes[kind].code

export const gradeOf = (said: Problem | Warning): Grade => (isHint(said) ? 'note' : codes[said.kind].grade)

/** Whether it only says where to look, beside problems. */
export const isHint = ({ kind }: Said): boolean => kind === 'changed-later'

export const isProblem = (said: Said): said is Problem => Object.hasOwn(problems, said.kind)

const isWarning = (said: Said): said is Warning => Object.hasOwn(warnings, said.kind)

/** Those that say what becomes of the pod. */
const alwaysHeard: ReadonlySet<string> = new Set<Warning['kind']>([
  'audited',
  'exempt',
  'left-untouched',
  'only-observed',
  'pods-refused',
  'webhooks-behind',
  'no-such-code',
  'not-ignorable',
  'more-warnings',
])

/** Whether a code can be ignored; undefined if it is none of a message about pods. */
export function isIgnorable(code: string): boolean | undefined {
  const kind = kindOf.get(code)
  return kind === undefined ? undefined : Object.hasOwn(warnings, kind) && !alwaysHeard.has(kind)
}

/** The warnings and notes but those that somebody doesn't want to hear of. */
export function heard(all: readonly Warning[], ignored: ReadonlySet<string>): readonly Warning[] {
  return ignored.size === 0 ? all : all.filter((each) => !ignored.has(codeOf(each)) || alwaysHeard.has(each.kind))
}

/** Whether it only names a price, as the default way of the waiter into a pod always does: nothing that somebody should act on. */
export const isCost = (warning: Warning): boolean => severityOf(warning) === 'costs'

// The API server cuts a warning over 256 characters (k8s.io/apiserver, endpoints/filters/warning.go).
const longestWarning = 256 - 'SF999 '.length

const codes = { ...problems, ...warnings }
const kindOf: ReadonlyMap<string, string> = new Map(Object.entries(codes).map(([kind, { code }]) => [code, kind]))

/** The words for a message: on one line, bounded, safe to print. */
export function textOf(said: Said): string {
  if (isWarning(said)) return bounded(warnings, said, longestWarning)
  return isProblem(said) ? problemText(said) : bounded(reasons, said)
}

/** The same behind its code, if it has one: what somebody can look up. */
export function coded(said: Said): string {
  return isWarning(said) || isProblem(said) ? `${codeOf(said)} ${textOf(said)}` : textOf(said)
}

/** The order in which a decision's reasons say that containers start. */
export function startText(reasons: readonly Said[]): string {
  const order = reasons.find((reason) => reason.kind === 'starts' || reason.kind === 'starts-already')
  return order === undefined ? '' : orderText(order)
}
