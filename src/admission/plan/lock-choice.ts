import { lockedBy, lockVolume } from '../hook/lock-names.ts'
import { openedBy } from '../hook/unwrap.ts'
import { installs, waiterName } from '../hook/waiter.ts'
import type { Context } from '../intent/context.ts'
import type { Intent } from '../intent/intent.ts'
import { restartPolicyOf } from '../pod/kind.ts'
import type { Pod, Spec } from '../pod/pod.ts'
import type { LockChoice } from '../words/choices.ts'
import { keys } from '../words/keys.ts'
import type { NoLock, Problem, Warning } from '../words/messages.ts'
import type { Gate } from './gate.ts'
import type { Member } from './line-up.ts'
import { knowsLock, opens } from './lock.ts'

/** Whether the app of a pod is locked. */
type Locking =
  /** `regardless`: of what `auto` makes exceptions for. */
  | { readonly kind: 'on'; readonly regardless: boolean }
  | { readonly kind: 'off'; readonly notes: readonly Warning[] }
  | { readonly kind: 'impossible'; readonly problem: Problem }

const off = (...notes: readonly Warning[]): Locking => ({ kind: 'off', notes })

/** What the pod and its cluster say, before it is known what there is to lock. */
export function lockingOf({ metadata, spec }: Pod, { lock }: Intent, context: Context): Locking {
  const { configuration, surroundings } = context
  const { choice, asked, certain } = lock
  // A replica with another configuration may have patched it, or webhook configurations of before have called.
  if (surroundings.asker === 'final' && !certain) return hasLock(spec) ? { kind: 'on', regardless: true } : off()
  const knows = knowsLock(configuration)
  switch (choice) {
    case 'off':
      return off()
    case 'on': {
      if (knows !== false) return { kind: 'on', regardless: true }
      const { major, minor } = configuration.kubernetesVersion ?? { major: 0, minor: 0 }
      return { kind: 'impossible', problem: { kind: 'lock-unknown', version: `${major}.${minor}`, path: keys.lock } }
    }
    case 'auto': {
      if (knows !== true || surroundings.asker === 'unlocked') return off()
      if (!asked) return off({ kind: 'no-lock-by-rule' })
      if (hasOtherWaiter(spec, configuration.waiter.image)) return off({ kind: 'no-lock', why: 'other-waiter' })
      const { runtimeClassName } = spec
      if (runtimeClassName !== '' && !configuration.runtimeClasses.has(runtimeClassName)) {
        return off({ kind: 'no-lock', why: 'runtime-class' })
      }
      if (spec.virtualNode()) return off({ kind: 'no-lock', why: 'virtual-node' })
      const isTekton = [...metadata.labels.keys()].some((key) => key.startsWith('tekton.dev/'))
      return isTekton ? off({ kind: 'no-lock', why: 'tekton' }) : { kind: 'on', regardless: false }
    }
    default:
      return choice satisfies never
  }
}

/** Why these gates lock nothing after all; `unasked` where nobody has to know. */
export function withoutLock(
  gates: readonly Gate[],
  { spec }: Pod,
  { choice, regardless }: { readonly choice: LockChoice; readonly regardless: boolean },
): NoLock | 'unasked' | undefined {
  const opening = gates.filter(opens)
  if (opening.length === 0) return choice === 'on' ? 'no-hook' : 'unasked'
  if (regardless) return undefined
  const isLost = ({ container }: Member) => restartPolicyOf(container, spec) === 'Never'
  if (opening.some(({ native, members }) => !native && members.some(isLost))) return 'never-restarted'
  const polls = opening.some(({ members }) => members.some(({ resolved }) => resolved.kind === 'polled'))
  return polls ? undefined : 'own-hook'
}

/** Whether something waits for a lock or opens one: what was locked has to be so as a whole. The volume alone may be the author's. */
const hasLock = ({ initContainers, containers, volumes }: Spec): boolean =>
  [...initContainers, ...containers].some(
    (each) => openedBy(each.postStart) !== undefined || each.variables().some(lockedBy(volumes)),
  )

/**
 * Whether an earlier pass without a lock has left a waiter of another image, which may be too old for one: a template that `inject` wrote, a
 * replica of before. A mirror that somebody puts in later changes nothing: the lock is there by then.
 */
function hasOtherWaiter({ initContainers, volumes }: Spec, image: string): boolean {
  const installer = initContainers.find(({ name }) => name === waiterName)
  if (installer !== undefined) return installs(installer.command) === 'without-reset' && installer.image !== image
  const volume = volumes.find(({ name }) => name === waiterName)
  return volume?.image === true && volume.imageReference !== image && !volumes.some(({ name }) => name === lockVolume)
}
