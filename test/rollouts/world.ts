import assert from 'node:assert/strict'
import { next } from '../../rollouts/controller/decide-rollout.ts'
import type { Decision, Step } from '../../rollouts/controller/decision.ts'
import { Denials } from '../../rollouts/controller/denials.ts'
import { type Fetch, fetchPod, seenFetch } from '../../rollouts/controller/fetch.ts'
import { Lives } from '../../rollouts/controller/kubelet-lives.ts'
import { statusOf } from '../../rollouts/controller/status.ts'
import type { Store } from '../../rollouts/controller/store.ts'
import { sameName } from '../../rollouts/image.ts'
import { withContainer } from '../../rollouts/members.ts'
import { maybeBorn } from '../../rollouts/memory.ts'
import { noteKey, readNotes, writeNote } from '../../rollouts/pod-note.ts'
import type { SeenPod, WirePod } from '../../rollouts/seen-pod.ts'
import { allowedFailures, allowedUnavailable } from '../../rollouts/share.ts'
import { completedIn, type RolloutSpec, type RolloutStatus, type RolloutStrategy } from '../../rollouts/types.ts'
import { ClusterError } from '../../src/kubernetes/failure.ts'
import type { Followed } from '../../src/kubernetes/follow.ts'
import { iso, NOW, rollout, UID } from './pods.ts'
import { list, shopStore } from './shop.ts'

/**
 * How long a hook takes; an image whose name has "bad" in it crashes then, one with "unready" in it never gets ready. One with "mute" in it
 * gets ready and doesn't work: its app's probe fails, which takes a while to show. One with "late" in it ends a while after it was ready, each time.
 */
const HOOK = 4000
const LATE_END = 30_000
const PROBES = 3000
/** How long a container that has ended stays down, in ms. */
const BACK_OFF = 10_000
const TICK = 500

/** What a webhook or policy of the cluster makes of a sidecar's image. */
interface Admission {
  readonly create?: (image: string) => string
  readonly update?: (image: string, before: string) => string
  /** Whether a policy denies every change of this pod. */
  readonly denies?: (pod: string) => boolean
}

interface Node {
  readonly name: string
  /** Its kubelet does nothing. */
  frozen: boolean
  /** The kubelet doesn't know image volumes. */
  old: boolean
  /** The registry answers it with 429. */
  throttled: boolean
  /** Its clock against the API server's, in ms. */
  skew: number
  /** When its Lease was renewed, by its own clock. */
  renewed: number
  readonly images: Set<string>
}

/** How the API server answers the next patch: it does it and the answer is lost; or it doesn't do it, and says nothing either. */
type Answer = 'lost' | 'undone'

/** How the watch tells of pods: at once, 2 s late, not at all, or what is new first and then, once more, what was before. */
type Watching = 'live' | 'late' | 'silent' | 'reordered'
const LATE = 2000
/** So many former sights of a pod are kept for that. */
const FORMER = 12

interface Ended {
  readonly id: number
  readonly reason: string
  readonly exitCode: number
  readonly at: number
}

interface Container {
  id: number
  image: string
  is: 'none' | 'pulling' | 'hook' | 'running' | 'ended'
  since: number
  started: number
  /** The container before this one, or how this one has ended. */
  last?: Ended
}

interface Pod {
  readonly name: string
  /** The image in the template of its owner, which each template has of its own. */
  readonly template: string
  readonly node: Node
  image: string
  generation: number
  annotations: Record<string, string>
  appReady: boolean
  /** Until when its app isn't ready for a reason of its own that passes. */
  blip: number
  app: Ended | undefined
  /** The app has ended, and its lock keeps it down until the sidecar is ready. */
  locked: boolean
  sandbox: number
  /** What really runs. */
  runs: Container
  /** What the kubelet works by, and has seen. */
  view: { image: string; generation: number }
  observed: number
  /** A touch of ours after which the sidecar hasn't been ready yet. */
  ours: boolean
  /** It has been ready: one that is still on its way up has nothing to lose. */
  wasUp: boolean
  /** It was ready when it was touched last. */
  wasReady: boolean
  born: string
  /** As the API server shows it, and as it showed it before, the latest first. */
  said: WirePod
  before: readonly { readonly until: number; readonly said: WirePod }[]
}

