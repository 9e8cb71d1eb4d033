import assert from 'node:assert/strict'
import type { Fetch } from '../../rollouts/fetch.ts'
import { type Decision, next, type Shown, type Step } from '../../rollouts/next.ts'
import { type SeenPod, seenPod, type WirePod } from '../../rollouts/pod.ts'
import { touchKey, writeTouch } from '../../rollouts/record.ts'
import { allowedUnavailable } from '../../rollouts/share.ts'
import { statusOf } from '../../rollouts/status.ts'
import type { RolloutStatus, RolloutStrategy } from '../../rollouts/types.ts'
import { iso, NOW, rollout } from './pods.ts'

/** How long a start's hook takes; an image whose name has "bad" in it fails it then. */
const HOOK = 4000
const BACK_OFF = 20_000

interface Pod {
  readonly name: string
  readonly node: string
  image: string
  generation: number
  annotations: Record<string, string>
  appReady: boolean
  /** Its image is somebody else's doing. */
  foreign: boolean
  /** What really runs; `since` in its state. */
  runs: { id: number; image: string; is: 'none' | 'hook' | 'ready' | 'crashed'; since: number; begun: number }
  /** What the kubelet has said last; it says nothing while a hook runs. */
  said: WirePod
}

/** A model of a cluster with one rollout, a fake: what runs, and what the API server shows of it. */
export class World {
  time = NOW
  pods: Pod[] = []
  strategy: Partial<RolloutStrategy>
  image: string
  generation = 1
  status: RolloutStatus | undefined
  born = 0
  #seen = new Map<string, SeenPod>()
  #fetches = new Map<string, Fetch>()

  constructor(count: number, strategy: Partial<RolloutStrategy>, image = 'envoy:v2') {
    this.strategy = { minReadySeconds: 3, progressDeadlineSeconds: 60, ...strategy }
    this.image = image
    for (let i = 0; i < count; i++) this.create()
    this.pass(HOOK + 1000)
    this.pass(4000)
  }

  create() {
    const name = `p${this.born++}`
    const pod: Pod = {
      name,
      node: `n${this.born % 3}`,
      image: 'envoy:v1',
      generation: 1,
      annotations: {},
      appReady: true,
      foreign: false,
      runs: { id: 0, image: '', is: 'none', since: this.time, begun: 0 },
      said: undefined as never,
    }
    pod.said = this.#say(pod, 1)
    this.pods.push(pod)
  }

  change(what: { strategy?: Partial<RolloutStrategy>; image?: string }) {
    this.strategy = { ...this.strategy, ...what.strategy }
    this.image = what.image ?? this.image
    this.generation++
  }

  /** Somebody else's patch of a pod that runs. (Of one that starts at that moment nothing tells which of three images it runs.) */
  patch(pod: Pod, image: string) {
    if (pod.image === image || pod.runs.is !== 'ready') return
    pod.image = image
    pod.foreign = true
    pod.generation++
    this.#show(pod)
  }

  pass(ms: number) {
    this.time += ms
    for (const [key] of this.#fetches) this.#fetches.set(key, { is: 'there' })
    for (const pod of this.pods) this.#kubelet(pod)
  }

  #kubelet(pod: Pod) {
    const { runs } = pod
    const age = this.time - runs.since
    if (runs.is === 'hook') {
      if (age < HOOK) return
      pod.runs = { ...runs, is: runs.image.includes('bad') ? 'crashed' : 'ready', since: this.time }
    } else if (runs.image !== pod.image || (runs.is === 'crashed' && age > BACK_OFF)) {
      // Seen and begun: the status still speaks of the old container.
      pod.said = this.#say(pod, pod.generation, pod.said)
      pod.runs = { id: runs.id + 1, image: pod.image, is: 'hook', since: this.time, begun: this.time }
      return
    }
    pod.said = this.#say(pod, pod.generation)
  }

