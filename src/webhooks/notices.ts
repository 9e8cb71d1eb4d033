import type { Coded, CodedWords, Values } from '../admission/words/values.ts'

/** What is said of webhook configurations that are made all the same. */
const notices = {
  'rules-do-not-fit': {
    code: 'SF351',
    text: ({ count, selector }: { readonly count: number; readonly selector: object | undefined }) => {
      const which = selector ? `of the namespaceSelector ${JSON.stringify(selector)}` : 'without a namespaceSelector'
      return `the ${count} rules ${which} are more than matchConditions can hold: every pod of the selected namespaces is sent to the webhook; use fewer rules, or list container names instead of globs`
    },
  },
  'too-many-selectors': {
    code: 'SF352',
    text: ({ count, bytes }: { readonly count: number; readonly bytes: number }) =>
      `${count} distinct namespaceSelectors make webhook configurations of ${bytes} bytes, and the API server stores 1.5 MB: let rules share selectors`,
  },
} as const satisfies CodedWords

export type Notice = Values<typeof notices>

export const noticeCode = ({ kind }: Notice) => notices[kind].code
/** The kind is known by then, so its data fits. */
export const noticeText = (notice: Notice): string =>
  (notices[notice.kind] as { text: (data: Notice) => string }).text(notice)

export const coded = (notice: Notice): Coded => ({ code: noticeCode(notice), text: noticeText(notice) })