/** What a process of the controller keeps. */
interface Process {
  readonly store: Store
  readonly into: Followed<WirePod>
  readonly known: Set<string>
  readonly lives: Lives
  readonly denials: Denials
}

/** What the watch tells of a pod that is gone. */
const lastOf = (name: string, version: number): WirePod => ({
  metadata: { name, namespace: 'shop', uid: name, resourceVersion: `${version}` },
  spec: { containers: [] },
})

/** A model of a cluster with one rollout, a fake: what really runs, and what the API server shows of it. */
export class World {
  time = NOW
  /** The API server's clock against the real one, in ms: somebody may set it. */
  clock = 0
  pods: Pod[] = []
  spec: Pick<RolloutSpec, 'image'> & { strategy: Partial<RolloutStrategy> }
  generation = 1
  status: RolloutStatus | undefined
  template: string
  admission: Admission = {}
  /** An older rollout, which isn't modelled. */
  claimedBy: string | undefined
  /** The name that the runtime reports of an image. */
  reported = (image: string) => `docker.io/${image.includes('/') ? image : `library/${image}`}`
  digest = (image: string) => `sha256:${Buffer.from(image.replace(/^.*\//, '')).toString('hex')}`
  readonly nodes: readonly Node[]
  /** The most that were away by our doing at once. */
  most = 0
  /** Whether the apps carry a lock (docs/annotations.md): one that has ended isn't created again while the sidecar isn't ready. */
  lock = false
  /** The apps that their lock keeps down while the sidecar is away by our doing: the most at once, and for how long in all, in ms. */
  keptDown = { most: 0, time: 0 }
  /** The pods that were given each image. */
  readonly given = new Map<string, Set<string>>()
  watching: Watching = 'live'
  /** What was fetched to nodes, in that order. */
  readonly fetched: string[] = []
  /** To the next patches. */
  answers: Answer[] = []
  #born = 0
  #version = 1
  #process: Process
  readonly #fetching = new Map<string, { node: Node; image: string; since: number }>()

  constructor(
    count: number,
    strategy: Partial<RolloutStrategy> = {},
    {
      image = 'envoy:v2',
      template = 'envoy:v1',
      admission = {},
    }: { image?: string; template?: string; admission?: Admission } = {},
  ) {
    this.spec = { image, strategy: { minReadySeconds: 3, bakeSeconds: 0, progressDeadlineSeconds: 60, ...strategy } }
    this.template = template
    this.admission = admission
    this.nodes = ['n0', 'n1', 'n2'].map((name) => ({
      name,
      frozen: false,
      old: false,
      throttled: false,
      skew: 0,
      renewed: NOW,
      images: new Set<string>(),
    }))
    for (let i = 0; i < count; i++) this.create()
    this.pass(HOOK + 4000)
    this.#process = this.#start()
  }