  #say(pod: Pod, observed: number, former?: WirePod): WirePod {
    const { runs } = pod
    const up = runs.is === 'ready'
    const ready = up && pod.appReady
    const was = pod.said?.status?.conditions?.[0]
    const same = was?.status === (ready ? 'True' : 'False')
    const id = (number: number) => (number > 0 ? `${pod.name}-${number}` : '')
    const status = former?.status ?? {
      phase: runs.is === 'none' ? 'Pending' : 'Running',
      conditions: [
        {
          type: 'Ready',
          status: ready ? ('True' as const) : ('False' as const),
          lastTransitionTime: same ? (was?.lastTransitionTime ?? '') : iso(this.time),
        },
      ],
      containerStatuses: [
        {
          name: 'envoy',
          image: runs.image,
          imageID: runs.image && `id of ${runs.image}`,
          containerID: id(runs.id),
          ready: up,
          state: up
            ? { running: { startedAt: iso(Math.floor(runs.begun / 1000) * 1000) } }
            : runs.is === 'crashed'
              ? { waiting: { reason: 'CrashLoopBackOff' } }
              : { waiting: { reason: 'ContainerCreating' } },
          lastState: { terminated: { containerID: id(runs.is === 'crashed' ? runs.id : runs.id - 1) } },
        },
      ],
    }
    return this.#wire(pod, { ...status, observedGeneration: observed })
  }

  #wire(pod: Pod, status: WirePod['status']): WirePod {
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
      spec: { nodeName: pod.node, containers: [{ name: 'envoy', image: pod.image }] },
      ...(status && { status }),
    }
  }

  #show(pod: Pod) {
    pod.said = this.#wire(pod, pod.said.status)
  }

  /** Whether it really works, whatever the API server shows. */
  works = ({ runs, appReady, image }: Pod) => runs.is === 'ready' && runs.image === image && appReady

  look(): Decision {
    const pods = this.pods.map(({ said }) => seenPod(said, this.#seen.get(said.metadata.name), this.time))
    this.#seen = new Map(pods.map((pod) => [pod.name, pod]))
    const shown: Shown = {
      now: this.time,
      rollout: this.rollout(),
      claimedBy: undefined,
      pods,
      neighbours: pods,
      budgets: [],
      fetchOf: (node, image) => this.#fetches.get(`${node} ${image}`),
    }
    return next(shown)
  }

  rollout = () =>
    rollout(this.strategy, {
      image: this.image,
      generation: this.generation,
      ...(this.status && { status: this.status }),
    })

  /** A controller's turn. @param dies after so many calls: the first is the status, each step is one; what it remembers is lost */
  turn(dies = Number.POSITIVE_INFINITY): Decision {
    const decision = this.look()
    if (dies > 0) this.status = statusOf(this.rollout(), decision, { now: this.time, trouble: undefined })
    for (const step of decision.steps.slice(0, Math.max(0, dies - 1))) this.#take(step)
    if (dies < Number.POSITIVE_INFINITY) this.#seen.clear()
    return decision
  }

  #take(step: Step) {
    if (step.do === 'fetch') {
      this.#fetches.set(`${step.node} ${step.image}`, { is: 'fetching' })
      return
    }
    const pod = this.pods.find(({ name }) => name === step.pod.name)
    assert.ok(pod && pod.image === step.touch.from, 'the test of the patch')
    if (this.works(pod)) {
      // While a hook runs after somebody else's patch nothing shows that the sidecar is away.
      const down = this.pods.filter(
        (one) => !this.works(one) && !(one.foreign && one.said.status?.conditions?.[0]?.status === 'True'),
      ).length
      const allowed = allowedUnavailable(this.strategy.maxUnavailable ?? 1, this.pods.length)
      assert.ok(down < allowed, `${down} pods are down, ${allowed} may be, and ${pod.name} is touched`)
    }
    pod.image = step.touch.to
    pod.foreign = false
    pod.generation++
    pod.annotations = { ...pod.annotations, [touchKey('envoy')]: writeTouch(step.touch) }
    this.#show(pod)
  }

  /** Turns until nothing more is to be done. */
  settle(): Decision {
    for (let i = 0; i < 2000; i++) {
      this.pass(1000)
      const decision = this.turn()
      const idle = decision.phase !== 'Progressing' && decision.phase !== 'RollingBack'
      if (idle && this.pods.every(({ runs, image }) => runs.is !== 'hook' && runs.image === image)) return decision
    }
    throw new Error(`it never ends: ${JSON.stringify(this.look())}`)
  }
}
