import { isSaid } from './mend.ts'
import { countsOf } from './report.ts'
import type { Survey } from './survey.ts'
import { certaintyOf, told } from './words.ts'

/** Each thing that is said has its code, its words and its data; what was seen also how certain that is. */
export function scanJson(survey: Survey): string {
  const workloads = survey.workloads.map(({ owner, pods, sidecars, standing, seen, mend, example, place }) => ({
    ...owner,
    ...(place === undefined ? { pods } : { place }),
    standing,
    sidecars: sidecars.map(({ preset, today, ignored }) => ({
      container: today.sidecar,
      preset,
      ...(ignored ? {} : { today: { ...told(today), ...today } }),
    })),
    seen: seen.map((sighting) => ({ certainty: certaintyOf(sighting), ...told(sighting), ...sighting })),
    mend: isSaid(mend) ? { ...told(mend), ...mend } : mend,
    ...(example === undefined ? {} : { example }),
  }))
  const limits = survey.limits.map((limit) => ({ ...told(limit), ...limit }))
  return `${JSON.stringify({ counts: countsOf(survey), workloads, limits }, null, 2)}\n`
}
