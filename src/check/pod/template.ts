import type {
  V1MutatingWebhook,
  V1MutatingWebhookConfiguration,
  V1ValidatingWebhookConfiguration,
} from '@kubernetes/client-node'
import type { Configuration } from '../../admission/intent/configuration.ts'
import { ruledContainers } from '../../admission/intent/rules.ts'
import { readMetadata, readSpec } from '../../admission/pod/read.ts'
import type { Surroundings } from '../../admission/pod/surroundings.ts'
import { type Certain, concluded, unexpected } from '../../admission/verdict.ts'
import type { Json } from '../../admission/words/json.ts'
import { keys } from '../../admission/words/keys.ts'
import { coded, isCost } from '../../admission/words/messages.ts'
import { mendOf } from '../../scan/mend.ts'
import { subjectOf } from '../../scan/subject.ts'
import { standingToday, todayOf } from '../../scan/today.ts'
import { told } from '../../scan/words.ts'
import type { MissedBecause } from '../findings/pod.ts'
import type { Finding } from '../findings.ts'
import type { Circumstances } from './circumstances.ts'
import {
  covering,
  createdOf,
  dueOf,
  type Manifest,
  type Standing,
  setsOf,
  standingOf,
  whyUncovered,
} from './coverage.ts'
import { memoryFindings } from './memory.ts'

/** All that says why a pod was patched or wasn't. */
interface Case extends Omit<Circumstances, 'covers'> {
  /** undefined for a template: no pod has been created from it yet. */
  readonly made: { readonly created: Date | undefined; readonly renew: string } | undefined
  readonly mutating: V1MutatingWebhookConfiguration | 'unreadable' | undefined
  readonly validating: V1ValidatingWebhookConfiguration | undefined
}

/** In the order of the causes: what it asks for, whether the API server calls the webhook, what the webhook makes of it. */
export function explain(asked: Case): readonly Finding[] {
  const { pod, made, configuration } = asked
  const { covers, standing, fate } = standingIn(asked)
  const { kind } = standing
  const warnings = fate.decision.warnings
    .filter((each) => !isCost(each) && each.kind !== 'container-awaited')
    .map((each): Finding => ({ kind: 'admission-warning', warning: each }))
  return [
    ...written(pod, made !== undefined),
    ...rulesOf(pod, configuration, covers),
    verdict(asked, standing, fate, covers),
    ...(kind === 'left' ? optOut(pod) : []),
    ...warnings,
    ...memoryFindings(pod as Json, fate.decision),
    ...unguarded(asked, fate, { ...asked.surroundings, sets: setsOf(covers) }),
  ]
}

/** How it stands, and nothing else. */
export function verdictOn(asked: Case): Finding {
  const { covers, standing, fate } = standingIn(asked)
  return verdict(asked, standing, fate, covers)
}

function standingIn({ pod, mutating, namespace, configuration, surroundings }: Case) {
  const webhooks = mutating === 'unreadable' ? [] : (mutating?.webhooks ?? [])
  const covers = covering(webhooks, namespace)
  // What it would do, where it only observes.
  const standing = standingOf(pod, { ...configuration, mode: 'enforce' }, covers, surroundings)
  return { covers, standing, fate: concluded(standing.decision) }
}

