import { setTimeout as sleep } from 'node:timers/promises'
import { ClusterError, type FailureKind, failureKind } from '../src/kubernetes/failure.ts'
import type { Cluster, StoredConfiguration, StoredSecret } from './cluster.ts'
import { describe } from './describe.ts'
import { type Lifetimes, next, type Phase, phaseOf, type Shown, type Step } from './next.ts'
import { dropped, issued, leafOf, look, minted, signer } from './secret.ts'
import { servedCertificate } from './served.ts'

/** What the loop tells those who watch it: metrics, the log. */
export interface Observer {
  /** Another turn of the loop begins. */
  turned(leading: boolean): void
  looked(shown: Shown, phase: Phase, problems: readonly string[]): void
  took(step: Exclude<Step, { do: 'wait' }>): void
  failed(kind: FailureKind, error: unknown): void
}

export interface Keeping {
  readonly cluster: Cluster
  readonly lifetimes: Lifetimes
  /** DNS names of the leaf; the first is the one that the API server asks for. */
  readonly names: readonly string[]
  /** Whether this process may write now. */
  readonly leads: () => boolean
  /** A clock that never jumps, in ms: the settling is measured with it. */
  readonly steady: () => number
  readonly observer: Observer
  readonly signal: AbortSignal
  /** Resolves when something may have changed; the loop looks every few seconds or minutes all the same. */
  readonly changed?: (signal: AbortSignal) => Promise<void>
  /** Ends the loop after a look that found nothing to do but wait; then it looks without leading, too. */
  readonly done?: (phase: Phase) => boolean
}

interface Seen {
  readonly shown: Shown
  readonly certificates: ReadonlyMap<string, string>
  readonly problems: readonly string[]
  readonly secret: StoredSecret | undefined
  readonly configurations: readonly StoredConfiguration[]
}

const SECOND = 1000

/** Keeps the certificates as they should be until `signal` ends: looks, takes the next step, looks again. */
export async function keepCertificates(keeping: Keeping): Promise<void> {
  const { leads, observer, signal, steady, changed, done } = keeping
  let trusted: { id: string; since: number } | undefined
  let failures = 0
  while (!signal.aborted) {
    let pause = SECOND
    const leading = leads()
    observer.turned(leading)
    if (leading || done) {
      try {
        const seen = await see(keeping, (id) => {
          if (trusted?.id !== id) trusted = id === undefined ? undefined : { id, since: steady() }
          return trusted ? steady() - trusted.since : 0
        })
        const phase = phaseOf(seen.shown)
        observer.looked(seen.shown, phase, seen.problems)
        const step = next(seen.shown, keeping.lifetimes)
        if (step.do === 'wait') {
          failures = 0
          if (done?.(phase)) return
          pause = Math.min(step.until - seen.shown.now, phase === 'steady' ? 30 * SECOND : 5 * SECOND)
        } else if (leads()) {
          await take(step, seen, keeping)
          failures = 0
          observer.took(step)
          await tell(step, seen, keeping)
          continue
        }
      } catch (error) {
        observer.failed(failureKind(error), error)
        failures++
        // Spread out, so that replicas and a struggling API server don't meet in step.
        pause = Math.min(30 * SECOND, 100 * 2 ** failures) * (0.5 + Math.random() / 2)
      }
    } else trusted = undefined
    const woken = new AbortController()
    const either = AbortSignal.any([signal, woken.signal])
    // A failure is paused for in full: changes that come thick and fast must not undo the backing off.
    const change = failures === 0 ? changed?.(either).then(() => woken.abort()) : undefined
    await sleep(Math.max(pause, 50), undefined, { signal: either }).catch(() => {})
    woken.abort()
    await change?.catch(() => {})
  }
}

