import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { event, type Lived, lived } from './lived.ts'
import type { Seen } from './seen.ts'

// A model of the kubelet, written apart from the code that judges: it starts a pod's containers as Kubernetes' source says, with delays, and shows
// what a cluster would show of them, with more delays. Times in ms after the pod was given to its node.

/** One run of a sidecar: how long after its start it is ready, and when it ends by itself; `down`: each time so long after it got ready, it answers nothing for so long. */
export interface Run {
  readonly ready?: number | undefined
  readonly ends?: number | undefined
  readonly code?: number
  readonly down?: { readonly after: number; readonly lasts: number } | undefined
}

export interface Plan {
  readonly gate: 'hook' | 'native'
  readonly locked: boolean
  /** How long a later open sleeps where the lock's file is leased, in ms; `refused`: the node has no leases, though the hook asks for one. */
  readonly lease: number | 'always' | 'refused' | undefined
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never'
  readonly probed: boolean
  readonly timeout: number
  readonly onTimeout: 'fail' | 'continue'
  /** One tier, in their order; of each its runs, of which the last one repeats. Its last member has the hook. */
  readonly sidecars: readonly (readonly Run[])[]
  readonly app: { readonly pull: number; readonly lasts?: number | undefined; readonly code: number }
  /** When the kubelet is restarted. */
  readonly restarts: readonly number[]
  /** So long everything takes at most: a step of the kubelet, a write to the API server. */
  readonly slow: number
  /** Of a hundred events so many are lost. */
  readonly lost: number
  readonly seed: number
  /** When somebody looks. */
  readonly until: number
}

/**
 * What one start of the app found, of each sidecar in their order; `down`: one that had been ready, and runs, and doesn't answer; `unseen`: and no
 * probe has seen that, or not long enough ago to be told by now.
 */
export interface Found {
  readonly at: number
  readonly answered: readonly ('yes' | 'down' | 'unseen' | 'no')[]
}

interface Real extends Run {
  readonly began: number
  readonly startedAt: number
  ended: number
}

interface Box {
  readonly name: string
  readonly kind: 'native' | 'regular'
  readonly runs: Real[]
  /** When a probe failed. */
  readonly failures: number[]
  begun: boolean
  pulled: boolean
  /** Why it couldn't be created. */
  refused: boolean
  backOff: number
  worker: { run: Real; next: number; ready: boolean } | undefined
}

interface Told {
  readonly reason: string
  readonly container: string
  readonly message: string
  readonly first: number
  count: number
}

class Restart extends Error {}

const appName = 'app'
const handOver = 30_000
/** So long an open sleeps at most. */
const round = 30_000
const burst = 25
const forever = Number.POSITIVE_INFINITY

