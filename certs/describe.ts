import type { Report } from '../src/kubernetes/event.ts'
import type { LeafReason, MintReason, Shown, Step } from './next.ts'

const why: Record<MintReason | LeafReason, string> = {
  'secret-missing': 'there is no Secret',
  'authority-missing': 'there is no CA',
  'authority-unusable': "the CA can't sign: its certificate or key is damaged",
  'authority-expired': 'the CA has expired',
  'authority-due': 'the CA is under a third of its life, or under two lives of a leaf',
  'leaf-missing': 'there is no sound leaf',
  'leaf-foreign': "another CA than the Secret's has signed the leaf",
  'leaf-expired': 'the leaf has expired',
  'leaf-due': 'the leaf is under a third of its life',
  asked: 'somebody asked for it',
}

/** What has been done, as an event. */
export function describe(step: Exclude<Step, { do: 'wait' }>, { secret, strangers }: Shown): Report {
  switch (step.do) {
    case 'mint': {
      const type = step.reason === 'authority-due' || step.reason === 'asked' || !secret ? 'Normal' : 'Warning'
      return { type, reason: 'AuthorityMinted', message: `New CA: ${why[step.reason]}.` }
    }
    case 'issue':
      if (step.from === 'current') {
        return { type: 'Normal', reason: 'LeafIssued', message: `New leaf from the same CA: ${why[step.reason]}.` }
      }
      if (step.reason === 'settled') {
        return { type: 'Normal', reason: 'LeafIssued', message: 'Leaf from the new CA: every API server trusts it.' }
      }
      if (!secret?.current && strangers.length === 0) {
        return { type: 'Normal', reason: 'LeafIssued', message: 'First leaf.' }
      }
      return {
        type: 'Warning',
        reason: 'SettlingSkipped',
        message:
          'Leaf from the new CA at once: no call could succeed with what was served, it had expired or was not trusted.',
      }
    case 'trust':
      return {
        type: 'Normal',
        reason: 'TrustWritten',
        message: `caBundle of ${step.in.join(', ')} trusts ${count(step.authorities, 'CA')}.`,
      }
    case 'drop':
      return {
        type: 'Normal',
        reason: 'AuthorityDropped',
        message: `${count(step.authorities, 'old CA')} dropped: all leaves have expired.`,
      }
    default:
      return step satisfies never
  }
}

const count = ({ length }: readonly unknown[], what: string) => `${length} ${what}${length === 1 ? '' : 's'}`
