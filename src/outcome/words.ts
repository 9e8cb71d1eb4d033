import { waiterPath } from '../admission/hook/waiter.ts'
import { keys } from '../admission/words/keys.ts'
import type { Code } from '../admission/words/values.ts'
import type { Outcome, Unjudged } from './outcome.ts'
import type { Early, Lacking, Stuck, Unknown } from './why.ts'

/** The public codes, of `check` and `timeline`. */
export const outcomeCodes = {
  held: 'SF621',
  'too-early': 'SF622',
  stuck: 'SF623',
  unknown: 'SF624',
} as const satisfies Record<Outcome['kind'], Code>
/** Of several pods. */
export const outcomeWords = {
  held: 'held until their sidecars were ready',
  'too-early': 'too early',
  stuck: 'stuck',
  unknown: 'not known',
  'no-sidecars': 'without sidecars',
} as const satisfies Record<Outcome['kind'] | 'no-sidecars', string>
export const lackingCode: Code = 'SF625'
export const downCode: Code = 'SF627'
/** Of every start but the first one. */
export const laterCodes = { 'too-early': 'SF628', unknown: 'SF629' } as const satisfies Record<string, Code>

const all = (names: readonly string[]) => names.join(' + ')

/** Which start of an app: `start 3 of app`. */
export const startText = ({ container, nth }: { readonly container: string; readonly nth: number }): string =>
  nth === 0 ? `the start of ${container}` : `start ${nth + 1} of ${container}`

/** Why an app started too early: a sentence without a full stop. */
export function earlyText(early: Early): string {
  const { why, sidecars } = early
  const names = all(sidecars)
  switch (why) {
    case 'ended':
      return `${names} ${early.wasReady ? 'was ready, ended' : 'had ended'} ${secondsText(early.ms)} before`
    case 'crashed':
      return `${names} crashed, or a hook failed, before it was ready`
    case 'timed-out':
      return `${names} ${sidecars.length > 1 ? 'were not all' : 'was not'} ready in time`
    case 'image':
      return `the image of ${names} could not be pulled`
    case 'start-failed':
      return `${names} could not be started`
    case 'kubelet-restarted':
      return `the kubelet restarted while the hook waited for ${names}, and went on without it`
    case 'never-gated':
      return `nothing waited for ${names}`
    default:
      return early satisfies never
  }
}

/** An end is known to the second. */
const secondsText = (ms: number): string => `${Math.max(1, Math.round(ms / 1000))} s`

/** On what a pod is stuck. */
export function stuckText(stuck: Stuck): string {
  const { why, container } = stuck
  switch (why) {
    case 'crashed':
      return `${container} keeps ending, and nothing behind it starts: ${stuck.message}`
    case 'image':
      return `the image of ${container} can't be pulled: ${stuck.message}`
    case 'start-failed':
      return `${container} can't be started: ${stuck.message}`
    case 'not-restarted':
      return `${container} has ended, and isn't started again: ${stuck.message}`
    case 'pod-failed':
      return `the pod has failed, and nothing in it runs any more: ${stuck.message}`
    case 'hook':
      return `it waits for ${all(stuck.sidecars)}, in the hook of ${container}`
    case 'startup-probe':
      return `the startupProbe of ${container} doesn't pass`
    case 'locked':
      return `${container} is locked until ${all(stuck.sidecars)} ${stuck.sidecars.length > 1 ? 'are' : 'is'} ready`
    case 'ended': {
      const { apps, message } = stuck
      const whom = apps.length > 0 ? `, and ${all(apps)} ${apps.length > 1 ? 'wait' : 'waits'} for it` : ''
      return `${container} has ended${whom}; nothing restarts it: ${message}`
    }
    default:
      return stuck satisfies never
  }
}

/** Why an app that has run before doesn't run now. */
export const downText = (stuck: Stuck): string =>
  stuck.why === 'crashed' ? `${stuck.container} keeps ending: ${stuck.message}` : stuckText(stuck)

/** What to do about it. @param pod `-n shop web-1` */
export function stuckNext(stuck: Stuck, pod: string): string {
  const { why, container } = stuck
  switch (why) {
    case 'locked':
      // Of what a kubelet drops when it has told 25 things of a pod, the lock's event is one.
      return stuck.ask === undefined
        ? `kubectl describe pod ${pod}`
        : `kubectl exec ${pod} -c ${stuck.ask} -- ${waiterPath} --why; kubectl logs ${pod} -c ${stuck.ask}`
    case 'crashed':
      return `kubectl logs ${pod} -c ${container} --previous`
    case 'hook':
      return `compare what the hook asks with what listens so far: a check that needs a container behind ${container} never passes; kubectl get pod ${pod} -o yaml`
    case 'ended':
    case 'pod-failed':
      return `nothing restarts it; delete the pod: kubectl delete pod ${pod}`
    case 'image':
    case 'start-failed':
    case 'not-restarted':
    case 'startup-probe':
      return `kubectl describe pod ${pod}`
    default:
      return why satisfies never
  }
}

