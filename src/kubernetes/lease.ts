import { setTimeout as sleep } from 'node:timers/promises'
import { type FailureKind, failureKind } from './failure.ts'

/** Who leads, as the Lease says it; `version` is its resourceVersion. */
interface LeaseRecord {
  readonly version: string
  readonly holder: string
  readonly transitions: number
  /** How long its holder promises to be silent at most, in ms. */
  readonly duration: number
}

export interface LeaseStore {
  read(): Promise<LeaseRecord | undefined>
  create(holder: string, duration: number): Promise<void>
  update(record: LeaseRecord, next: { holder: string; duration: number }): Promise<void>
}

interface Contending {
  readonly store: LeaseStore
  readonly identity: string
  /** In ms; a leader that couldn't renew for two thirds of it stops leading. */
  readonly duration: number
  /** A clock that never jumps, in ms. */
  readonly steady: () => number
  readonly signal: AbortSignal
  readonly failed: (kind: FailureKind, error: unknown) => void
  /** Called when this process begins to lead. */
  readonly elected?: () => void
  /** Called each time it has read who leads, whoever that is: the API server answers, and the right is there. */
  readonly learned: () => void
}

/**
 * Contends for the Lease until `signal` ends. Who leads is judged as client-go does: a Lease has expired when it hasn't changed
 * for its duration by this process' own steady clock, so nobody's wall clock matters.
 */
export function contend({ store, identity, duration, steady, signal, failed, elected, learned }: Contending) {
  let renewed = Number.NEGATIVE_INFINITY
  let seen: { record: LeaseRecord; since: number } | undefined

  const report = (error: unknown) => failed(failureKind(error), error)

  /** Whether this process leads now, and for long enough to finish a write. */
  const leads = () => steady() - renewed < (duration * 2) / 3

  function held(since: number) {
    const led = leads()
    renewed = since
    if (!led && leads()) elected?.()
  }

  async function attempt() {
    const asked = steady()
    const record = await store.read()
    learned()
    if (!record) {
      await store.create(identity, duration)
      return held(asked)
    }
    if (record.version !== seen?.record.version) seen = { record, since: asked }
    const free = record.holder === '' || steady() - seen.since > record.duration
    if (record.holder !== identity && !free) {
      renewed = Number.NEGATIVE_INFINITY
      return
    }
    await store.update(record, { holder: identity, duration })
    held(asked)
  }

  async function release() {
    if (renewed === Number.NEGATIVE_INFINITY) return
    renewed = Number.NEGATIVE_INFINITY
    const record = await store.read()
    if (record?.holder === identity) await store.update(record, { holder: '', duration: 1000 })
  }

  /** Ends when `signal` does, and then gives the Lease up. */
  async function contending() {
    while (!signal.aborted) {
      // A conflict or an outage: whether we lead is decided by the last renewal, which stays as it was.
      await attempt().catch(report)
      await sleep(duration / 5, undefined, { signal }).catch(() => {})
    }
    await release().catch(report)
  }

  return { leads, ended: contending() }
}