/** A pod's life up to `until`: what its app found, and what a cluster shows of it then. */
export function simulate(plan: Plan): {
  readonly found: readonly Found[]
  /** Since when the app runs, if it does. */
  readonly runs: number | undefined
  readonly seen: Seen
} {
  const { sidecars, app, slow, until } = plan
  const random = randomBy(plan.seed)
  /** Mostly short. */
  const delay = (most = slow) => random() ** 3 * most
  let now = 0
  const found: Found[] = []
  const members = sidecars.map(
    (_, index): Box => box(`sidecar-${index}`, plan.gate === 'native' ? 'native' : 'regular'),
  )
  const carrier = members.at(-1)
  const main = box(appName, 'regular')
  const all = [...members, main]

  // What the kubelet tells.
  let cache = new Map<string, Told>()
  let tokens = burst
  let refilled = 0
  const shownEvents: { readonly visible: number; readonly of: Told; readonly count: number; readonly last: number }[] =
    []
  const tell = (at: number, reason: string, container: string, message = '') => {
    const key = `${reason} ${container} ${message}`
    const told = cache.get(key) ?? { reason, container, message, first: at, count: 0 }
    cache.set(key, told)
    told.count++
    tokens = Math.min(burst, tokens + (at - refilled) / 300_000)
    refilled = at
    // Of a probe's failure that is lost nobody can know.
    if (tokens < 1 || (reason !== 'Unhealthy' && random() * 100 < plan.lost)) return
    tokens--
    shownEvents.push({ visible: at + delay(), of: told, count: told.count, last: at })
  }
  const kubelet: number[] = [-30_000]

  // What it writes.
  const statuses: { visible: number; readonly boxes: readonly Lived[]; unready: number | undefined }[] = []
  let unready: number | undefined = 0
  const publish = (boxes: readonly Lived[]) => {
    const allReady = boxes.every(({ runs, unready: not }) => runs.at(-1)?.[1] === undefined && runs.length > 0 && !not)
    unready = allReady ? undefined : (unready ?? now)
    const visible = Math.max(now + delay(), statuses.at(-1)?.visible ?? 0)
    statuses.push({ visible, boxes, unready })
  }

  const pending = [...plan.restarts].toSorted((a, b) => a - b)
  function advance(by: number): void {
    const to = now + by
    for (;;) {
      const probe = all
        .filter(({ worker }) => worker)
        .toSorted((a, b) => (a.worker?.next ?? 0) - (b.worker?.next ?? 0))[0]
      const due = Math.min(probe?.worker?.next ?? forever, pending[0] ?? forever, to, until)
      now = Math.max(now, due)
      if (now >= until) throw new Restart('over')
      if (pending[0] !== undefined && now >= pending[0]) {
        pending.shift()
        throw new Restart('restarted')
      }
      if (now >= to) return
      if (probe?.worker) ask(probe, probe.worker)
    }
  }

  function ask(asked: Box, worker: NonNullable<Box['worker']>): void {
    worker.next = now + 1000 + delay(200)
    if (worker.run.ended <= now) {
      asked.worker = undefined
      return
    }
    const ready = isReady(worker.run, now)
    if (!ready) {
      tell(now, 'Unhealthy', asked.name, 'Readiness probe failed: 503')
      asked.failures.push(now)
    }
    if (ready === worker.ready) return
    worker.ready = ready
    const last = statuses.at(-1)?.boxes
    if (last) publish(last.map((each) => (each.name === asked.name ? { ...each, unready: !ready } : each)))
  }

  // The lock's file: emptied by each hook, written once all members have been ready; or leased, and each open answered.
  const isLeased = plan.locked && plan.lease !== undefined && plan.lease !== 'refused'
  let hooked: { readonly at: number; readonly run: Real; answered: boolean } | undefined
  const opened = () => {
    if (!hooked) return forever
    const { at, run } = hooked
    const when = Math.max(...members.map((member) => firstReady(member, at)))
    return when < run.ended ? when : forever
  }

  function start(one: Box): boolean {
    one.begun = true
    advance(delay())
    if (one === main && app.pull > 0 && !one.pulled) {
      tell(now, 'Pulling', one.name)
      advance(app.pull + delay())
      one.pulled = true
    }
    tell(now, 'Pulled', one.name)
    advance(delay())
    if (one === main && plan.locked && !(isLeased ? asks() : opened() <= now)) {
      one.refused = true
      tell(now, 'Failed', one.name, "Error: couldn't parse env file")
      return false
    }
    one.refused = false
    advance(delay(slow / 4))
    tell(now, 'Created', one.name)
    advance(delay(slow / 4))
    const began = now
    // What was executed has begun, whatever becomes of the kubelet.
    const startedAt = began + delay(Math.min(3000, slow))
    const index = members.indexOf(one)
    const runs: readonly Run[] = sidecars[index] ?? [{ ends: app.lasts, code: app.code }]
    const does = runs[Math.min(one.runs.length, runs.length - 1)] ?? {}
    const run: Real = { ...does, began, startedAt, ended: began + (does.ends ?? forever) }
    if (one === main) {
      const at = began + delay(Math.min(3000, slow))
      // By what will have been true then: its sidecars' runs are known up to now, and none begins while this one is started.
      found.push({ at, answered: members.map(({ runs }) => answerOf(runs, at)) })
    }
    one.runs.push(run)
    advance(startedAt - began + delay(Math.min(400, slow)))
    tell(now, 'Started', one.name)
    return one === carrier ? hook(run) : true
  }

  /** An open of the leased file: whether there is a value in it once it has slept. */
  function asks(): boolean {
    if (!hooked || hooked.run.ended <= now) return false
    const { at, run, answered } = hooked
    let ready = now
    for (let before = -1; before !== ready; ) {
      before = ready
      ready = Math.max(...members.map((member) => firstReady(member, before)))
    }
    const goesOn = plan.onTimeout === 'continue' ? at + plan.timeout : forever
    const patience = answered && typeof plan.lease === 'number' ? plan.lease : round
    const held = Math.max(now, Math.min(ready, goesOn))
    const until = Math.min(held, now + patience, run.ended)
    advance(until - now)
    if (run.ended <= now) return false
    if (held > now) return answered && plan.lease !== 'always'
    hooked.answered ||= ready <= now
    return true
  }

  function hook(run: Real): boolean {
    advance(delay(Math.min(200, slow)))
    const at = now
    hooked = { at, run, answered: false }
    const fails = plan.onTimeout === 'fail' && plan.timeout < handOver
    if (isLeased && !fails) {
      advance(delay(Math.min(200, slow)))
      return run.ended > now
    }
    const ready = Math.max(...members.map((member) => firstReady(member, at)))
    const late = at + plan.timeout
    const gaveUp = plan.locked && plan.onTimeout === 'fail' ? at + handOver : late
    const returned = Math.min(ready, run.ended, gaveUp, late)
    advance(returned - at + delay(Math.min(500, slow)))
    if (returned === ready && ready < run.ended) return true
    if (returned < run.ended && (plan.onTimeout === 'continue' || returned < late)) return true
    tell(now, 'FailedPostStartHook', carrier?.name ?? '')
    run.ended = Math.min(run.ended, now + delay(500))
    advance(Math.max(0, run.ended - now) + delay(Math.min(500, slow)))
    return false
  }

  function startAgain(one: Box): boolean {
    const last = one.runs.at(-1)
    if (!last) return true
    if (last.ended > now) return false
    if (one.kind === 'regular' && plan.restartPolicy === 'Never') return false
    if (one.kind === 'regular' && plan.restartPolicy === 'OnFailure' && last.code === 0) return false
    if (one.backOff > 0 && now < last.ended + one.backOff) {
      tell(now, 'BackOff', one.name)
      return false
    }
    one.backOff = one.backOff === 0 ? 10_000 : Math.min(300_000, one.backOff * 2)
    return true
  }

  function pass(): void {
    publish(all.map((each) => shownOf(each, now, plan)))
    for (const each of all) {
      const run = each.runs.at(-1)
      if (!plan.probed || each === main || !run || run.ended <= now || each.worker?.run === run) continue
      each.worker = { run, next: now + delay(1000), ready: false }
    }
    if (plan.gate === 'native' && main.runs.length === 0) {
      for (const each of members) {
        const run = each.runs.at(-1)
        if (run && run.ended > now) continue
        if (startAgain(each)) start(each)
        return
      }
    }
    for (const each of all.filter(startAgain)) start(each)
  }

  for (;;) {
    try {
      pass()
      advance(200 + delay(800 + slow))
    } catch (error) {
      if (!(error instanceof Restart)) throw error
      if (error.message === 'over') break
      now += 500 + delay(5000)
      if (now >= until) break
      kubelet.push(now)
      cache = new Map()
      tokens = burst
      refilled = now
      for (const each of all) Object.assign(each, { backOff: 0, worker: undefined })
      // It looks at all pods of its node, one after the other.
      now += 100 + delay(2000 + 10 * slow)
    }
  }

  const status = statuses.findLast(({ visible }) => visible <= until) ?? statuses[0]
  const boxes = status?.boxes ?? []
  const names = members.map(({ name }) => name)
  const whole = lived(boxes, {
    restartPolicy: plan.restartPolicy,
    now: until / 1000,
    named: names.join(' + '),
    kubelet: kubelet.filter((at) => at <= until).map((at) => at / 1000),
    unready: status?.unready === undefined ? undefined : status.unready / 1000,
  })
  const events = new Map<Told, CoreV1Event>()
  for (const { visible, of, count, last } of shownEvents) {
    if (visible > until) continue
    const list = of.container !== appName && plan.gate === 'native' ? 'initContainers' : 'containers'
    const involvedObject = { kind: 'Pod', fieldPath: `spec.${list}{${of.container}}` }
    events.set(of, event(of.reason, of.first / 1000, { involvedObject, message: of.message }, last / 1000, count))
  }
  // By then it is told.
  const told = until - 3 * slow - 12_000
  const seenDown = ({ runs, failures }: Box, at: number) =>
    runs.some((run) => {
      const [from, to] = downAt(run, at) ?? [0, 0]
      return failures.some((time) => time >= from && time < to && time < told)
    })
  const answers = ({ answered, at }: Found) =>
    answered.map((each, index) => (each === 'down' && !seenDown(members[index] ?? main, at) ? 'unseen' : each))
  const last = main.runs.at(-1)
  return {
    runs: last && last.ended > until ? last.startedAt : undefined,
    found: found.map((each) => ({ at: each.at, answered: answers(each) })),
    seen: { ...whole, pod: whole.pod as V1Pod, events: [...events.values()] },
  }
}