/** What of a held start isn't proven. */
export const heldNotes = ({ unwatched, asked }: Pick<Held, 'unwatched' | 'asked'>): readonly string[] => [
  ...(unwatched.length > 0
    ? [
        `${all(unwatched)} ${unwatched.length > 1 ? 'were ready when their gates' : 'was ready when its gate'} opened, and ran on; a readinessProbe and its events would tell more`,
      ]
    : []),
  ...(asked.length > 0
    ? [
        `a probe of ${all(asked)} failed before that; the checks held when the lock opened, which with a lease was at that moment: wait --why says if there is none`,
      ]
    : []),
]
type Held = Extract<Outcome, { kind: 'held' }>

/** Some starts aren't judged. */
export const unjudgedText = ({ all, more }: Unjudged): string =>
  `${more} of ${all} starts of its apps are not judged: there are too many`

/** Why nobody can say how a pod started. */
export function unknownText({ why, sidecars, ask }: Unknown): string {
  const names = all(sidecars)
  switch (why) {
    case 'starting':
      return 'it is still starting'
    case 'locked':
      return `it is still starting, and locked until ${names} ${sidecars.length > 1 ? 'are' : 'is'} ready${ask === undefined ? '' : `; in ${ask}, ${waiterPath} --why says what is missing`}`
    case 'lost':
      return 'its app has started, and when it first did is lost: the status keeps the last two runs, and there are no events of that start'
    case 'ended':
      return 'it ended before its app began'
    case 'status-lost':
      return 'the pod has ended, and its status no longer says what its containers did'
    case 'no-app':
      return 'every container is a sidecar'
    case 'no-sidecars':
      return 'nothing says that it has sidecars'
    case 'not-waited-for':
      return `nothing waits for ${names}`
    case 'events':
      return `the pod's events are gone or may not be read, and without them a hook that failed looks like one that waited for ${names}`
    case 'node-events':
      return `the node's events (in the namespace default) are gone or may not be read, and without them a restart of the kubelet looks like a hook that waited for ${names}`
    case 'foreign-hook':
      return `${names} has a hook of its own, and nobody knows what that waited for`
    case 'startup-probe':
      return `the kubelet restarted meanwhile, and may have taken the startupProbe of ${names} for passed`
    case 'continued':
      return `the time of ${names} may have run out (on-timeout: continue)`
    case 'event-missing':
      return `the kubelet's events about ${names} are missing (it drops some where a pod has many), and without them a hook that failed looks like one that waited`
    case 'runs-lost':
      return `${names} restarted, and a status keeps the last two runs only`
    case 'same-second':
      return `${names} began or ended within seconds of that start, and nothing tells the order`
    case 'not-waited-again':
      return `${names} restarted by itself, and nothing waited for it again`
    case 'hook-lost':
      return `the kubelet restarted while a hook may have waited for ${names}, and then goes on without it`
    case 'status-late':
      return `the kubelet has not written yet what became of ${names}; ask again in some seconds`
    case 'unready-since':
      return `${names} was ready before, and its probe has failed since`
    case 'lock-restarts':
      return `${names} was ready before, and its probe has failed since; a later start waits for it only as long as ${keys.lockRestarts} says (always: until it is ready)`
    case 'handed-over':
      return `the hook ended before ${names} had to be ready, and nothing behind it was locked`
    default:
      return why satisfies never
  }
}

/** What a running app is without. */
export function lackingText({ sidecar, why, message }: Lacking): string {
  switch (why) {
    case 'crashed':
      return `${sidecar} keeps ending: ${message}`
    case 'ended':
      return `${sidecar} has ended: ${message}`
    case 'image':
      return `the image of ${sidecar} can't be pulled: ${message}`
    case 'start-failed':
      return `${sidecar} can't be started: ${message}`
    case 'not-restarted':
      return `${sidecar} has ended, and isn't started again: ${message}`
    default:
      return why satisfies never
  }
}

/** What to do about it. @param pod `-n shop web-1` */
export function lackingNext({ sidecar, why }: Lacking, pod: string): string {
  switch (why) {
    case 'crashed':
      return `kubectl logs ${pod} -c ${sidecar} --previous`
    case 'ended':
      return `kubectl logs ${pod} -c ${sidecar}`
    case 'image':
    case 'start-failed':
    case 'not-restarted':
      return `kubectl describe pod ${pod}`
    default:
      return why satisfies never
  }
}
