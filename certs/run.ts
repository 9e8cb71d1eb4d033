import type { Report } from '../src/kubernetes/event.ts'
import { serveHealth } from '../src/kubernetes/health.ts'
import { contend } from '../src/kubernetes/lease.ts'
import { candidateName } from '../src/kubernetes/lease-store.ts'
import { type Log, logFailure } from '../src/kubernetes/log.ts'
import type { Lifetimes } from './decide-step.ts'
import { type CertsObserver, type Keeping, keepCertificates } from './keep.ts'
import { type Connecting, kubernetes, watchChanges } from './kubernetes.ts'
import { certsMetrics } from './metrics.ts'
import { problemText } from './problems.ts'
import { serviceNames } from './x509.ts'

export interface CertsSettings extends Connecting {
  readonly lifetimes: Lifetimes
  /** How long a leader may be silent before another takes over, in ms. */
  readonly lease: number
  /** More names for the leaf, for a webhook that is called by URL. */
  readonly extraNames: readonly string[]
  readonly log: Log
  readonly signal: AbortSignal
}

/** `certs run`: keeps the certificates until `signal` aborts. @param metricsPort 0 picks a free one */
export async function run(settings: CertsSettings, metricsPort: number): Promise<void> {
  const { signal, log } = settings
  const metrics = certsMetrics(() => performance.now())
  const { port, ready } = await serveHealth(metrics, { port: metricsPort, signal, lacks: 'lease-not-read' })
  log.info({ port }, 'serving metrics and health')
  await keep(settings, { observer: logging(log, metrics.observer), learned: ready })
}

/** `certs once`: until certificates exist and are trusted, or `signal` aborts. @returns which */
export async function bootstrap(settings: CertsSettings): Promise<boolean> {
  let finished = false
  const stop = new AbortController()
  const signal = AbortSignal.any([settings.signal, stop.signal])
  await keep(
    { ...settings, signal },
    {
      observer: logging(settings.log),
      learned() {},
      done(phase) {
        finished = phase === 'steady' || phase === 'retiring' || phase === 'switching'
        if (finished) stop.abort()
        return finished
      },
    },
  )
  return finished
}

async function keep(
  settings: CertsSettings,
  { observer, learned, done }: Pick<Keeping, 'observer' | 'done'> & { readonly learned: () => void },
) {
  const { kubeconfig, names, lifetimes, extraNames, signal } = settings
  const steady = () => performance.now()
  const { cluster, lease } = kubernetes(settings)
  const bell = createBell()
  const candidate = contend({
    store: lease,
    identity: candidateName(),
    duration: settings.lease,
    steady,
    signal,
    failed: observer.failed,
    elected: bell.ring,
    learned,
  })
  const watching = watchChanges(kubeconfig, names, { signal, changed: bell.ring })
  await keepCertificates({
    cluster,
    lifetimes,
    names: [...serviceNames(names.service, names.namespace), ...extraNames],
    leads: candidate.leads,
    steady,
    observer,
    signal,
    changed: bell.next,
    ...(done && { done }),
  })
  await Promise.all([candidate.ended, watching])
}

function createBell() {
  let coming = new AbortController()
  return {
    ring() {
      const rung = coming
      coming = new AbortController()
      rung.abort()
    },
    /** Aborts at the next ring. */
    next: () => coming.signal,
  }
}

/** One line for each change, not for each look. @param to is told as well */
function logging(log: Log, to?: CertsObserver): CertsObserver {
  let was = ''
  let led: boolean | undefined
  const tell = ({ type, reason, message }: Report, fields = {}) =>
    log[type === 'Normal' ? 'info' : 'warn']({ ...fields, reason }, message)
  return {
    turned(leading) {
      to?.turned(leading)
      if (leading !== led) log.info({ leading }, leading ? 'leads' : 'follows')
      led = leading
    },
    looked(seen, phase, found) {
      to?.looked(seen, phase, found)
      const problems = found.map(problemText)
      const now = JSON.stringify([phase, problems])
      if (now === was) return
      was = now
      if (problems.length > 0) log.warn({ phase, problems }, 'the Secret is damaged')
      else log.info({ phase }, `phase: ${phase}`)
    },
    took(step, report) {
      to?.took(step, report)
      if (report) tell(report, { step: step.do })
    },
    noticed: (report) => tell(report),
    failed(kind, error) {
      to?.failed(kind, error)
      logFailure(log, kind, error)
    },
  }
}
