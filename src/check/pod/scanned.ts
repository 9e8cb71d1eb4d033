import type { Decision } from '../../admission/decision.ts'
import type { Configuration } from '../../admission/intent/configuration.ts'
import type { Surroundings } from '../../admission/pod/surroundings.ts'
import { mendOf } from '../../scan/mend.ts'
import { subjectOf } from '../../scan/subject.ts'
import { standingToday, todayOf } from '../../scan/today.ts'
import { told } from '../../scan/words.ts'
import type { Finding } from '../findings.ts'

/** What a scan says of a pod or template for which neither an annotation nor a rule asks: its well-known sidecars for which nothing waits. */
export function unguarded(
  pod: unknown,
  {
    decision,
    surroundings,
    configuration,
  }: { decision: Decision; surroundings: Surroundings; configuration: Configuration },
): readonly Finding[] {
  if (decision.verdict !== 'skipped' || !decision.reasons.some(({ kind }) => kind === 'nothing-asked')) return []
  const subject = subjectOf(pod, surroundings.namespace)
  const open = subject ? todayOf(subject).filter((each) => standingToday(each) === 'unguarded') : []
  if (open.length === 0) return []
  const mend = mendOf(pod, false, surroundings, configuration)
  const lines = mend.kind === 'lines' ? mend.lines : []
  const why = mend.kind === 'no-line' ? told(mend).text : undefined
  return open.map((today) => ({ kind: 'scanned', today, lines, why }))
}
