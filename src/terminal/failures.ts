import type { Code } from '../admission/words/values.ts'

/** Why a command ends without what it was asked for, each kind once, with its public code. What exactly is told where it happens. */
export const failures = {
  'unknown-command': 'SF001',
  'unknown-flag': 'SF002',
  'flag-value': 'SF003',
  'flags-together': 'SF004',
  'wrong-arguments': 'SF005',
  unreadable: 'SF006',
  'no-manifest': 'SF007',
  'not-there': 'SF008',
  'would-harm': 'SF009',
  'not-in-time': 'SF010',
  'unfit-cluster': 'SF011',
  'bad-certificate': 'SF012',
  'cannot-listen': 'SF013',
  kubeconfig: 'SF014',
  'call-conflict': 'SF015',
  'call-forbidden': 'SF016',
  'call-missing': 'SF017',
  'call-invalid': 'SF018',
  'call-timeout': 'SF019',
  'call-throttled': 'SF020',
  'call-server': 'SF021',
  'call-network': 'SF022',
  'call-other': 'SF023',
  'old-node': 'SF024',
  declined: 'SF025',
} as const satisfies Record<string, Code>

export type Failure = keyof typeof failures