function verdict(asked: Case, standing: Standing, fate: Certain, covers: readonly V1MutatingWebhook[]): Finding {
  const { made, namespace, configuration, mutating } = asked
  const { decision } = fate
  const awaits = unexpected(fate)
  const kind = fate.kind === 'refused' ? 'refused' : standing.kind
  const why = decision.reasons.map(coded).join('; ')
  const due = dueOf(decision)
  const would = { would: fateIn(fate, awaits, due), renew: made?.renew }
  if (kind === 'left' && awaits.length === 0) return { kind: 'left-alone', why }
  if (kind === 'right' && (made !== undefined || awaits.length === 0)) return { kind: 'in-order', due }
  if (mutating === 'unreadable') return { kind: 'should', ...would }
  if (!mutating) {
    const refusing =
      configuration.mode === 'enforce' && covering(asked.validating?.webhooks ?? [], namespace).length > 0
    return { kind: 'should-no-webhooks', ...would, refusing }
  }
  if (covers.length === 0) {
    return { kind: 'should-uncovered', ...would, uncovered: whyUncovered(mutating.webhooks ?? [], namespace) }
  }
  if (configuration.mode === 'observe') return { kind: 'observed', ...would }
  if (kind === 'refused') return { kind: 'refused', why, exists: made !== undefined }
  if (awaits.length > 0) return { kind: 'unless-injected', names: awaits, exists: made !== undefined }
  if (!made) return { kind: 'template-right', ...would }
  if (standing.kind === 'older') return { kind: 'older', version: standing.version }
  if (standing.kind === 'unlocked') return { kind: 'unlocked', names: standing.containers, renew: made.renew }
  if (kind === 'outdated') return { kind: 'outdated', renew: made.renew }
  const altered = standing.kind === 'missed' && standing.altered
  const because: MissedBecause = altered ? { kind: 'altered' } : cause(made.created, mutating)
  return { kind: 'missed', ...would, renew: made.renew, because }
}

/** What the webhook would make of it where it were called. */
function fateIn({ kind, decision }: Certain, awaits: readonly string[], due: string): string {
  if (kind === 'refused') return `be refused (${decision.reasons.map(coded).join('; ')})`
  if (awaits.length > 0) return `be refused unless an injector adds ${awaits.join(', ')}`
  return due === '' ? 'be patched' : `start ${due}`
}

function cause(created: Date | undefined, { metadata, webhooks = [] }: V1MutatingWebhookConfiguration): MissedBecause {
  const since = createdOf({ ...(metadata && { metadata }) })
  if (created && since && created < since) {
    return { kind: 'before-webhook', created: created.toISOString(), since: since.toISOString() }
  }
  const open = webhooks.some(({ failurePolicy }) => failurePolicy === 'Ignore')
  return { kind: open ? 'outage-or-late' : 'late' }
}

/** What the pod itself says about us. */
function written({ metadata }: Manifest, exists: boolean): Finding[] {
  const { annotations = {} } = metadata ?? {}
  const status = annotations[keys.status]
  const sidecars = annotations[keys.sidecars]
  return [
    ...(sidecars === undefined ? [] : [{ kind: 'asks', sidecars } as const]),
    ...(status === undefined || !exists ? [] : [{ kind: 'patched-already', status } as const]),
  ]
}

/** Which containers are sidecars by a rule. */
function rulesOf(pod: unknown, configuration: Configuration, covers: readonly V1MutatingWebhook[]): Finding[] {
  const metadata = readMetadata(pod)
  const spec = readSpec(pod)
  if (!metadata.ok || !spec.ok) return []
  const ruled = ruledContainers(configuration.rules, spec.value, metadata.value.labels, setsOf(covers))
  return [...ruled].map(([container, { name }]) => ({ kind: 'ruled', rule: name, container }))
}

/** An opt-out hides what a pod asks for. */
function optOut({ metadata }: Manifest): Finding[] {
  const { annotations = {}, labels = {} } = metadata ?? {}
  const out = annotations[keys.inject] === 'false' || labels[keys.inject] === 'false'
  return out && annotations[keys.sidecars] !== undefined ? [{ kind: 'opted-out' }] : []
}

/** What a scan says of a pod or template for which neither an annotation nor a rule asks: its well-known sidecars for which nothing waits. */
function unguarded({ pod, configuration }: Case, { decision }: Certain, surroundings: Surroundings): Finding[] {
  if (decision.verdict !== 'skipped' || !decision.reasons.some(({ kind }) => kind === 'nothing-asked')) return []
  const subject = subjectOf(pod, surroundings.namespace)
  const open = subject ? todayOf(subject).filter((each) => standingToday(each) === 'unguarded') : []
  if (open.length === 0) return []
  const mend = mendOf(pod, false, surroundings, configuration)
  const lines = mend.kind === 'lines' ? mend.lines : []
  const why = mend.kind === 'no-line' ? told(mend).text : undefined
  return open.map((today) => ({ kind: 'scanned', today, lines, why }))
}
