import { problems as certificates } from '../../certs/problems.ts'
import type { Entry, Explained } from '../admission/words/define.ts'
import { problems } from '../admission/words/problems.ts'
import type { Code, Grade } from '../admission/words/values.ts'
import { warnings } from '../admission/words/warnings.ts'
import { type Finding, told } from '../check/findings.ts'
import { faults, values } from '../configuration/faults.ts'
import { notices as files } from '../preview/notices.ts'
import { problems as manifests } from '../preview/problems.ts'
import { requestFaults } from '../requests/faults.ts'
import { words as scans } from '../scan/words.ts'
import { failures } from '../terminal/failures.ts'
import { notices } from '../webhooks/notices.ts'
import { findings } from './findings.ts'

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

const tables = [
  failures,
  requestFaults,
  problems,
  warnings,
  values,
  faults,
  notices,
  manifests,
  files,
  certificates,
  scans,
]

/** Every message that has a code, in the order of the codes. Those without only pass on one that has. */
export const catalogue: readonly Listed[] = [
  ...list<Finding>(findings, (one) => {
    const { code, level, text, next } = told(one)
    return { code, grade: level, text, next }
  }),
  ...tables
    .flatMap((table) => Object.entries<Entry<never> | { readonly text: unknown }>(table))
    .flatMap(([kind, entry]) =>
      'code' in entry ? [{ code: entry.code, kind, grade: entry.grade, ...entry.explained() }] : [],
    ),
].sort((a, b) => Number(a.code.slice(2)) - Number(b.code.slice(2)))
