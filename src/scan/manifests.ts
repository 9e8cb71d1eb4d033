import type { Configuration } from '../admission/intent/configuration.ts'
import { podTemplate } from '../admission/pod/template.ts'
import { coded, isCost } from '../admission/words/messages.ts'
import { knownLabels, namespaceOf, namespacesOf, setsOf } from '../preview/namespace.ts'
import type { Preview } from '../preview/preview.ts'
import type { PreviewedFiles } from '../preview/show/files.ts'
import { type Mend, mendOf } from './mend.ts'
import { type Own, type ScanSubject, subjectOf } from './subject.ts'
import { isGuarded, narrowed, type ScannedWorkload, type Survey, sidecarsOf, worstFirst, worstOf } from './survey.ts'
import { type StandingToday, standingToday, type Today, todayOf } from './today.ts'

/**
 * What manifests show: the order and the gate, and nothing of what happened. A manifest is seen before the webhook acts on
 * it, so one that asks is judged by what the webhook would make of it.
 */
export function scanManifests(
  { files }: PreviewedFiles,
  {
    namespace,
    presets,
    own,
    configuration,
  }: { namespace: string | undefined; presets: readonly string[]; own: Own; configuration: Configuration },
): Survey {
  let all = 0
  const namespaces = namespacesOf(files.flatMap(({ previewed }) => previewed.previews.map(({ object }) => object)))
  const workloads = files.flatMap(({ name: file, previewed }) =>
    previewed.previews.flatMap((preview): ScannedWorkload[] => {
      const { object } = preview
      const template = podTemplate(object)
      if (!template || (namespace !== undefined && object.namespace !== namespace)) return []
      all++
      const around = namespaces.get(namespaceOf(object))
      const sets = setsOf(knownLabels(object.namespace, around), configuration)
      const surroundings = { ...template.surroundings, sets, ...(around && { namespace: around }) }
      const subject = narrowed(subjectOf(template.pod, around, own), presets)
      if (!subject) return []
      const today = todayAsked(subject, preview, own)
      const mend = mendOf(template.pod, isGuarded(today), surroundings, configuration, own)
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
          mend: mend.kind === 'asked-in-vain' ? stillOpen(today, preview) : mend,
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

/** A sidecar for which the app doesn't wait yet, but would once patched, is asked for. */
function todayAsked(subject: ScanSubject, { object, decision, patched }: Preview, own: Own): readonly Today[] {
  const today = todayOf(subject)
  const pod = decision.verdict === 'patched' ? podTemplate({ kind: object.kind, value: patched })?.pod : undefined
  const then = pod && subjectOf(pod, undefined, own)
  const holding = then ? todayOf(then).filter((each) => isGuarded([each])) : []
  return today.map((each) => {
    const { app, sidecar } = each
    const held = holding.some((other) => other.sidecar === sidecar)
    return held && !isGuarded([each]) ? { app, sidecar, kind: 'asked' } : each
  })
}

/** Why an app would go on not waiting, though its manifest asks. */
function stillOpen(today: readonly Today[], { decision }: Preview): Mend {
  const why = decision.verdict === 'patched' ? decision.warnings.filter((each) => !isCost(each)) : decision.reasons
  // What an injector is still to add is asked for; the webhook is called again when it is there.
  const awaits = why.every(({ kind }) => kind === 'to-be-injected')
  const isLeft = decision.verdict === 'refused' || (decision.verdict === 'skipped' && !awaits)
  const open: readonly StandingToday[] = isLeft ? ['unguarded', 'unknown'] : ['unguarded']
  const [first, ...others] = today.filter((each) => open.includes(standingToday(each))).map(({ sidecar }) => sidecar)
  if (first === undefined) return { kind: 'nothing-to-mend' }
  return { kind: 'asked-otherwise', sidecars: [first, ...others], why: why.map(coded) }
}
