import type { Moment } from '../seen/moment.ts'
import type { Trouble } from '../seen/pod.ts'
import type { Unsure } from './gates.ts'

/** Why an app started without its sidecars. */
export type Early = {
  /** Any of them may be to blame. */
  readonly sidecars: readonly string[]
} & (
  | { readonly why: 'crashed' | 'timed-out' | 'image' | 'start-failed' | 'kubelet-restarted' | 'never-gated' }
  /** It had run, and ended `ms` before. */
  | { readonly why: 'ended'; readonly ms: number; readonly wasReady: boolean }
)

/** What keeps an app from starting. */
export type Stuck = {
  readonly since: Moment | undefined
  /** The container to look at. */
  readonly container: string
} & (
  | { readonly why: 'crashed' | 'image' | 'start-failed' | 'not-restarted' | 'pod-failed'; readonly message: string }
  /** It has ended, nothing restarts it, and these wait for it; nobody, if it is the app. */
  | { readonly why: 'ended'; readonly message: string; readonly apps: readonly string[] }
  /** A hook, a startupProbe or the lock waits for these, and has for longer than is usual. */
  | { readonly why: 'hook' | 'startup-probe'; readonly sidecars: readonly string[] }
  /** `ask`: the container whose waiter has a lease on the lock, and says what is missing. */
  | { readonly why: 'locked'; readonly sidecars: readonly string[]; readonly ask: string | undefined }
)

/** Why nobody can say. */
export interface Unknown {
  /** `lost`: the app has started, and nothing says when it first did. */
  readonly why:
    | Unsure
    | 'starting'
    | 'locked'
    | 'lost'
    | 'ended'
    /** The pod has ended, and its status has nothing of its containers. */
    | 'status-lost'
    | 'no-app'
    | 'no-sidecars'
    | 'not-waited-for'
    /** It restarted by itself, and no hook ran again. */
    | 'not-waited-again'
    /** It began or ended in the second in which the app began. */
    | 'same-second'
    /** The kubelet has told of the start, and not yet written what ran then. */
    | 'status-late'
    /** It was ready, and its probe failed after that. */
    | 'unready-since'
    /** The same of a later start, which a lease holds back for a while only. */
    | 'lock-restarts'
    /** The pod is young, and the event is missing all the same. */
    | 'event-missing'
  readonly sidecars: readonly string[]
  /** Of one that is locked: the container whose waiter says what is missing. */
  readonly ask?: string | undefined
}

/** Whether its app is still to start. */
export const isToStart = ({ why }: Unknown): boolean => why === 'starting' || why === 'locked'

/** A sidecar that a running app is without, now. */
export interface Lacking {
  readonly sidecar: string
  readonly why: Exclude<Trouble['why'], 'locked'>
  readonly message: string
}
