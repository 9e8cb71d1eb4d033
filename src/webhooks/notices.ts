import { define, wordsFor } from '../admission/words/define.ts'
import type { Coded, Values } from '../admission/words/values.ts'

const note = define('note')

/** What is said of webhook configurations that are made all the same. */
export const notices = {
  'rules-do-not-fit': note<{ count: number; selector: object | undefined }>('SF351', {
    example: { count: 300, selector: undefined },
    text: ({ count, selector }) => {
      const which = selector ? `of the namespaceSelector ${JSON.stringify(selector)}` : 'without a namespaceSelector'
      return `the ${count} rules ${which} are more than matchConditions can hold: every pod of the selected namespaces is sent to the webhook; use fewer rules, or list container names instead of globs`
    },
    means:
      'The API server would have to look at more than it allows an expression, so it sends every pod, which costs time.',
    next: 'Use fewer rules, or container names instead of globs.',
  }),
  'too-many-selectors': note('SF352', {
    example: { count: 900, bytes: 1_600_000 },
    text: ({ count, bytes }) =>
      `${count} distinct namespaceSelectors make webhook configurations of ${bytes} bytes, and the API server stores 1.5 MB: let rules share selectors`,
    means:
      'Each distinct namespaceSelector is a webhook of its own, and together they are larger than an object may be.',
    next: 'Let rules share selectors.',
  }),
}

type Notice = Values<typeof notices>

export const coded = (notice: Notice): Coded => ({
  code: notices[notice.kind].code,
  text: wordsFor(notices, notice),
})
