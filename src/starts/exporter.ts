import { setTimeout as sleep } from 'node:timers/promises'
import type { CoreV1Event, KubeConfig, V1Pod } from '@kubernetes/client-node'
import { createClock } from '../kubernetes/clock.ts'
import { connection } from '../kubernetes/connection.ts'
import { type FailureKind, failureKind } from '../kubernetes/failure.ts'
import { type Followed, follow, type WireObject } from '../kubernetes/follow.ts'
import { serveHealth } from '../kubernetes/health.ts'
import { type Log, logFailure } from '../kubernetes/log.ts'
import { rawCalls } from '../kubernetes/raw.ts'
import { createKeeper, readHandover } from './handover.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { startsMetrics } from './metrics.ts'

interface ExporterSettings {
  readonly kubeconfig: KubeConfig
  /** How often pods are listed again, in ms. */
  readonly resync: number
  /** Whether namespaces are labels. */
  readonly namespaces: boolean
  /** What has been counted stands here, for the process that follows. */
  readonly state: string | undefined
  readonly log: Log
  readonly signal: AbortSignal
  readonly metricsPort: number
}

const turn = 1000
const longestPause = 10_000
/** Of events there are many times more, and they change nothing that was counted. */
const eventsResync = 6
/** Of an event a tenth of a pod is read. */
const eventsAtOnce = 500

/** `starts run`: counts the starts of pods until `signal` ends. */
export async function runExporter(settings: ExporterSettings) {
  const { kubeconfig, resync, namespaces, state, log, signal, metricsPort } = settings
  const steady = () => performance.now()
  const clock = createClock()
  const calls = rawCalls(connection(kubeconfig, { heard: clock.heard }))
  const keeper =
    state === undefined
      ? undefined
      : createKeeper(state, ({ message }) =>
          log.warn({}, `what has been counted can't be kept in ${state}: ${message}`),
        )
  let ledger: Ledger | undefined
  const metrics = startsMetrics({
    namespaces,
    steady,
    scraped() {
      ledger?.tick()
      // What nobody has asked for isn't known to anybody: the process that follows counts it again.
      if (ledger) keeper?.keep(ledger.handover())
      return ledger?.pending() ?? 0
    },
  })
  const listed = Promise.withResolvers<void>()
  const { port, ready } = await serveHealth(metrics, { port: metricsPort, signal, lacks: 'pods-not-listed' })
  log.info({ port }, 'serving metrics and health')
  const failed = (kind: FailureKind, error: unknown) => {
    metrics.failed(kind)
    logFailure(log, kind, error)
  }
  // Any answer tells the time, by which it is known whose starts are counted already.
  const answers = () =>
    calls.get('/version').then(
      () => true,
      (error) => {
        const kind = failureKind(error)
        failed(kind, error)
        return kind !== 'network' && kind !== 'timeout'
      },
    )
  for (let pause = turn; !signal.aborted && !(await answers()); pause = Math.min(2 * pause, longestPause)) {
    metrics.turned()
    await sleep(pause, undefined, { signal }).catch(() => {})
  }
  const since = await readHandover(state, clock.now())
  log.info({ since: new Date(since.until).toISOString() }, 'counts starts')
  ledger = createLedger({ now: clock.now, since, counted: metrics.counted })
  const common = { kubeconfig, calls, signal }
  const into = podsInto(ledger, () => {
    ready()
    listed.resolve()
  })
  const pods = follow({ ...common, path: '/api/v1/pods', resync, failed, into })
  const events = (['Pod', 'Node'] as const).map(async (of) => {
    // An event of a pod that isn't known is kept for a minute only.
    await Promise.race([listed.promise, pods])
    // Those of a node are where only the cluster's own may write.
    const [path, reason] =
      of === 'Pod' ? ['/api/v1/events', ''] : ['/api/v1/namespaces/default/events', ',reason=Starting']
    await follow({
      ...common,
      path,
      query: { fieldSelector: `involvedObject.kind=${of}${reason}` },
      size: eventsAtOnce,
      resync: eventsResync * resync,
      into: eventsInto(ledger, of),
      failed(kind, error) {
        ledger.events(of, kind === 'forbidden' ? 'forbidden' : 'interrupted')
        failed(kind, error)
      },
    })
  })
  while (!signal.aborted) {
    ledger.tick()
    metrics.turned()
    await sleep(turn, undefined, { signal }).catch(() => {})
  }
  await Promise.all([pods, ...events])
  await keeper?.done()
}

/** Their times are texts, whatever the type says. */
function podsInto(ledger: Ledger, done: () => void): Followed<V1Pod & WireObject> {
  let uids: Set<string> | undefined
  return {
    begins() {
      uids = new Set()
    },
    put(pod) {
      uids?.add(pod.metadata.uid ?? '')
      ledger.pod(pod)
    },
    gone: (last) => ledger.gone(last.metadata.uid ?? '', last),
    listed() {
      ledger.listed(uids ?? new Set())
      uids = undefined
      done()
    },
  }
}

function eventsInto(ledger: Ledger, of: 'Pod' | 'Node'): Followed<CoreV1Event & WireObject> {
  return {
    begins() {},
    put: ledger.event,
    // An event that expires has said what it had to say.
    gone() {},
    listed: () => ledger.events(of, 'coming'),
  }
}
