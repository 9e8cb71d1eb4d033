import { printable } from '../src/admission/words/printable.ts'
import type { Report } from '../src/kubernetes/event.ts'
import type { LeafReason, MintReason, Shown, Step, Stranger } from './decide-step.ts'

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

const event = (type: Report['type']) => (reason: string, message: string) => ({ type, reason, message })
const normal = event('Normal')
const warning = event('Warning')

/** A step that was taken, as an event. */
export function describe(step: Exclude<Step, { do: 'wait' }>, { secret, strangers }: Shown): Report {
  switch (step.do) {
    case 'mint': {
      const asked = step.reason === 'authority-due' || step.reason === 'asked' || !secret
      return (asked ? normal : warning)('AuthorityMinted', `New CA: ${why[step.reason]}.`)
    }
    case 'issue':
      if (step.from === 'current') return normal('LeafIssued', `New leaf from the same CA: ${why[step.reason]}.`)
      if (step.reason === 'settled') return normal('LeafIssued', 'Leaf from the new CA: every API server trusts it.')
      if (!secret?.current && strangers.length === 0) return normal('LeafIssued', 'First leaf.')
      return warning(
        'SettlingSkipped',
        'Leaf from the new CA at once: no call could succeed with what was served, it had expired or was not trusted.',
      )
    case 'trust':
      return normal('TrustWritten', `caBundle of ${step.in.join(', ')} trusts ${count(step.authorities, 'CA')}.`)
    case 'drop':
      return normal('AuthorityDropped', `${count(step.authorities, 'old CA')} dropped: all leaves have expired.`)
    default:
      return step satisfies never
  }
}

/** A step that somebody keeps undoing: told once. */
export function describeUndone(step: Exclude<Step, { do: 'wait' }>, { secret }: Shown): Report {
  const object = step.do === 'trust' ? `the caBundle of ${step.in.join(', ')}` : 'the Secret'
  const blocked = step.do === 'trust' && secret?.next !== undefined
  const rotation = blocked
    ? ' Until the caBundle keeps the new CA, the rotation waits: leaves still come from the old CA.'
    : ''
  return warning(
    'ChangeUndone',
    `Somebody keeps undoing the last change of ${object}; it is now repeated every 30 seconds.${rotation} Who it is: kubectl get with --show-managed-fields.`,
  )
}

/** A CA that a configuration trusts and the Secret doesn't have: told once. */
export function describeStranger({ id, expires, subject }: Stranger, { configurations }: Shown): Report {
  const trusting = configurations.filter(({ webhooks }) => webhooks.some((ids) => ids.includes(id)))
  const name = printable((subject ?? '').replaceAll('\n', ', '), 200)
  const until = new Date(expires).toISOString()
  return warning(
    'UnknownAuthorityTrusted',
    `The caBundle of ${trusting.map((one) => one.name).join(', ')} has a CA that isn't in the Secret: ${name} (SHA-256 ${id}), valid until ${until}. It stays trusted until then, because replicas may still serve its leaves.`,
  )
}

const count = ({ length }: readonly unknown[], what: string) => `${length} ${what}${length === 1 ? '' : 's'}`
