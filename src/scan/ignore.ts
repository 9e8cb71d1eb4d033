import { isSaid, type Mend } from './mend.ts'
import { type ScannedSidecar, type Survey, worstFirst, worstOf } from './survey.ts'
import { certaintyOf, type Said, told } from './words.ts'

/** A survey without what has these codes: what isn't told isn't counted either, and a workload of which nothing is left to tell isn't listed. */
export function withoutIgnored(survey: Survey, ignored: ReadonlySet<string>): Survey {
  if (ignored.size === 0) return survey
  const isHeard = (said: Said) => !ignored.has(told(said).code)
  const marked = (sidecar: ScannedSidecar): ScannedSidecar =>
    isHeard(sidecar.today) ? sidecar : { ...sidecar, ignored: true }
  const heard = (mend: Mend): Mend => {
    if (!isSaid(mend)) return mend
    return isHeard(mend) ? mend : { kind: 'nothing-to-mend' }
  }
  const workloads = survey.workloads.map((workload) => {
    const sidecars = workload.sidecars.map(marked)
    // The same code may be a warning elsewhere.
    const seen = workload.seen.filter((each) => certaintyOf(each) === 'sure' || isHeard(each))
    return { ...workload, sidecars, seen, standing: worstOf(sidecars), mend: heard(workload.mend) }
  })
  return {
    ...survey,
    workloads: workloads
      .filter(({ sidecars, seen }) => seen.length > 0 || sidecars.some((each) => !each.ignored))
      .toSorted(worstFirst),
    limits: survey.limits.filter(isHeard),
  }
}
