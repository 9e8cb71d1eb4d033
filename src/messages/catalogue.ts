import { problems as certificates } from '../../certs/problems.ts'
import type { Explained } from '../admission/words/define.ts'
import { problems } from '../admission/words/problems.ts'
import type { Code } from '../admission/words/values.ts'
import { warnings } from '../admission/words/warnings.ts'
import { findings } from '../check/findings.ts'
import { faults, values } from '../configuration/faults.ts'
import { endings, notices as files } from '../preview/notices.ts'
import { problems as manifests } from '../preview/problems.ts'
import { requestFaults } from '../requests/faults.ts'
import { fixes } from '../scan/fix-words.ts'
import { words as scans } from '../scan/words.ts'
import { failures } from '../terminal/failures.ts'
import { trials } from '../try/words.ts'
import { notices } from '../webhooks/notices.ts'

export interface Listed extends Explained {
  readonly kind: string
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
  endings,
  findings,
  certificates,
  scans,
  fixes,
  trials,
]

/** Every message that has a code, in the order of the codes. Those without one of their own pass on another. */
export const catalogue: readonly Listed[] = tables
  .flatMap((table) => Object.entries<{ readonly explained?: () => Explained }>(table))
  .flatMap(([kind, { explained }]) => (explained ? [{ ...explained(), kind }] : []))
  .sort((a, b) => Number(a.code.slice(2)) - Number(b.code.slice(2)))
