import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from '../src/kubernetes/event.ts'
import { ClusterError, type FailureKind, failureKind } from '../src/kubernetes/failure.ts'
import { Attempts } from './attempts.ts'
import type { Cluster, StoredSecret } from './cluster.ts'
import { type Lifetimes, next, type Phase, phaseOf, type Shown, type Step } from './decide-step.ts'
import { describe, describeStranger, describeUndone } from './describe.ts'
import type { CertificateProblem } from './problems.ts'
import { dropped, issued, leafOf, look, minted, signer } from './secret.ts'
import { servedCertificate } from './served.ts'

/** What the loop tells its observers: metrics and the log. */
export interface CertsObserver {
  /** Another turn of the loop begins. */
  turned(leading: boolean): void
  looked(shown: Shown, phase: Phase, problems: readonly CertificateProblem[]): void
  /** A step was taken. @param report what to tell people about it, unless they have heard it before */
  took(step: Action, report: Report | undefined): void
  /** Something that people should know, told once. */
  noticed(report: Report): void
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
  readonly observer: CertsObserver
  readonly signal: AbortSignal
  /** Aborts when something may have changed from now on; the loop looks every few seconds or minutes all the same. */
  readonly changed: () => AbortSignal
  /** Ends the loop after a look with nothing to do but wait; the loop then looks without leading, too. */
  readonly done?: (phase: Phase) => boolean
}

const second = 1000

type Action = Exclude<Step, { do: 'wait' }>

/** Keeps the certificates as they should be until `signal` aborts: it looks, takes the next step, and looks again. */
export async function keepCertificates(keeping: Keeping): Promise<void> {
  const { leads, observer, signal, steady, changed, done } = keeping
  let trusted: { id: string; since: number } | undefined
  const attempts = new Attempts()
  const known = new Set<string>()
  let failures = 0
  while (!signal.aborted) {
    let pause = second
    let undone = false
    const change = changed()
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
        if (leads()) await tellStrangers(seen.shown, known, keeping)
        const step = next(seen.shown, keeping.lifetimes)
        if (step.do === 'wait') {
          failures = 0
          if (done?.(phase)) return
          pause = Math.min(step.until - seen.shown.now, phase === 'steady' ? 30 * second : 5 * second)
        } else if (leads()) {
          const due = attempts.due(step, seen.shown, steady())
          if ('step' in due) {
            await take(due.step, seen, keeping)
            failures = 0
            const report = reportOf(due.step, attempts.take(due.step, seen.shown, steady()), seen.shown)
            observer.took(due.step, report)
            if (report) await tell(report, keeping)
            continue
          }
          // Somebody undoes what is done: other changes are still noticed within a second.
          undone = true
          pause = Math.min(due.at - steady(), second)
        }
      } catch (error) {
        observer.failed(failureKind(error), error)
        failures++
        // Spread out, so that replicas don't call a struggling API server at the same time.
        pause = Math.min(30 * second, 100 * 2 ** failures) * (0.5 + Math.random() / 2)
      }
    } else trusted = undefined
    // After a failure it waits in full: frequent changes must not undo the backing off.
    const until = failures === 0 && !undone ? AbortSignal.any([signal, change]) : signal
    await sleep(Math.max(pause, 50), undefined, { signal: until }).catch(() => {})
  }
}

/** @param trustedFor gets the id of the next CA while every configuration trusts it, and says for how long */
async function see(keeping: Keeping, trustedFor: (id: string | undefined) => number) {
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

/** What the ready endpoints serve; undefined if they can't be listed, which is no reason to stop. */
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
    // If none answers, it is more likely the network than servers that all hang.
    return served.length > 0 && served.every((one) => one === 'unanswered') ? undefined : served
  } catch (error) {
    observer.failed(failureKind(error), error)
    return undefined
  }
}

async function take(step: Action, seen: Awaited<ReturnType<typeof see>>, keeping: Keeping): Promise<void> {
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

/** Keys take a while to make: a process that no longer leads by then doesn't write. */
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

/** What to tell about a step: the first repetition as well, then once that somebody undoes it. */
function reportOf(step: Action, repeats: number, shown: Shown): Report | undefined {
  if (repeats === 2) return describeUndone(step, shown)
  return repeats < 2 ? describe(step, shown) : undefined
}

/** @param known the ids of those that have been told */
async function tellStrangers(shown: Shown, known: Set<string>, keeping: Keeping) {
  for (const stranger of shown.strangers) {
    if (known.has(stranger.id) || shown.now >= stranger.expires) continue
    known.add(stranger.id)
    const report = describeStranger(stranger, shown)
    keeping.observer.noticed(report)
    await tell(report, keeping)
  }
}

/** Writes an event; a failure is counted and otherwise ignored. */
async function tell(report: Report, { cluster, observer }: Keeping) {
  try {
    await cluster.report(report)
  } catch (error) {
    observer.failed(failureKind(error), error)
  }
}
