import assert from 'node:assert/strict'
import { type Fetch, fetchPod, seenFetch } from '../../rollouts/controller/fetch.ts'
import { type Decision, next } from '../../rollouts/controller/next.ts'
import { statusOf } from '../../rollouts/controller/status.ts'
import type { Step } from '../../rollouts/controller/step.ts'
import { type SeenPod, seenPod, type WirePod } from '../../rollouts/pod.ts'
import { noteKey, writeNote } from '../../rollouts/record.ts'
import { allowedUnavailable } from '../../rollouts/share.ts'
import type { RolloutSpec, RolloutStatus, RolloutStrategy } from '../../rollouts/types.ts'
import { iso, NOW, rollout } from './pods.ts'

/** How long a hook takes; an image whose name has "bad" in it crashes then, one with "unready" in it never gets ready. */
export const HOOK = 4000
/** How long a container that has ended stays down, in ms. */
const BACK_OFF = 10_000
const TICK = 500

/** What a webhook or policy of the cluster makes of a sidecar's image. */
export interface Admission {
  readonly create?: (image: string) => string
  readonly update?: (image: string, before: string) => string
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
  readonly images: Set<string>
}

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
  readonly node: Node
  image: string
  generation: number
  annotations: Record<string, string>
  appReady: boolean
  app: Ended | undefined
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
  born: string
  /** The image that it had when this rollout first touched it. */
  said: WirePod
}

