import { keys } from '../admission/words/keys.ts'
import { printable } from '../admission/words/printable.ts'
import type { Code, CodedWords, Values } from '../admission/words/values.ts'

interface Files {
  readonly files: readonly string[]
}
const listed = ({ files }: Files) => files.join(', ')

/** What is said of files and flags where nothing is wrong. */
const notices = {
  'nothing-in-it': { code: 'SF416', text: (data: Files) => `there is no manifest in ${listed(data)}` },
  'passed-over': { code: 'SF417', text: (data: Files) => `no manifests, passed over: ${listed(data)}` },
  excluded: { code: 'SF418', text: (data: Files) => `excluded: ${listed(data)}` },
  'templates-below': { code: 'SF419', text: () => "to leave a chart's templates out: --exclude templates" },
  'sidecars-nowhere': {
    code: 'SF420',
    text: ({ sidecars }: { readonly sidecars: string }) => `--sidecars: no pod here has ${printable(sidecars, 200)}`,
  },
  'nothing-to-suggest': {
    code: 'SF421',
    text: () => `nothing to suggest: no pod without ${keys.sidecars} has a sidecar that a preset knows`,
  },
} as const satisfies CodedWords

export type FileNotice = Values<typeof notices>

export const fileNoticeCode = ({ kind }: FileNotice): Code => notices[kind].code

/** A folder can have thousands of files, and anybody may have named them. The kind is known by then, so its data fits. */
export const fileNoticeText = (notice: FileNotice): string =>
  printable((notices[notice.kind] as { text: (data: FileNotice) => string }).text(notice), 4096)
