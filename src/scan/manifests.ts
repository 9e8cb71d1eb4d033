import { podTemplate } from '../admission/pod/template.ts'
import type { PreviewedFiles } from '../preview/show/files.ts'
import { mendOf } from './mend.ts'
import { subjectOf } from './subject.ts'
import { isGuarded, narrowed, type Survey, sidecarsOf, type Workload, worstFirst, worstOf } from './survey.ts'
import { todayOf } from './today.ts'

/** What manifests show: the order and the gate, and nothing of what happened. */
export function scanManifests(
  { files }: PreviewedFiles,
  { namespace, presets, version }: { namespace: string | undefined; presets: readonly string[]; version: string },
): Survey {
  let all = 0
  const workloads = files.flatMap(({ name: file, previewed }) =>
    previewed.previews.flatMap(({ object }): Workload[] => {
      const template = podTemplate(object)
      if (!template || (namespace !== undefined && object.namespace !== namespace)) return []
      all++
      const subject = narrowed(subjectOf(template.pod), presets)
      if (!subject) return []
      const today = todayOf(subject)
      const sidecars = sidecarsOf(subject, today)
      const { kind, name } = object
      return [
        {
          owner: { kind, namespace: object.namespace, name },
          pods: 0,
          place: `${file}:${object.line}`,
          sidecars,
          standing: worstOf(sidecars),
          seen: [],
          mend: mendOf(template.pod, isGuarded(today), template.surroundings, version),
          example: undefined,
        },
      ]
    }),
  )
  const limits =
    workloads.length > 0
      ? [{ kind: 'manifests-only' } as const]
      : [{ kind: 'nothing-known', workloads: all } as const, { kind: 'manifests-only' } as const]
  return {
    workloads: workloads.toSorted(worstFirst),
    all: { workloads: all, pods: 0, known: workloads.length },
    limits,
  }
}