/** A model of a cluster with one rollout, a fake: what really runs, and what the API server shows of it. */
export class World {
  time = NOW
  pods: Pod[] = []
  spec: Pick<RolloutSpec, 'image'> & { strategy: Partial<RolloutStrategy> }
  generation = 1
  status: RolloutStatus | undefined
  template: string
  admission: Admission = {}
  /** The name that the runtime reports of an image. */
  reported = (image: string) => `docker.io/${image.includes('/') ? image : `library/${image}`}`
  digest = (image: string) => `sha256:${Buffer.from(image.replace(/^.*\//, '')).toString('hex')}`
  readonly nodes: readonly Node[]
  /** The most that were away by our doing at once. */
  most = 0
  #born = 0
  #seen = new Map<string, SeenPod>()
  readonly #settled = new Set<string>()
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
    this.spec = { image, strategy: { minReadySeconds: 3, progressDeadlineSeconds: 60, ...strategy } }
    this.template = template
    this.admission = admission
    this.nodes = ['n0', 'n1', 'n2'].map((name) => ({
      name,
      frozen: false,
      old: false,
      throttled: false,
      skew: 0,
      images: new Set<string>(),
    }))
    for (let i = 0; i < count; i++) this.create()
    this.pass(HOOK + 4000)
  }

  create(): Pod {
    const name = `p${this.#born++}`
    const node = this.nodes[this.#born % this.nodes.length]
    assert.ok(node)
    const image = this.admission.create?.(this.template) ?? this.template
    const pod: Pod = {
      name,
      node,
      image,
      generation: 1,
      annotations: {},
      appReady: true,
      app: undefined,
      sandbox: this.time,
      runs: { id: 0, image: '', is: 'none', since: this.time, started: 0 },
      view: { image, generation: 1 },
      observed: 0,
      ours: false,
      wasUp: false,
      born: image,
      said: undefined as never,
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
    const note = JSON.parse(pod.annotations[noteKey('envoy')] ?? '{"effective":true}')
    if (!note.effective && note.wanted !== pod.image) return
    pod.generation++
    this.#show(pod)
  }

  /** The sidecar's container ends. */
  end(pod: Pod, { reason = 'Error', exitCode = 137, withApp = false } = {}) {
    const { runs } = pod
    if (runs.is !== 'running' && runs.is !== 'hook') return
    const ended = { id: runs.id, reason, exitCode, at: this.time + pod.node.skew }
    pod.runs = { ...runs, is: 'ended', since: this.time, last: ended }
    if (withApp) pod.app = { ...ended, id: 1 }
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
      for (const pod of this.pods) this.#kubelet(pod)
    }
  }

  #kubelet(pod: Pod) {
    const { runs, node } = pod
    if (node.frozen) return
    const age = this.time - runs.since
    if (runs.is === 'hook') {
      if (age < HOOK) return
      if (runs.image.includes('bad')) this.end(pod)
      else {
        pod.runs = { ...runs, is: 'running', since: this.time }
        pod.wasUp = true
      }
      if (this.works({ ...pod, appReady: true })) pod.ours = false
      this.#report(pod)
      return
    }
    pod.view = { image: pod.image, generation: pod.generation }
    if (pod.view.generation !== pod.observed) {
      // Seen, and acted on in the next moment.
      pod.observed = pod.view.generation
      this.#report(pod)
      // Taken back before the kubelet had seen it: nothing is restarted.
      if (this.works({ ...pod, appReady: true })) pod.ours = false
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
    const up = runs.is === 'running' && !runs.image.includes('unready')
    const ready = up && pod.appReady
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
      ready: pod.appReady,
      restartCount: pod.app ? 1 : 0,
      containerID: id(1000),
      state: { running: { startedAt: iso(NOW) } },
      ...(pod.app && { lastState: { terminated: terminated(pod.app) } }),
    }
    pod.said = this.#wire(pod, {
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
        resourceVersion: '1',
        generation: pod.generation,
        labels: { app: 'shop' },
        annotations: pod.annotations,
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
    pod.said = this.#wire(pod, pod.said.status ?? {})
  }

  /** Whether it really works, whatever the API server shows. */
  works = ({ runs, appReady, image }: Pod) =>
    runs.is === 'running' && runs.image === image && appReady && !runs.image.includes('unready')

  look(): Decision {
    const pods = this.pods.map(({ said }) => seenPod(said, this.#seen.get(said.metadata.name), this.time))
    this.#seen = new Map(pods.map((pod) => [pod.name, pod]))
    const decision = next({
      now: this.time,
      rollout: this.rollout(),
      claimedBy: undefined,
      pods,
      neighbours: pods,
      budgets: [],
      isSettled: (key) => this.#settled.has(key),
      behind: [],
      fetchOf: (node, image) => this.#fetchOf(node, image),
    })
    for (const key of decision.settled) this.#settled.add(key)
    return decision
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
    const decision = this.look()
    if (dies > 0) this.status = statusOf(this.rollout(), decision, { now: this.time, trouble: undefined })
    let calls = 1
    for (const step of decision.steps) {
      if (calls++ >= dies) break
      this.#take(step)
      // What admission has made of the image is noted in a call of its own.
      if (step.do === 'touch' && this.#isUnnoted(step) && calls++ < dies) this.#note(step.pod.name)
    }
    if (dies < Number.POSITIVE_INFINITY) {
      this.#seen.clear()
      this.#settled.clear()
    }
    return decision
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
  }

  #take(step: Step) {
    if (step.do === 'fetch') {
      const node = this.nodes.find(({ name }) => name === step.node)
      assert.ok(node)
      this.#fetching.set(`${step.node} ${step.image}`, { node, image: step.image, since: this.time })
      return
    }
    const pod = this.pods.find(({ name }) => name === step.pod.name)
    const { generation, image: seen } = { generation: step.pod.generation, image: step.container.image }
    assert.ok(pod && pod.image === seen && pod.generation === generation, 'the test of the patch')
    const image =
      step.do === 'note' ? pod.image : (this.admission.update?.(step.note.wanted, pod.image) ?? step.note.wanted)
    pod.annotations = { ...pod.annotations, [noteKey('envoy')]: writeNote(step.note) }
    assert.ok(!pod.image.includes('theirs') || step.do === 'note', `the image of ${pod.name} isn't ours to replace`)
    if (image !== pod.image) {
      if (pod.wasUp && !pod.ours) {
        pod.ours = true
        const down = this.pods.filter((one) => one.ours).length
        const allowed = allowedUnavailable(this.spec.strategy.maxUnavailable ?? 1, this.pods.length)
        this.most = Math.max(this.most, down)
        assert.ok(down <= allowed, `${down} pods are away by our doing, ${allowed} may be, and ${pod.name} is touched`)
      }
      pod.image = image
      pod.generation++
    }
    this.#show(pod)
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