const box = (name: string, kind: Box['kind']): Box => ({
  name,
  kind,
  runs: [],
  failures: [],
  begun: false,
  pulled: false,
  refused: false,
  backOff: 0,
  worker: undefined,
})

function answerOf(runs: readonly Real[], at: number): Found['answered'][number] {
  if (runs.some((each) => isReady(each, at))) return 'yes'
  return runs.some((each) => isReady({ ...each, down: undefined }, at)) ? 'down' : 'no'
}

function isReady({ began, ended, ready, down }: Real, at: number): boolean {
  if (ready === undefined || at < began + ready || at >= ended) return false
  return !down || (at - began - ready) % (down.after + down.lasts) < down.after
}

/** From when to when it is down, where it is so at a moment. */
function downAt({ began, ended, ready, down }: Real, at: number): readonly [number, number] | undefined {
  if (ready === undefined || !down || at < began + ready || at >= ended) return undefined
  const from = at - ((at - began - ready) % (down.after + down.lasts)) + down.after
  return from <= at ? [from, from + down.lasts] : undefined
}

/** When it answers first from a moment on, in any of its runs so far. */
function firstReady({ runs }: Box, from: number): number {
  const all = runs.flatMap((run) => {
    if (run.ready === undefined) return []
    const first = Math.max(from, run.began + run.ready)
    const { down } = run
    const into = down ? (first - run.began - run.ready) % (down.after + down.lasts) : 0
    const up = down && into >= down.after ? first + down.after + down.lasts - into : first
    return up < run.ended ? [up] : []
  })
  return Math.min(forever, ...all)
}

