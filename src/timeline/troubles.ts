import type { Code } from '../admission/words/values.ts'
import { likeLacking, likeReason, likeStuck } from '../outcome/likeness.ts'
import type { Judged, JudgedStart } from '../outcome/outcome.ts'
import type { Early, Lacking, Stuck, Unknown } from '../outcome/why.ts'
import {
  downCode,
  downText,
  earlyText,
  lackingCode,
  lackingNext,
  lackingText,
  laterCodes,
  outcomeCodes,
  stuckNext,
  stuckText,
  unknownText,
} from '../outcome/words.ts'

/** What is wrong with a pod's starts, or with it now, or can't be known. */
interface Whats {
  'too-early': Early
  stuck: Stuck
  /** Of starts but the first one. */
  again: Early
  down: Stuck
  lacking: Lacking
  unknown: Unknown
}
export type Part = keyof Whats
type Of<P extends Part> = { readonly part: P; readonly what: Whats[P] }
export type Trouble = { [P in Part]: Of<P> }[Part]

interface Words<W> {
  readonly code: Code
  /** Behind the number of pods. */
  readonly state: string
  readonly text: (what: W) => string
  readonly like: (what: W) => string
  /** What to do about it. @param pod `-n shop web-1` */
  readonly next?: (what: W, pod: string) => string
}

/** In the order in which they are told. */
const parts: { readonly [P in Part]: Words<Whats[P]> } = {
  'too-early': { code: outcomeCodes['too-early'], state: 'too early', text: earlyText, like: likeReason },
  stuck: { code: outcomeCodes.stuck, state: 'stuck', text: stuckText, like: likeStuck, next: stuckNext },
  again: { code: laterCodes['too-early'], state: 'started again too early', text: earlyText, like: likeReason },
  down: { code: downCode, state: 'without a running app', text: downText, like: likeStuck, next: stuckNext },
  lacking: { code: lackingCode, state: 'without a sidecar', text: lackingText, like: likeLacking, next: lackingNext },
  unknown: { code: outcomeCodes.unknown, state: 'not known', text: unknownText, like: likeReason },
}
export const partNames = Object.keys(parts) as readonly Part[]
export const codeOf = (part: Part): Code => parts[part].code

/** In words. @param pod one of those of which it is told, as in `-n shop web-1` */
export function wordsFor<P extends Part>({ part, what }: Of<P>, pod: string) {
  const { code, state, text, next } = parts[part]
  return { code, state, text: text(what), next: next?.(what, pod) }
}

/** By what the troubles of several pods are alike. */
export const likeness = <P extends Part>({ part, what }: Of<P>): string => `${part} ${parts[part].like(what)}`

/** Every start but the first one of the app that started first. */
export const laterStarts = ({ starts, app }: Pick<Judged, 'starts' | 'app'>): readonly JudgedStart[] =>
  starts.filter(({ container, nth }) => container !== app || nth > 0)

/** Each once. */
export function troublesOf(judged: Pick<Judged, 'outcome' | 'starts' | 'app' | 'down' | 'lacking'>): Trouble[] {
  const { outcome, down, lacking } = judged
  const { kind } = outcome
  const again = laterStarts(judged).flatMap((each) => (each.outcome.kind === 'too-early' ? each.outcome.reasons : []))
  const all: Trouble[] = [
    ...(kind === 'too-early' ? outcome.reasons.map((what) => ({ part: kind, what })) : []),
    ...(kind === 'stuck' ? [{ part: kind, what: outcome.reason }] : []),
    ...again.map((what) => ({ part: 'again', what }) as const),
    ...(down ? [{ part: 'down', what: down } as const] : []),
    ...lacking.map((what) => ({ part: 'lacking', what }) as const),
    ...(kind === 'unknown' ? outcome.reasons.map((what) => ({ part: kind, what })) : []),
  ]
  return [...new Map(all.map((each) => [likeness(each), each])).values()]
}
