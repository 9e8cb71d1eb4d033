import type { Decision } from '../admission/decision.ts'
import { codeOf, gradeOf, type Problem, textOf, type Warning } from '../admission/words/messages.ts'
import type { Code, Grade } from '../admission/words/values.ts'
import type { ManifestObject } from './objects.ts'
import { type Spot, spotOf } from './place.ts'

/** What is said of an object, as programs read it. */
export interface Message extends Spot {
  readonly code: Code
  readonly severity: Grade
  readonly text: string
}

/** Why an object is refused, in the order of the lines, then what is warned of, the worst first. */
export function messagesOf({ object, decision }: { object: ManifestObject; decision: Decision }): readonly Message[] {
  const message = (said: Problem | Warning): Message => ({
    code: codeOf(said),
    severity: gradeOf(said),
    text: textOf(said),
    ...spotOf(said, object),
  })
  const reasons = decision.verdict === 'refused' ? decision.reasons.map(message) : []
  return [...reasons.toSorted((a, b) => a.line - b.line || a.column - b.column), ...decision.warnings.map(message)]
}

/** A message's text behind its code. */
export const line = ({ code, text }: Pick<Message, 'code' | 'text'>): string => `${code} ${text}`