  /** A new process of the controller: it lists everything, and remembers nothing. */
  #start(): Process {
    const { store, into } = shopStore(() => this.time + this.clock)
    const process = { store, into, known: new Set<string>(), lives: new Lives(), denials: new Denials() }
    this.#list(process)
    return process
  }

  #list({ into }: Pick<Process, 'into'>) {
    const said = this.pods.map((pod) => pod.said)
    list(into, said, this.#version)
  }

  /** What the watch tells meanwhile. */
  #deliver() {
    const { into, store } = this.#process
    if (this.watching === 'silent') return
    const there = new Set(this.pods.map(({ name }) => name))
    for (const { name } of store.space('shop')?.pods() ?? []) {
      if (!there.has(name)) into.gone(lastOf(name, this.#version))
    }
    for (const { said, before } of this.pods) {
      const former = before.find(({ until }) => until <= this.time - LATE)?.said
      if (this.watching !== 'late') into.put(said)
      if (this.watching !== 'live' && former) into.put(former)
    }
  }

  create(): Pod {
    const name = `p${this.#born++}`
    const node = this.nodes[this.#born % this.nodes.length]
    assert.ok(node)
    const image = this.admission.create?.(this.template) ?? this.template
    const pod: Pod = {
      name,
      template: this.template,
      node,
      image,
      generation: 1,
      annotations: {},
      appReady: true,
      blip: 0,
      app: undefined,
      locked: false,
      sandbox: this.time,
      runs: { id: 0, image: '', is: 'none', since: this.time, started: 0 },
      view: { image, generation: 1 },
      observed: 0,
      ours: false,
      wasUp: false,
      wasReady: false,
      born: image,
      said: undefined as never,
      before: [],
    }
    pod.said = this.#wire(pod, { phase: 'Pending' })
    this.pods.push(pod)
    return pod
  }

  change(what: { strategy?: Partial<RolloutStrategy>; image?: string }) {
    this.spec = {
      ...this.spec,
      ...(what.image && { image: what.image }),
      strategy: { ...this.spec.strategy, ...what.strategy },
    }
    this.generation++
  }

  /** Somebody else's patch. */
  patch(pod: Pod, image: string) {
    if (pod.image === image) return
    const admitted = this.admission.update?.(image, pod.image) ?? image
    if (admitted === pod.image) return
    pod.image = admitted
    pod.generation++
    pod.ours = false
    this.#show(pod)
  }

  /** A change of the spec that has nothing to do with the sidecar, such as `kubectl debug`. */
  bump(pod: Pod) {
    // Right between a touch that admission rewrote and the note of that, nobody can tell the two changes apart.
    const note = readNotes(pod.annotations).get('envoy')
    if (note && !note.effective && note.wanted !== pod.image) return
    pod.generation++
    this.#show(pod)
  }

  /** Somebody has taken the note away, broken it, or put another in its place. */
  forge(pod: Pod, number: number) {
    // A note that is gone before anybody could read it can't be known.
    if (this.#space.doubtful().includes(pod.name)) return
    const key = noteKey('envoy')
    const { [key]: text, ...others } = pod.annotations
    const forged = {
      ...{ rollout: UID, revision: this.generation, from: 'envoy:v1', wanted: pod.image, base: pod.born },
      ...{ gen: pod.generation, ids: [], at: iso(this.time) },
    }
    const notes = [
      undefined,
      'nonsense',
      (text ?? '{}').slice(0, -9),
      JSON.stringify(forged),
      JSON.stringify({ ...forged, rollout: 'another' }),
      JSON.stringify({ ...forged, gen: pod.generation + 1 }),
      JSON.stringify({ ...forged, gen: 0, at: iso(this.time + 1e9) }),
    ]
    const note = notes[number % notes.length]
    pod.annotations = { ...others, ...(note !== undefined && { [key]: note }) }
    this.#show(pod)
  }

  /** The sidecar's container ends. */
  end(pod: Pod, { reason = 'Error', exitCode = 137, withApp = false } = {}) {
    const { runs } = pod
    if (runs.is !== 'running' && runs.is !== 'hook') return
    const ended = { id: runs.id, reason, exitCode, at: this.time + pod.node.skew }
    pod.runs = { ...runs, is: 'ended', since: this.time, last: ended }
    if (!withApp) return
    pod.app = { ...ended, id: 1 }
    pod.locked = this.lock
  }

  /** The app ends by itself; it's back at once unless its lock keeps it down. */
  crash(pod: Pod) {
    pod.app = { id: 1, reason: 'Error', exitCode: 1, at: this.time + pod.node.skew }
    pod.locked = this.lock && !this.#sidecarIsReady(pod)
    this.#count(0)
  }

  #sidecarIsReady = ({ runs }: Pod) => runs.is === 'running' && !runs.image.includes('unready')
  #appIsReady = ({ runs, appReady, blip, locked }: Pod) =>
    appReady && this.time >= blip && !locked && !(runs.image.includes('mute') && this.time - runs.since > PROBES)

  #count(ms: number) {
    const down = this.pods.filter(({ locked, ours }) => locked && ours).length
    this.keptDown = { most: Math.max(this.keptDown.most, down), time: this.keptDown.time + down * ms }
  }

  reboot(node: Node) {
    for (const pod of this.pods.filter((one) => one.node === node)) {
      this.end(pod, { reason: 'Unknown', exitCode: 255, withApp: true })
      pod.sandbox = this.time
    }
  }

  evict(pod: Pod) {
    this.pods = this.pods.filter((one) => one !== pod)
    this.create()
  }

  pass(ms: number) {
    for (let left = ms; left > 0; left -= TICK) {
      this.time += Math.min(TICK, left)
      for (const node of this.nodes) {
        if (!node.frozen && Math.abs(this.time + node.skew - node.renewed) >= 10_000)
          node.renewed = this.time + node.skew
      }
      for (const pod of this.pods) this.#kubelet(pod)
      this.#count(TICK)
    }
  }

  #kubelet(pod: Pod) {
    const { runs, node } = pod
    if (node.frozen) return
    if (this.#sidecarIsReady(pod)) pod.locked = false
    const age = this.time - runs.since
    if (runs.is === 'hook') {
      if (age < HOOK) return
      if (runs.image.includes('bad')) this.end(pod)
      else {
        pod.runs = { ...runs, is: 'running', since: this.time }
        pod.wasUp = true
      }
      if (this.#isBack(pod)) pod.ours = false
      this.#report(pod)
      return
    }
    if (runs.is === 'running' && runs.image.includes('late') && age >= LATE_END) this.end(pod, { exitCode: 1 })
    pod.view = { image: pod.image, generation: pod.generation }
    if (pod.view.generation !== pod.observed) {
      // Seen, and acted on in the next moment.
      pod.observed = pod.view.generation
      this.#report(pod)
      // Taken back before the kubelet had seen it: nothing is restarted.
      if (this.#isBack(pod)) pod.ours = false
      return
    }
    const changed = runs.image !== pod.view.image
    if (changed || runs.is === 'none' || runs.is === 'pulling' || (runs.is === 'ended' && age > BACK_OFF)) {
      const id = runs.id + (runs.is === 'pulling' ? 0 : 1)
      const last = runs.is === 'running' ? { id: runs.id, reason: 'Completed', exitCode: 0, at: this.time } : runs.last
      const fresh = { image: pod.view.image, since: this.time, started: this.time + node.skew, ...(last && { last }) }
      if (node.throttled && !node.images.has(fresh.image)) pod.runs = { ...fresh, id, is: 'pulling' }
      else {
        node.images.add(fresh.image)
        pod.runs = { ...fresh, id, is: 'hook' }
        return
      }
    }
    this.#report(pod)
  }

  #report(pod: Pod) {
    const { runs, node } = pod
    const up = this.#sidecarIsReady(pod)
    const ready = up && this.#appIsReady(pod)
    const said = pod.said.status?.conditions?.[0]
    const same = said?.status === (ready ? 'True' : 'False')
    const id = (number: number) => (number > 0 ? `containerd://${pod.name}-${number}` : '')
    // One that is being pulled has no id yet: the status is the old one's, waiting.
    const shown = runs.is === 'pulling' ? (runs.last?.id ?? 0) : runs.id
    const terminated = (ended: Ended) => ({
      containerID: id(ended.id),
      reason: ended.reason,
      exitCode: ended.exitCode,
      finishedAt: iso(Math.floor(ended.at / 1000) * 1000),
    })
    const pulling = {
      reason: 'ImagePullBackOff',
      message: `Back-off pulling image "${runs.image}": 429 Too Many Requests`,
    }
    const state =
      runs.is === 'running'
        ? { running: { startedAt: iso(Math.floor(runs.started / 1000) * 1000) } }
        : {
            waiting: runs.is === 'pulling' ? pulling : { reason: runs.last ? 'CrashLoopBackOff' : 'ContainerCreating' },
          }
    const app = {
      name: 'app',
      image: 'app',
      imageID: 'app',
      ready: this.#appIsReady(pod),
      restartCount: pod.app ? 1 : 0,
      containerID: id(1000),
      state: pod.locked
        ? { waiting: { reason: 'CreateContainerConfigError', message: "couldn't parse env file" } }
        : { running: { startedAt: iso(NOW) } },
      ...(pod.app && { lastState: { terminated: terminated(pod.app) } }),
    }
    this.#say(pod, {
      phase: runs.is === 'none' ? 'Pending' : 'Running',
      startTime: iso(NOW),
      observedGeneration: pod.observed,
      conditions: [
        {
          type: 'Ready',
          status: ready ? 'True' : 'False',
          lastTransitionTime: same ? (said?.lastTransitionTime ?? '') : iso(this.time + node.skew),
        },
        { type: 'PodReadyToStartContainers', status: 'True', lastTransitionTime: iso(pod.sandbox) },
      ],
      containerStatuses: [
        {
          name: 'envoy',
          image: runs.image && this.reported(runs.image),
          imageID: runs.image && `docker.io/library/envoy@${this.digest(runs.image)}`,
          restartCount: Math.max(0, runs.id - 1),
          containerID: id(shown),
          ready: up,
          state,
          ...(runs.last && { lastState: { terminated: terminated(runs.last) } }),
        },
        app,
      ],
    })
  }

  #wire(pod: Pod, status: NonNullable<WirePod['status']>): WirePod {
    return {
      metadata: {
        name: pod.name,
        namespace: 'shop',
        uid: pod.name,
        resourceVersion: `${++this.#version}`,
        generation: pod.generation,
        labels: { app: 'shop' },
        annotations: pod.annotations,
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: pod.template, uid: 'r', controller: true },
        ],
      },
      spec: {
        nodeName: pod.node.name,
        containers: [
          { name: 'envoy', image: pod.image },
          { name: 'app', image: 'app' },
        ],
      },
      status,
    }
  }

  #show(pod: Pod) {
    this.#say(pod, pod.said.status ?? {})
  }

  #say(pod: Pod, status: NonNullable<WirePod['status']>) {
    pod.before = [{ until: this.time, said: pod.said }, ...pod.before.slice(0, FORMER)]
    pod.said = this.#wire(pod, status)
  }

  /** Whether it really works, whatever the API server shows. */
  works = (pod: Pod) => this.#sidecarIsReady(pod) && pod.runs.image === pod.image && this.#appIsReady(pod)
  /** Whether it would, but for the app's own troubles. */
  #isBack = (pod: Pod) =>
    pod.runs.image.includes('mute')
      ? // Nothing more is expected of one that wasn't ready before.
        !pod.wasReady && this.#sidecarIsReady(pod) && pod.runs.image === pod.image
      : this.works({ ...pod, appReady: true, blip: 0, locked: false })

  look(): Decision {
    this.#deliver()
    return this.#remembered(this.#decide())
  }

  #remembered(decision: Decision): Decision {
    for (const key of decision.known) this.#process.known.add(key)
    return decision
  }

  #decide(): Decision {
    const { store, known } = this.#process
    const pods = store.space('shop')?.pods() ?? []
    const now = this.time + this.clock
    const decision = next({
      now,
      rollout: this.rollout(),
      claimedBy: this.claimedBy,
      pods,
      neighbours: pods,
      budgets: [],
      isKnown: (key) => known.has(key),
      bornAs: this.#bornAs(pods),
      behind: [],
      lifeOf: this.#process.lives.of,
      denialOf: (pod, image) => this.#process.denials.of(pod, image, this.rollout()),
      fetchOf: (node, image) => this.#fetchOf(node, image),
    })
    assert.ok(decision.again === undefined || decision.again > now, `looks again ${now - (decision.again ?? 0)} ms ago`)
    return decision
  }

  /** As the controller asks: the templates of pods whose image may be the rollout's. */
  #bornAs(pods: readonly SeenPod[]) {
    const rollout = this.rollout()
    const found = maybeBorn(rollout, withContainer(rollout, pods))
    return found.find(({ pod }) => pod.owner && sameName(pod.owner.name, rollout.spec.image))?.container.image
  }

  rollout = () =>
    rollout(this.spec.strategy, {
      image: this.spec.image,
      generation: this.generation,
      ...(this.status && { status: this.status }),
    })

  #fetchOf(node: string, image: string): Fetch | undefined {
    const found = this.#fetching.get(`${node} ${image}`)
    if (!found) return undefined
    const make = { node, image, pullPolicy: 'IfNotPresent', pullSecrets: [], waiter: 'waiter' }
    const { metadata, spec } = fetchPod(this.rollout(), make)
    const container = { name: 'fetch', image: 'waiter', imageID: '', ready: false, restartCount: 0 }
    const status = found.node.old
      ? { phase: 'Failed', reason: 'Unsupported', message: 'no image volumes' }
      : found.node.throttled && !found.node.images.has(image)
        ? {
            phase: 'Pending',
            containerStatuses: [
              {
                ...container,
                state: { waiting: { reason: 'ErrImagePull', message: `"${image}": 429 Too Many Requests` } },
              },
            ],
          }
        : { phase: found.node.frozen ? 'Pending' : 'Succeeded' }
    if (status.phase === 'Succeeded') found.node.images.add(image)
    const created = { ...metadata, uid: 'f', resourceVersion: '1', creationTimestamp: iso(found.since) }
    return seenFetch({ metadata: created, spec, status }, this.time)?.fetch
  }

  /** A controller's turn. @param dies after so many calls: the first is the status, each step is one; what it remembers is lost */
  turn(dies = Number.POSITIVE_INFINITY): Decision {
    this.#deliver()
    // As the controller does: what nobody knows is read, and so is what a failure rests on.
    for (const name of this.#space.doubtful()) this.#read(name)
    let decision = this.#decide()
    if (decision.failure && this.status?.failure?.generation !== this.generation) {
      for (const { pod } of decision.failing) if (pod !== undefined) this.#read(pod)
      decision = this.#decide()
    }
    for (const pod of decision.unconfirmed) this.#read(pod)
    if (decision.unconfirmed.length > 0) decision = this.#decide()
    this.#remembered(decision)
    this.#checkEnd(decision)
    if (dies > 0) this.status = statusOf(this.rollout(), decision, { now: this.time + this.clock, trouble: undefined })
    let calls = 1
    for (const step of decision.steps) {
      if (calls++ >= dies) break
      if (!this.#take(step)) break
      // What admission has made of the image is noted in a call of its own.
      if (step.do === 'touch' && this.#isUnnoted(step) && calls++ < dies) this.#note(step.pod.name)
    }
    for (const name of decision.awaited) {
      const node = this.nodes.find((one) => one.name === name)
      if (node) this.#process.lives.saw(name, iso(node.renewed), this.time + this.clock)
    }
    if (dies < Number.POSITIVE_INFINITY) this.#process = this.#start()
    return decision
  }

  /** A generation only ends while the pods that were ready before their touch are, beyond what may fail. */
  #checkEnd({ phase }: Decision) {
    const { maxFailures = 0, judge } = this.spec.strategy
    const isFirst = completedIn(this.rollout()) === undefined
    if (phase !== 'Complete' || !isFirst || this.watching !== 'live' || judge === 'Sidecar') return
    const down = this.pods.filter(({ image, wasReady, said, annotations }) => {
      const note = readNotes(annotations).get('envoy')
      const isOurs =
        note?.rollout === UID && !note.back && note.wanted === this.spec.image && image.endsWith(note.wanted)
      return isOurs && wasReady && note.ready && said.status?.conditions?.[0]?.status !== 'True'
    })
    assert.ok(
      down.length <= allowedFailures(maxFailures, this.pods.length),
      `complete, and ${down[0]?.name} is not ready`,
    )
  }

  get #space() {
    const space = this.#process.store.space('shop')
    assert.ok(space)
    return space
  }

  #read(name: string) {
    const pod = this.pods.find((one) => one.name === name)
    if (pod) this.#space.learn(pod.said)
    else this.#space.forget(name)
  }

  #isUnnoted({ pod: { name }, note }: Extract<Step, { do: 'touch' }>): boolean {
    const pod = this.pods.find((one) => one.name === name)
    return pod !== undefined && pod.image !== note.wanted && pod.generation === note.gen
  }

  #note(name: string) {
    const pod = this.pods.find((one) => one.name === name)
    const key = noteKey('envoy')
    if (!pod) return
    const note = { ...JSON.parse(pod.annotations[key] ?? ''), effective: pod.image }
    pod.annotations = { ...pod.annotations, [key]: JSON.stringify(note) }
    this.#show(pod)
    this.#space.learn(pod.said)
  }

  /** @returns false if the patch has failed, or its answer was lost: the decision is made again */
  #take(step: Step): boolean {
    if (step.do === 'fetch') {
      const node = this.nodes.find(({ name }) => name === step.node)
      assert.ok(node)
      this.fetched.push(step.image)
      this.#fetching.set(`${step.node} ${step.image}`, { node, image: step.image, since: this.time })
      return true
    }
    const { name } = step.pod
    const answer = this.answers.shift()
    if (answer) this.#space.doubt(name)
    const pod = this.pods.find((one) => one.name === name)
    // The tests of the patch.
    const isSame = pod?.image === step.container.image && pod.generation === step.pod.generation
    const hasRun = step.container.status?.id || pod?.said.metadata.resourceVersion === step.pod.version
    if (answer === 'undone' || !pod || !isSame || !hasRun) {
      if (!answer) this.#read(name)
      return false
    }
    if (this.admission.denies?.(name)) {
      const denial = new ClusterError('forbidden', `pods "${name}" is forbidden: not this one`)
      this.#process.denials.saw(step, this.rollout(), denial, this.time + this.clock)
      return true
    }
    const image =
      step.do === 'note' ? pod.image : (this.admission.update?.(step.note.wanted, pod.image) ?? step.note.wanted)
    pod.annotations = { ...pod.annotations, [noteKey('envoy')]: writeNote(step.note) }
    assert.ok(!pod.image.includes('theirs') || step.do === 'note', `the image of ${pod.name} isn't ours to replace`)
    if (image !== pod.image) {
      // One that isn't ready by our doing was ready before.
      pod.wasReady = pod.said.status?.conditions?.[0]?.status === 'True' || (pod.ours && pod.wasReady)
      if (pod.wasUp && !pod.ours) {
        pod.ours = true
        const down = this.pods.filter((one) => one.ours).length
        const pods = Math.max(this.pods.length, this.#space.pods().length)
        const allowed = allowedUnavailable(this.spec.strategy.maxUnavailable ?? 1, pods)
        this.most = Math.max(this.most, down)
        assert.ok(down <= allowed, `${down} pods are away by our doing, ${allowed} may be, and ${pod.name} is touched`)
      }
      if (step.do === 'touch')
        this.given.set(step.note.wanted, (this.given.get(step.note.wanted) ?? new Set()).add(name))
      pod.image = image
      pod.generation++
    }
    this.#show(pod)
    if (!answer) this.#space.learn(pod.said)
    return !answer
  }

  /** Another process's steps, decided by an earlier sight: those of pods that have changed since are refused by the patch's tests. */
  tryAll({ steps }: Decision) {
    for (const step of steps) {
      if (step.do === 'fetch') continue
      const pod = this.pods.find(({ name }) => name === step.pod.name)
      if (pod?.generation === step.pod.generation && pod.image === step.container.image) this.#take(step)
    }
  }

  /** Turns until nothing more is to be done, and says how it stands. */
  settle(seconds = 2000): Decision {
    for (let i = 0; i < seconds; i++) {
      this.pass(1000)
      const decision = this.turn()
      const idle = decision.phase !== 'Progressing' && decision.phase !== 'RollingBack'
      const still = this.pods.every(({ runs, image }) => runs.is !== 'hook' && runs.image === image)
      if (idle && still && decision.steps.length === 0) return decision
    }
    throw new Error(`it never ends: ${JSON.stringify({ ...this.look(), steps: [] })}`)
  }

  run(seconds: number): Decision {
    for (let i = 0; i < seconds; i++) {
      this.pass(1000)
      this.turn()
    }
    return this.look()
  }

  images = () => this.pods.map(({ image }) => image)
}