/** A container as a status of that moment has it. */
function shownOf({ name, kind, runs, begun, refused, worker, backOff }: Box, now: number, plan: Plan): Lived {
  const begunRuns = runs.filter(({ startedAt }) => startedAt <= now)
  const last = begunRuns.at(-1)
  const isOver = last !== undefined && last.ended <= now
  const waiting = refused
    ? { reason: 'CreateContainerConfigError', message: '"SIDECAR_FIRST_READY_1" not found in file' }
    : isOver && backOff > 0
      ? { reason: 'CrashLoopBackOff', message: 'back-off' }
      : !last
        ? { reason: begun ? 'ContainerCreating' : 'PodInitializing' }
        : undefined
  const isCarrier = name === `sidecar-${plan.sidecars.length - 1}`
  return {
    name,
    ...(kind === 'native' && { native: true }),
    ...(isCarrier && {
      hook: {
        for: plan.sidecars.map((_, index) => `sidecar-${index}`),
        ...(plan.locked && { locks: true, lease: plan.lease }),
        timeout: `${plan.timeout / 1000}s`,
        onTimeout: plan.onTimeout,
      },
    }),
    ...(name === appName && plan.locked && { locked: true }),
    ...(name !== appName && plan.probed && { probed: true, unready: !worker?.ready || worker.run !== last }),
    runs: begunRuns.map(({ startedAt, ended, code = 137 }) =>
      ended <= now ? ([startedAt / 1000, ended / 1000, code] as const) : ([startedAt / 1000] as const),
    ),
    ...(waiting && { waiting }),
  }
}

/** mulberry32 */
function randomBy(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