/** @param trustedFor given the id of the next CA while every configuration trusts it, answers for how long it has been so */
async function see(keeping: Keeping, trustedFor: (id: string | undefined) => number): Promise<Seen> {
  const { cluster, names } = keeping
  const secret = await cluster.readSecret()
  const configurations = await cluster.readConfigurations()
  const { shown, certificates, problems } = look({ secret, configurations, names, now: cluster.now() })
  const id = shown.secret?.next?.id
  const everywhere =
    id !== undefined && shown.configurations.every(({ webhooks }) => webhooks.every((ids) => ids.includes(id)))
  const nextTrustedFor = trustedFor(everywhere ? id : undefined)
  const served = await askServed(keeping, [...certificates.values()])
  return { shown: { ...shown, served, nextTrustedFor }, certificates, problems, secret, configurations }
}

/** What the ready endpoints serve; undefined when they can't be listed, which is no reason to stop. */
async function askServed({ cluster, names, observer }: Keeping, authorities: string[]): Promise<Shown['served']> {
  try {
    const endpoints = await cluster.readEndpoints()
    if (!endpoints) return undefined
    const served = await Promise.all(
      endpoints.map(async ({ host, port }) => {
        const pem = await servedCertificate({ host, port }, names[0] ?? host)
        return (pem && leafOf(pem, authorities)) || ('unanswered' as const)
      }),
    )
    // No answer from any of several: more likely a network that keeps us away than servers that all hang.
    return served.length > 0 && served.every((one) => one === 'unanswered') ? undefined : served
  } catch (error) {
    observer.failed(failureKind(error), error)
    return undefined
  }
}

async function take(step: Exclude<Step, { do: 'wait' }>, seen: Seen, keeping: Keeping): Promise<void> {
  const { cluster, lifetimes, names } = keeping
  const { secret, shown, certificates, configurations } = seen
  const at = new Date(shown.now)
  switch (step.do) {
    case 'mint': {
      const { issueAuthority } = await import('./x509.ts')
      const pair = await issueAuthority({ commonName: 'sidecar-first CA', life: lifetimes.authority, at })
      return await writeSecret(keeping, secret, minted(pair, shown.secret))
    }
    case 'issue': {
      if (!secret) throw new Error('a leaf without a Secret')
      const { issueLeaf } = await import('./x509.ts')
      const pair = await issueLeaf({ authority: signer(step.from, secret), names, life: lifetimes.leaf, at })
      return await writeSecret(keeping, secret, issued(pair, { from: step.from, secret }))
    }
    case 'trust': {
      const bundle = step.authorities.flatMap((id) => certificates.get(id) ?? []).join('')
      const lacking = configurations.filter(({ name }) => step.in.includes(name))
      // One that refuses must not keep the other from being written.
      const results = await Promise.allSettled(lacking.map((one) => cluster.writeBundle(one, bundle)))
      const failure = results.find((result) => result.status === 'rejected')
      if (failure) throw failure.reason
      return
    }
    case 'drop':
      if (!secret) throw new Error('nothing to drop without a Secret')
      return await writeSecret(keeping, secret, dropped(step.authorities, secret))
    default:
      return step satisfies never
  }
}

/** Keys take a while to make: who no longer leads by then doesn't write. */
async function writeSecret(
  { cluster, leads }: Keeping,
  secret: StoredSecret | undefined,
  changes: ReturnType<typeof minted>,
) {
  if (!leads()) throw new ClusterError('conflict', 'another process leads by now')
  if (secret) return await cluster.updateSecret(secret.version, changes)
  const data = Object.entries(changes.data).filter((entry): entry is [string, string] => entry[1] !== null)
  await cluster.createSecret(Object.fromEntries(data))
}

/** An event for each step; one that can't be written is counted and otherwise forgotten. */
async function tell(step: Exclude<Step, { do: 'wait' }>, { shown }: Seen, { cluster, observer }: Keeping) {
  try {
    await cluster.report(describe(step, shown))
  } catch (error) {
    observer.failed(failureKind(error), error)
  }
}
