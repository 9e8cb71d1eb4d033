import type { Configuration } from '../admission/intent/configuration.ts'
import { podTemplate } from '../admission/pod/template.ts'
import { coded, isCost } from '../admission/words/messages.ts'
import { knownLabels, namespaceOf, namespacesOf, setsOf } from '../preview/namespace.ts'
import type { Preview } from '../preview/preview.ts'
import type { PreviewedFiles } from '../preview/show/files.ts'
import { type Mend, mendOf } from './mend.ts'
import { type Own, podOf, type ScanSubject, subjectOf, without } from './subject.ts'
import {
  isGuarded,
  narrowed,
  nowhere,
  type ScannedWorkload,
  type Survey,
  sidecarsOf,
  worstFirst,
  worstOf,
} from './survey.ts'
import { titleOf } from './text.ts'
import { type StandingToday, standingToday, type Today, todayOf } from './today.ts'
import type { Limit } from './words.ts'

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
  let unmet = own
  const unread: Limit[] = []
  const namespaces = namespacesOf(files.flatMap(({ previewed }) => previewed.previews.map(({ object }) => object)))
  const workloads = files.flatMap(({ name: file, previewed }) =>
    previewed.previews.flatMap((preview): ScannedWorkload[] => {
      const { object, decision } = preview
      const template = podTemplate(object)
      if (!template || (namespace !== undefined && object.namespace !== namespace)) return []
      all++
      const { kind, name } = object
      const owner = { kind, namespace: object.namespace, name }
      const place = `${file}:${object.line}`
      const pod = podOf(template.pod)
      if (!pod.ok) {
        const why = pod.problems.map(coded).join('; ')
        unread.push({ kind: 'template-unread', place, object: `${kind} ${titleOf(owner)}`, why })
        return []
      }
      unmet = without(unmet, [...pod.value.spec.containers, ...pod.value.spec.initContainers])
      const around = namespaces.get(namespaceOf(object))
      const sets = setsOf(knownLabels(object.namespace, around), configuration)
      const surroundings = { ...template.surroundings, sets, ...(around && { namespace: around }) }
      const subject = narrowed(subjectOf(template.pod, around, own), presets)
      if (!subject) return []
      const today = todayAsked(subject, preview, own)
      const unsent = decision.reasons.filter((each) => each.kind === 'not-sent')
      const mend = mendOf(template.pod, isGuarded(today), surroundings, configuration, own)
      const sidecars = sidecarsOf(subject, today)
      const helped =
        unsent.length > 0 && mend.kind === 'lines' ? ({ kind: 'no-line', why: unsent.map(coded) } as const) : mend
      return [
        {
          owner,
          pods: 0,
          place,
          sidecars,
          standing: worstOf(sidecars),
          seen: [],
          mend: mend.kind === 'asked-in-vain' ? stillOpen(today, preview) : helped,
          example: undefined,
        },
      ]
    }),
  )
  const none = workloads.length > 0 ? [] : [{ kind: 'nothing-known', workloads: all } as const]
  return {
    workloads: workloads.toSorted(worstFirst),
    all: { workloads: all, pods: 0, known: workloads.length },
    limits: [...unread, ...none, ...nowhere(unmet), { kind: 'manifests-only' }],
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
