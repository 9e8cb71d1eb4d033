import { type Problem as CertificateProblem, problemCode, problemText } from '../../certs/problems.ts'
import type { Entry, Explained } from '../admission/words/define.ts'
import { problems } from '../admission/words/problems.ts'
import type { Code, Grade } from '../admission/words/values.ts'
import { warnings } from '../admission/words/warnings.ts'
import { type Finding, told } from '../check/findings.ts'
import {
  type Fault,
  faultCode,
  faultText,
  isNotice,
  valueCode,
  valueText,
  type WrongValue,
} from '../configuration/faults.ts'
import { type FileNotice, fileNoticeCode, fileNoticeText } from '../preview/notices.ts'
import {
  type Fault as ManifestFault,
  faultCode as manifestCode,
  faultText as manifestText,
} from '../preview/problems.ts'
import { type RequestFaultKind, requestFaults } from '../requests/faults.ts'
import { type Said, told as scanned } from '../scan/words.ts'
import { type Failure, failures } from '../terminal/failures.ts'
import { type Notice, noticeCode, noticeText } from '../webhooks/notices.ts'
import { certificates } from './certificates.ts'
import { commands, notices } from './commands.ts'
import { faults, values } from './configuration.ts'
import { findings } from './findings.ts'
import { fileNotices, manifests } from './manifests.ts'
import { requests } from './requests.ts'
import { scans } from './scan.ts'

/** A message as users can look it up. */
export interface Listed extends Explained {
  readonly code: Code
  readonly kind: string
  readonly grade: Grade
}

/** By the hundred of the code. */
export const areas = {
  0: 'Commands and requests that end without what was asked for',
  1: 'Refused pods',
  2: 'Warnings and notes about pods',
  3: 'Configuration',
  4: 'Manifests that cannot be read, and notes about files',
  5: 'Findings about an installation',
  6: 'Findings about a pod or workload',
  7: 'Certificates',
  8: 'Rollouts',
  9: 'Scans',
} as const

export const areaOf = (code: Code): number => Math.floor(Number(code.slice(2)) / 100)

type Told = Pick<Listed, 'code' | 'grade' | 'text'> & { readonly next?: string | undefined }

/** The kinds of a table are those of its entries, and the example fits its kind. */
function list<T extends { readonly kind: string }>(
  entries: { readonly [kind: string]: { readonly means?: string; readonly next?: string; readonly example?: object } },
  tell: (message: T) => Told,
): readonly Listed[] {
  return Object.entries(entries).map(([kind, { means = '', next = '', example }]) => {
    const said = tell({ ...example, kind } as unknown as T)
    return { ...said, kind, means, next: said.next === undefined ? next : `\`${said.next}\`` }
  })
}

function listed(set: {
  readonly [kind: string]: Pick<Entry<never>, 'code' | 'grade' | 'explained'>
}): readonly Listed[] {
  return Object.entries(set).map(([kind, { code, grade, explained }]) => ({ code, kind, grade, ...explained() }))
}

/** Every message that has a code, in the order of the codes. */
export const catalogue: readonly Listed[] = [
  ...[problems, warnings].flatMap(listed),
  ...list<WrongValue>(values, (one) => ({
    code: valueCode(one),
    grade: 'refusal',
    text: `rules[0].name: ${valueText(one)}`,
  })),
  ...list<Fault>(faults, (one) => ({
    code: faultCode(one),
    grade: isNotice(one) ? 'note' : 'refusal',
    text: faultText(one),
  })),
  ...list<ManifestFault>(manifests, (one) => ({ code: manifestCode(one), grade: 'refusal', text: manifestText(one) })),
  ...list<FileNotice>(fileNotices, (one) => ({
    code: fileNoticeCode(one),
    grade: 'note',
    text: fileNoticeText(one),
  })),
  ...list<Finding>(findings, (one) => {
    const { code, level, text, next } = told(one)
    return { code, grade: level, text, next }
  }),
  ...Object.entries(commands).map(
    ([kind, entry]): Listed => ({
      ...entry,
      code: failures[kind as Failure],
      kind,
      grade: 'refusal',
    }),
  ),
  ...Object.entries(requests).map(
    ([kind, entry]): Listed => ({
      ...entry,
      code: requestFaults[kind as RequestFaultKind].code,
      kind,
      grade: 'refusal',
    }),
  ),
  ...list<Notice>(notices, (one) => ({ code: noticeCode(one), grade: 'note', text: noticeText(one) })),
  ...list<Said>(scans, scanned),
  ...list<CertificateProblem>(certificates, (one) => ({
    code: problemCode(one),
    grade: 'problem',
    text: problemText(one),
  })),
].sort((a, b) => Number(a.code.slice(2)) - Number(b.code.slice(2)))
