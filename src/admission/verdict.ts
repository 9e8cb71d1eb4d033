import { decide } from './decide.ts'
import { type Decision, refused, skipped } from './decision.ts'
import type { Absent } from './examine.ts'
import type { Configuration } from './intent/configuration.ts'
import { type KnownLabels, type LabelSelector, maySelect } from './pod/selector.ts'
import type { Surroundings } from './pod/surroundings.ts'
import { missing } from './validate.ts'
import { coded, type Said, startText } from './words/messages.ts'

type Of<V extends Decision['verdict']> = Extract<Decision, { verdict: V }>

/**
 * What will become of a pod, by all that is called for it. `decision` is what the first call does; for a pod that the final check refuses it says why
 * in its place.
 */
export type Verdict =
  | Certain
  /** What isn't known of the namespace decides: without any rules for such namespaces first, then with them, or where it isn't called at all. */
  | { readonly kind: 'depends-on-namespace'; readonly first: Certain; readonly others: readonly Certain[] }

export type Certain =
  /** In the order of the decision's reasons. */
  | { readonly kind: 'starts'; readonly decision: Of<'patched' | 'unchanged'> }
  | { readonly kind: 'left'; readonly decision: Of<'skipped'> }
  | { readonly kind: 'refused'; readonly decision: Of<'refused'> }
  /** Refused, unless an injector adds what is absent. */
  | {
      readonly kind: 'unless-injected'
      readonly absent: readonly [Absent, ...Absent[]]
      readonly decision: Of<'patched' | 'unchanged' | 'skipped'>
    }

/** A webhook of ours that plans pods, or marks them with a set of rules, and the namespaces that it is called for. */
interface Webhook {
  readonly selector: LabelSelector
  readonly set: string | undefined
}

interface Circumstances {
  readonly configuration: Configuration
  readonly surroundings?: Surroundings
  /** What is known of the namespace; absent: nothing. */
  readonly namespace?: KnownLabels
  /** Absent: they are called for every namespace, each set for those that its rules select. */
  readonly webhooks?: readonly Webhook[]
}

/** What will become of a pod, or of the pods of a template. Never throws; anyone may have written it. */
export function foresee(
  pod: unknown,
  { configuration, surroundings = { job: false }, namespace = unknownLabels, webhooks }: Circumstances,
): Verdict {
  const calls = (webhooks ?? everywhere(configuration)).map(({ selector, set }) => ({
    set,
    selects: maySelect(selector, namespace),
  }))
  const isCalled = calls.filter(({ set }) => set === undefined).map(({ selects }) => selects)
  if (!isCalled.includes(true) && !isCalled.includes(undefined)) return left(skipped([{ kind: 'not-sent' }], []))
  const setsWhere = (...among: readonly (boolean | undefined)[]) =>
    calls.flatMap(({ set, selects }) => (set !== undefined && among.includes(selects) ? [set] : []))
  const within = (sets: readonly string[]): Certain => {
    const decision = decide(pod, configuration, { ...surroundings, sets })
    if (configuration.mode === 'observe') return left(skipped([{ kind: 'only-looked-at' }], decision.warnings))
    return concluded(decision)
  }
  const first = within(setsWhere(true))
  const unknown = setsWhere(undefined)
  // Selectors may exclude each other, so that no namespace has them all.
  const alone = unknown.length > 1 && unknown.length <= mostAlone ? unknown.map((set) => [set]) : []
  const open = [...alone, ...(unknown.length > 0 ? [unknown] : [])].map((sets) => within([...setsWhere(true), ...sets]))
  const unsent = isCalled.includes(true) ? [] : [left(skipped([{ kind: 'not-sent' }], []))]
  const distinct = new Map([...open, ...unsent].map((each) => [told(each), each]))
  distinct.delete(told(first))
  const others = [...distinct.values()]
  return others.length === 0 ? first : { kind: 'depends-on-namespace', first, others }
}

/** So many sets are looked at one by one: each takes a plan of the pod. */
const mostAlone = 4

const unknownLabels: KnownLabels = { labels: new Map(), whole: false }

function everywhere({ rules }: Configuration): readonly Webhook[] {
  const sets = new Map(rules.rules.flatMap(({ set, match }) => (set === undefined ? [] : [[set, match] as const])))
  return [
    { selector: {}, set: undefined },
    ...[...sets].map(([set, { namespaceSelector }]) => ({ selector: namespaceSelector ?? {}, set })),
  ]
}

const left = (decision: Of<'skipped'>): Certain => ({ kind: 'left', decision })

/** Verdicts of which this is the same are the same: what asks for the order, and why it is refused, may differ. */
function told(verdict: Certain): string {
  const { kind } = verdict
  const reasons: readonly Said[] = verdict.decision.reasons
  const order = reasons.find((each) => each.kind === 'starts' || each.kind === 'starts-already')
  if (kind === 'refused' || order === undefined) return kind === 'refused' ? kind : fateText(verdict)
  const first = order.first.map((tier) => tier.map(({ name, waitedFor }) => [name, waitedFor]))
  return JSON.stringify([kind, first, order.rest])
}

/** What becomes of it, in a sentence that begins with `it`. */
export function fateText(verdict: Certain): string {
  const { kind, decision } = verdict
  const why = decision.reasons.map(coded).join('; ')
  switch (kind) {
    case 'starts':
      return startText(decision.reasons) === '' ? why : `starts ${startText(decision.reasons)}`
    case 'left':
      return `is left alone: ${why}`
    case 'refused':
      return `is refused: ${why}`
    case 'unless-injected':
      return `is refused unless an injector adds ${namesOf(verdict.absent).join(', ')}: ${why}`
    default:
      return kind satisfies never
  }
}

const namesOf = (absent: readonly Absent[]): readonly string[] => [...new Set(absent.map(({ name }) => name))]

/** The containers that no injector is known to add, and without which the pod is refused. */
export const unexpected = (verdict: Certain): readonly string[] =>
  verdict.kind === 'unless-injected' ? namesOf(verdict.absent.filter(({ expected }) => !expected)) : []

/** What the final check makes of what the first call decided. */
export function concluded(decision: Decision): Certain {
  if (decision.verdict === 'refused') return { kind: 'refused', decision }
  const { absent, warnings } = decision
  // An injector could still add a container of nearly the same name; nobody writes that without saying so, and the calls refuse it only in the end.
  const misspelt = absent.filter(({ near }) => near !== undefined)
  if (misspelt.length > 0) {
    const others = warnings.filter((each) => each.kind !== 'container-awaited' || each.near === undefined)
    return { kind: 'refused', decision: refused(missing(misspelt), others) }
  }
  const [first, ...more] = absent
  if (first !== undefined) return { kind: 'unless-injected', absent: [first, ...more], decision }
  return decision.verdict === 'skipped' ? left(decision) : { kind: 'starts', decision }
}
