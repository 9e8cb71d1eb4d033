import type { CoreV1Event, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import { app, proxy } from '../scan/pods.ts'

/** A pod of a world: when what happens to it, in ms. */
export interface Life {
  readonly uid: string
  /** Given to its node. */
  readonly given: number
  /** After that. */
  readonly proxy: number
  readonly app: number
  /** The app's first run ends with an error so long after its start, and is restarted. */
  readonly fails: number | undefined
  readonly gone: number
  readonly node: string
  /** How far the node's clock is ahead. */
  readonly ahead: number
}

const wire = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z') as unknown as Date

/** As the API server shows it at a time; undefined when it isn't there. */
export function podAt(
  { uid, given, proxy: first, app: second, fails, gone, node, ahead }: Life,
  at: number,
): V1Pod | undefined {
  if (at < given - 1000 || at >= gone) return undefined
  const local = (ms: number) => wire(given + ms + ahead)
  const status = (name: string, start: number, failsAt: number | undefined): V1ContainerStatus => {
    const base = { name, image: name, imageID: name, restartCount: 0, lastState: {} }
    if (at < given + start)
      return { ...base, ready: false, started: false, state: { waiting: { reason: 'ContainerCreating' } } }
    const restarted = failsAt !== undefined && at >= given + start + failsAt
    const running = { running: { startedAt: local(start + (restarted ? failsAt : 0)) } }
    if (!restarted) return { ...base, ready: true, started: true, state: running }
    const terminated = { exitCode: 1, reason: 'Error', startedAt: local(start), finishedAt: local(start + failsAt) }
    return { ...base, ready: true, started: true, restartCount: 1, state: running, lastState: { terminated } }
  }
  const isGiven = at >= given
  return {
    metadata: { name: uid, namespace: 'shop', uid, creationTimestamp: wire(given - 1000) },
    spec: { containers: [app, proxy], ...(isGiven && { nodeName: node }) },
    status: {
      phase: at >= given + first ? 'Running' : 'Pending',
      ...(isGiven && {
        startTime: local(0),
        conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: wire(given) }],
        containerStatuses: [status('app', second, fails), status('istio-proxy', first, undefined)],
      }),
    },
  }
}

/** Its events, each with the time from which the API server shows it. */
export function eventsOf({
  uid,
  given,
  proxy: first,
  app: second,
  fails,
  gone,
  node,
  ahead,
}: Life): { from: number; event: CoreV1Event }[] {
  /** @param again so long after the first time it happens for the second time: it's the same event with another count */
  const event = (reason: string, ms: number, container?: string, again?: number) => {
    const at = given + ms + (container ? ahead : 0)
    const name = `${uid}.${(BigInt(at) * 1_000_000n).toString(16).padStart(16, '0')}`
    return {
      from: given + ms + (again ?? 0),
      event: {
        metadata: { name, namespace: 'shop' },
        involvedObject: { kind: 'Pod', uid, ...(container && { fieldPath: `spec.containers{${container}}` }) },
        source: container ? { component: 'kubelet', host: node } : { component: 'default-scheduler' },
        reason,
        count: again === undefined ? 1 : 2,
        firstTimestamp: wire(at),
        lastTimestamp: wire(at + (again ?? 0)),
      } as CoreV1Event,
    }
  }
  return [
    event('Scheduled', 0),
    event('Pulled', first - 20, 'istio-proxy'),
    event('Started', first, 'istio-proxy'),
    event('Pulled', second - 20, 'app'),
    event('Started', second, 'app'),
    ...(fails !== undefined && given + second + fails < gone ? [event('Started', second, 'app', fails)] : []),
  ]
}
