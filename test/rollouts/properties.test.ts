import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { allowedUnavailable, desiredOf } from '../../rollouts/share.ts'
import { runs } from '../runs.ts'
import { NOW } from './pods.ts'
import { World } from './world.ts'

const often = runs(400)

const strategies = fc.record({
  partition: fc.oneof(
    fc.integer({ min: 0, max: 9 }),
    fc.integer({ min: 0, max: 100 }).map((n) => `${n}%`),
  ),
  maxUnavailable: fc.oneof(
    fc.integer({ min: 1, max: 4 }),
    fc.integer({ min: 1, max: 100 }).map((n) => `${n}%`),
  ),
  minReadySeconds: fc.constantFrom(0, 3, 10),
  bakeSeconds: fc.constantFrom(0, 5, 20),
  onFailure: fc.constantFrom('pause' as const, 'rollback' as const),
})
const mirror = (image: string) => (image.startsWith('mirror/') ? image : `mirror/${image}`)
const admissions = fc.constantFrom({}, {}, { update: mirror }, { create: mirror, update: mirror })
/** A turn that dies after so many calls; most don't. */
const turn = fc.oneof({ weight: 4, arbitrary: fc.constant(99) }, fc.integer({ min: 0, max: 3 }))
const environment = [
  'up',
  'down',
  'blip',
  'bump',
  'kill',
  'oom',
  'app',
  'reboot',
  'freeze',
  'thaw',
  'throttle',
  'old',
  'evict',
  'skew',
  'crash',
  'silent',
  'late',
  'reordered',
  'live',
  'lost',
  'undone',
  'clock',
] as const
const wishes = ['pause', 'share', 'foreign'] as const
type Event = 'time' | 'forge' | 'flap' | (typeof environment)[number] | (typeof wishes)[number]
const scripts = (...events: readonly Event[]) =>
  fc.array(
    fc.tuple(
      turn,
      fc.oneof(
        { weight: 2 + Math.floor(events.length / 5), arbitrary: fc.constant<Event>('time') },
        fc.constantFrom<Event>(...events),
      ),
      fc.nat(100),
    ),
    { maxLength: 60 },
  )

function happen(world: World, what: Event, number: number) {
  const pod = world.pods[number % Math.max(1, world.pods.length)]
  const node = world.nodes[number % world.nodes.length]
  if (!pod || !node) return
  switch (what) {
    case 'time':
      return world.pass(500 + number * 20)
    case 'up':
      return void world.create()
    case 'down':
      if (world.pods.length > 1) world.pods = world.pods.filter((one) => one !== pod)
      return
    case 'flap':
      pod.appReady = !pod.appReady
      return world.pass(1)
    case 'blip':
      pod.blip = world.time + number * 30
      return world.pass(1)
    case 'bump':
      return world.bump(pod)
    case 'kill':
      return world.end(pod)
    // A container's own trouble with memory counts against its image, so it has to have the old one.
    case 'oom':
      return pod.runs.image.includes('v1') ? world.end(pod, { reason: 'OOMKilled' }) : undefined
    case 'app':
      return world.end(pod, { withApp: true })
    case 'reboot':
      return world.reboot(node)
    case 'freeze':
      node.frozen = true
      return
    case 'thaw':
      node.frozen = false
      return
    case 'throttle':
      node.throttled = !node.throttled
      return
    case 'old':
      node.old = true
      return
    case 'evict':
      return world.evict(pod)
    case 'skew':
      node.skew = (number - 50) * 12_000
      return
    case 'crash':
      return world.crash(pod)
    case 'silent':
      world.watching = what
      return world.pass(number * 500)
    case 'late':
    case 'reordered':
    case 'live':
      world.watching = what
      return
    case 'lost':
    case 'undone':
      world.answers.push(what)
      return
    case 'clock':
      world.clock = (number - 50) * 12_000
      return
    case 'forge':
      return world.forge(pod, number)
    case 'pause':
      return world.change({ strategy: { paused: number % 2 === 0 } })
    case 'share':
      return world.change({ strategy: { partition: `${number}%` } })
    case 'foreign':
      return world.patch(pod, 'envoy:theirs')
    default:
      return what satisfies never
  }
}

/** Every image is the same one under another name: the runtime says whichever it likes best. */
function retag(world: World) {
  world.digest = () => 'sha256:one'
  world.reported = () => 'docker.io/library/envoy:v1'
}

/** A world in which nothing hinders any more. */
function heal(world: World) {
  for (const node of world.nodes) Object.assign(node, { frozen: false, throttled: false })
  world.watching = 'live'
  for (const pod of world.pods) Object.assign(pod, { appReady: true, blip: 0 })
  if (world.spec.strategy.paused) world.change({ strategy: { paused: false } })
}

test('never more pods away by our doing than may be, no revision failed by its environment, and in the end the share', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      strategies,
      admissions,
      fc.boolean(),
      fc.boolean(),
      scripts(...environment, ...wishes),
      (count, strategy, admission, lock, isRetag, events) => {
        const world = new World(count, strategy, { admission })
        world.lock = lock
        if (isRetag) retag(world)
        world.turn()
        // A second one of a sidecar that has only just been given to the pod is no accident any more.
        const crashes = new Map<string, number>()
        for (const [calls, what, number] of events) {
          const name = world.pods[number % Math.max(1, world.pods.length)]?.name ?? ''
          const isCrash = what === 'kill' || what === 'app'
          if (isCrash) crashes.set(name, (crashes.get(name) ?? 0) + 1)
          if (!isCrash || (crashes.get(name) ?? 0) < 2) happen(world, what, number)
          const { failure } = world.turn(calls === 99 ? undefined : calls)
          assert.equal(failure, undefined)
        }
        heal(world)
        const decision = world.settle()
        assert.deepEqual([decision.phase, decision.failure], ['Complete', undefined])
        const theirs = world.pods.filter(({ image }) => image.includes('theirs'))
        const desired = desiredOf(world.spec.strategy.partition ?? 0, world.pods.length - theirs.length)
        assert.equal(world.pods.filter(({ runs }) => runs.image.endsWith('envoy:v2')).length, desired)
        world.run(20)
        assert.ok(world.pods.every(world.works))
      },
    ),
    often,
  )
})

test('a watch that lies, answers that are lost, notes that are forged: the same holds', () => {
  const events = scripts(
    'silent',
    'late',
    'late',
    'reordered',
    'live',
    'lost',
    'undone',
    'forge',
    'flap',
    'up',
    'evict',
    'crash',
    'kill',
  )
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 6 }), strategies, events, (count, strategy, script) => {
      const world = new World(count, { ...strategy, partition: 0, progressDeadlineSeconds: 30 })
      let kills = 0
      for (const [, what, number] of script) {
        if (what !== 'kill' || kills++ < 1) happen(world, what, number)
        assert.equal(world.turn().failure, undefined)
      }
      heal(world)
      assert.equal(world.settle().phase, 'Complete')
      world.run(20)
      assert.ok(world.pods.every(world.works))
    }),
    runs(1000),
  )
})

/** Stopped, and taken back by hand, or rolled back: every pod has `base` again, and works. */
function endsAsAsked(world: World, onFailure: string | undefined, reason: string, base: string) {
  heal(world)
  const decision = world.settle()
  const rolledBack = onFailure === 'rollback'
  assert.deepEqual([decision.phase, decision.failure?.reason], [rolledBack ? 'RolledBack' : 'Stopped', reason])
  if (!rolledBack) {
    world.change({ strategy: { partition: '100%' } })
    assert.equal(world.settle().phase, 'Complete')
  }
  for (const image of world.images()) assert.ok(image.endsWith(base), `${image}, not ${base}`)
  world.run(20)
  assert.ok(world.pods.every(world.works))
}

test('a bad image: stopped with no more pods away than may be, or every pod back on what was complete before', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      strategies,
      admissions,
      fc.boolean(),
      scripts('up', 'bump', 'freeze', 'thaw', 'skew'),
      (count, strategy, admission, before, events) => {
        const world = new World(count, { ...strategy, partition: 0, progressDeadlineSeconds: 60 }, { admission })
        const base = before ? 'envoy:v2' : 'envoy:v1'
        if (before) world.settle()
        world.change({ image: 'envoy:bad' })
        for (const [calls, what, number] of events) {
          happen(world, what, number)
          world.turn(calls === 99 ? undefined : calls)
        }
        endsAsAsked(world, strategy.onFailure, 'Crashed', base)
      },
    ),
    often,
  )
})

test('pods whose change is denied hold back no other, the status names them and why, and they follow once they may', () => {
  const denying = fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      strategies,
      denying,
      scripts('flap', 'bump', 'kill', 'evict', 'late', 'live', 'lost', 'undone', 'silent'),
      fc.boolean(),
      (count, strategy, numbers, events, back) => {
        const denied = new Set(numbers.map((number) => `p${number}`))
        const admission = { denies: (name: string) => denied.has(name) }
        const world = new World(count, strategy, back ? {} : { admission })
        if (back) {
          // All of them have it, and some may not be taken back.
          world.change({ strategy: { partition: 0 } })
          world.settle()
          world.admission = admission
          world.change({ strategy: { partition: '100%' } })
        }
        let kills = 0
        for (const [calls, what, number] of events) {
          if (what !== 'kill' || kills++ < 1) happen(world, what, number)
          world.turn(calls === 99 ? undefined : calls)
        }
        heal(world)
        const { phase, reason, leftAlone } = world.settle()
        const total = world.pods.length
        const may = world.pods.filter(({ name, image }) => !denied.has(name) || image === 'envoy:v2').length
        const must = world.pods.filter(({ name, image }) => denied.has(name) && image === 'envoy:v2').length
        const desired = desiredOf(world.spec.strategy.partition ?? 0, total)
        const is = world.images().filter((image) => image === 'envoy:v2').length
        assert.equal(is, Math.max(must, Math.min(may, desired)))
        const stuck = is !== desired
        assert.deepEqual([phase, reason], stuck ? ['Stopped', 'Refused'] : ['Complete', 'Complete'])
        if (stuck) {
          const condition = (name: string) => world.status?.conditions.find(({ type }) => type === name)
          assert.equal(condition('Stalled')?.status, 'True')
          assert.ok(leftAlone.refused.length > 0 && leftAlone.refused.every((name) => denied.has(name)))
          assert.match(condition('Refused')?.message ?? '', new RegExp(`${leftAlone.refused[0]} .*: not this one`))
        }
        denied.clear()
        world.run(700)
        assert.equal(world.settle().phase, 'Complete')
        assert.equal(world.images().filter((image) => image === 'envoy:v2').length, desired)
      },
    ),
    runs(100),
  )
})

test('another name of the same image takes no longer than another image', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), strategies, scripts('flap', 'bump'), (count, strategy, events) => {
      const takes = (isRetag: boolean, dies = Number.POSITIVE_INFINITY): number => {
        const world = new World(count, strategy)
        if (isRetag) retag(world)
        for (const [, what, number] of events) {
          happen(world, what, number)
          world.turn(dies)
        }
        heal(world)
        const { phase, counts } = world.settle()
        assert.deepEqual([phase, counts.ready], ['Complete', count])
        return world.time - NOW
      }
      assert.equal(takes(true), takes(false))
      // A process that hasn't seen it begin waits longer, and doesn't take what is done for unready.
      takes(true, 1)
      takes(true, 2)
    }),
    runs(100),
  )
})

test('a rollout that waits behind another takes the pods from what that one has left them on', () => {
  const change = fc.tuple(fc.nat(100), fc.constantFrom('envoy:v1', 'envoy:v3', 'envoy:v4'))
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      strategies,
      fc.array(change, { maxLength: 8 }),
      fc.option(fc.constantFrom('envoy:v5', 'envoy:v6')),
      (count, strategy, changes, image) => {
        const world = new World(count, strategy)
        world.claimedBy = 'older'
        for (const [number, theirs] of changes) {
          assert.equal(world.turn().phase, 'Waiting')
          const pod = world.pods[number % count]
          if (pod) world.patch(pod, theirs)
          world.run(10)
          assert.deepEqual(world.look().leftAlone.superseded, [])
        }
        if (image) world.change({ image })
        world.turn()
        world.claimedBy = undefined
        assert.equal(world.settle().phase, 'Complete')
        const desired = desiredOf(strategy.partition, count)
        assert.equal(world.images().filter((one) => one === world.spec.image).length, desired)
      },
    ),
    runs(100),
  )
})

test('whatever stays in its way, a rollout is Ready or Stalled within the time that its pods may take', () => {
  const events = scripts(
    'flap',
    'flap',
    'freeze',
    'throttle',
    'throttle',
    'old',
    'up',
    'silent',
    'late',
    'pause',
    'share',
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      strategies,
      events,
      fc.constantFrom('envoy:v2', 'envoy:unready', 'envoy:mute'),
      (count, strategy, script, image) => {
        // Without a bake, nobody sees that it doesn't work before the next pod's turn.
        const bakeSeconds = Math.max(strategy.bakeSeconds, image === 'envoy:mute' ? 5 : 0)
        const world = new World(count, { ...strategy, bakeSeconds, progressDeadlineSeconds: 20 }, { image })
        for (const [calls, what, number] of script) {
          happen(world, what, number)
          world.turn(calls === 99 ? undefined : calls)
        }
        // There and back, and for each of them what it may take, twice.
        world.run((2 * world.pods.length + 1) * 100)
        const is = (name: string) => world.status?.conditions.find(({ type }) => type === name)?.status
        assert.deepEqual([is('Ready') === 'True' || is('Stalled') === 'True', is('Reconciling')], [true, 'False'])
        heal(world)
        world.run(2)
        // A pod that wasn't ready before is judged by its sidecar alone, and then it may hold the others back.
        if (image === 'envoy:mute') return
        const { phase, failure } = world.settle()
        if (!failure) assert.equal(phase, 'Complete')
      },
    ),
    runs(100),
  )
})

test('images that change faster than kubelets act: no more pods away than may be, and the last one wins', () => {
  const change = fc.tuple(
    fc.constantFrom('envoy:v1', 'envoy:v2', 'envoy:v3', 'envoy:v4'),
    fc.integer({ min: 0, max: 14 }),
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      strategies,
      admissions,
      fc.boolean(),
      fc.array(change, { minLength: 1, maxLength: 8 }),
      (count, strategy, admission, old, changes) => {
        // Nobody can know that mirror/envoy:v1 is what the mirror makes of envoy:v1 before a touch has shown it.
        fc.pre(!('create' in admission) || changes.every(([image]) => image !== 'envoy:v1'))
        const world = new World(count, { ...strategy, partition: 0 }, { admission })
        for (const node of world.nodes) node.old = old
        for (const [image, halfSeconds] of changes) {
          world.change({ image })
          world.turn()
          for (let i = 0; i < halfSeconds; i++) {
            world.pass(500)
            world.turn()
          }
        }
        assert.equal(world.settle().phase, 'Complete')
        const last = changes.at(-1)?.[0] ?? ''
        for (const image of world.images()) assert.ok(image.endsWith(last), `${image}, not ${last}`)
      },
    ),
    often,
  )
})

test('a sidecar that is ready and does not work: no more apps down than may be, stopped, or every pod back', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      strategies,
      // Longer than it takes its app's probe to notice.
      fc.integer({ min: 4, max: 20 }),
      admissions,
      fc.boolean(),
      scripts('bump', 'freeze', 'thaw', 'skew', 'crash', 'blip', 'late', 'silent', 'live'),
      (count, strategy, bakeSeconds, admission, before, events) => {
        const world = new World(
          count,
          { ...strategy, bakeSeconds, partition: 0, progressDeadlineSeconds: 40 },
          { admission },
        )
        const base = before ? 'envoy:v2' : 'envoy:v1'
        if (before) world.settle()
        world.change({ image: 'envoy:mute' })
        for (const [calls, what, number] of events) {
          // A pod that isn't ready before its touch is judged by its sidecar alone.
          const isApp = what === 'crash' || what === 'blip'
          if (!isApp || world.pods[number % count]?.ours) happen(world, what, number)
          world.turn(calls === 99 ? undefined : calls)
        }
        endsAsAsked(world, strategy.onFailure, 'AppNotReady', base)
      },
    ),
    runs(200),
  )
})

test('apps that are down on touched and untouched pods alike blame no sidecar before twice the deadline', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 5, max: 8 }),
      fc.integer({ min: 1, max: 2 }),
      fc.constantFrom(0, 3, 10),
      fc.integer({ min: 1, max: 120 }),
      // A pod may have been on its way for a while when it begins.
      fc.integer({ min: 1, max: 42 }),
      (count, maxUnavailable, minReadySeconds, from, seconds) => {
        const world = new World(count, { maxUnavailable, minReadySeconds, progressDeadlineSeconds: 30 })
        const touched = () => world.pods.filter(({ generation }) => generation > 1).length
        for (let i = 0; i < from && touched() + maxUnavailable <= count - 3; i++) world.run(1)
        const down = (isDown: boolean) => {
          for (const pod of world.pods) pod.appReady = !isDown
        }
        down(true)
        for (let i = 0; i < seconds; i++) {
          const { failure, excused } = world.run(1)
          assert.equal(failure, undefined)
          for (const text of excused) assert.match(text, /^p\d \(\d of \d pods that nobody has touched became unready/)
        }
        down(false)
        assert.equal(world.settle().phase, 'Complete')
      },
    ),
    runs(100),
  )
})

test('a pod that flaps has no more time than one that is never ready', () => {
  const times = fc.record({ up: fc.integer({ min: 1, max: 8 }), down: fc.integer({ min: 1, max: 8 }) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), times, (count, { up, down }) => {
      const world = new World(count, { minReadySeconds: 10, progressDeadlineSeconds: 30 })
      for (let i = 0; i < 20 && !world.pods.some(({ ours }) => ours); i++) world.run(1)
      const pod = world.pods.find(({ ours }) => ours)
      assert.ok(pod)
      const began = world.time
      // Its kubelet has to show that it lives, which takes two renewals of its Lease.
      while (world.run(1).failure === undefined) {
        pod.appReady = ((world.time - began) / 1000) % (up + down) >= down
        assert.ok(world.time - began < 75_000, 'it is never judged')
      }
      assert.equal(world.look().failure?.reason, 'AppNotReady')
    }),
    runs(60),
  )
})

test('judged by their sidecars alone, pods that are rightly not ready are done, and use up no room', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.nat(5), strategies, (count, standby, strategy) => {
      const world = new World(count, { ...strategy, partition: 0, judge: 'Sidecar' })
      for (const [index, pod] of world.pods.entries()) pod.appReady = index >= standby
      world.pass(1000)
      const { phase, counts } = world.settle()
      assert.deepEqual([phase, counts.updatedReady], ['Complete', count])
    }),
    runs(60),
  )
})

test('a sidecar that ends a while after it was ready never passes the first pods', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      strategies,
      admissions,
      scripts('bump', 'skew', 'late', 'silent', 'live', 'reordered', 'lost', 'undone'),
      (count, strategy, admission, events) => {
        const world = new World(
          count,
          { ...strategy, partition: 0, bakeSeconds: 60 },
          { admission, image: 'envoy:late' },
        )
        for (const [calls, what, number] of events) {
          happen(world, what, number)
          world.turn(calls === 99 ? undefined : calls)
        }
        heal(world)
        const { phase, failure } = world.settle()
        const rolledBack = strategy.onFailure === 'rollback'
        assert.deepEqual([phase, failure?.reason], [rolledBack ? 'RolledBack' : 'Stopped', 'Crashed'])
        const first = allowedUnavailable(strategy.maxUnavailable, count)
        assert.ok((world.given.get('envoy:late')?.size ?? 0) <= first, `${[...(world.given.get('envoy:late') ?? [])]}`)
        if (!rolledBack) return
        for (const image of world.images()) assert.ok(image.endsWith('envoy:v1'))
        assert.ok(world.pods.every(world.works))
      },
    ),
    runs(200),
  )
})

test('the first pods bake and the last ones do, and what goes back never does', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      strategies,
      fc.integer({ min: 20, max: 90 }),
      (count, strategy, bakeSeconds) => {
        const takes = (bake: number, image?: string): number => {
          const world = new World(count, { ...strategy, partition: 0, onFailure: 'rollback', bakeSeconds: 0 })
          world.settle()
          const began = world.time
          world.change({ strategy: { bakeSeconds: bake }, image: image ?? 'envoy:v3' })
          world.settle()
          if (!image) return world.time - began
          const { failure } = world.status ?? {}
          assert.equal(failure?.reason, 'Crashed')
          return world.time - Date.parse(failure.time)
        }
        const waves = count > allowedUnavailable(strategy.maxUnavailable, count) ? 2 : 1
        const more = (takes(bakeSeconds) - takes(0)) / 1000
        // A wave counts `minReadySeconds` twice: at most as much is saved by that.
        assert.ok(more >= waves * (bakeSeconds - strategy.minReadySeconds) - 2, `${more} s more`)
        assert.ok(more <= waves * (bakeSeconds + 5), `${more} s more`)
        assert.equal(takes(bakeSeconds, 'envoy:bad'), takes(0, 'envoy:bad'))
      },
    ),
    runs(60),
  )
})

test('a sidecar that is killed once while it bakes fails nothing', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      strategies,
      fc.array(fc.nat(200), { minLength: 5, maxLength: 5 }),
      (count, strategy, times) => {
        const world = new World(count, { ...strategy, partition: 0, bakeSeconds: 60 })
        for (let i = 0; i < 200; i++) {
          for (const [index, pod] of world.pods.entries()) if (times[index] === i) world.end(pod)
          assert.equal(world.run(1).failure, undefined)
        }
        assert.equal(world.settle().phase, 'Complete')
      },
    ),
    runs(60),
  )
})

test('a mirror that rewrites images when pods are created, and only then: no pod whose template has the image is restarted', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      strategies,
      fc.constantFrom(mirror, (image: string) => `mirror/envoy@sha256:${Buffer.from(image).toString('hex')}`),
      scripts('kill', 'late', 'live', 'lost', 'up'),
      (old, young, strategy, create, events) => {
        const world = new World(old, { ...strategy, partition: 0 }, { admission: { create } })
        world.template = 'envoy:v2'
        for (let i = 0; i < young; i++) world.create()
        world.pass(8000)
        let kills = 0
        for (const [calls, what, number] of events) {
          if (what !== 'kill' || kills++ < 1) happen(world, what, number)
          world.turn(calls === 99 ? undefined : calls)
        }
        heal(world)
        assert.equal(world.settle().phase, 'Complete')
        const { phase, counts, leftAlone } = world.run(20)
        assert.deepEqual([phase, counts.updatedReady, leftAlone.superseded], ['Complete', world.pods.length, []])
        for (const { template, image } of world.pods) {
          assert.equal(image, template === 'envoy:v2' ? create('envoy:v2') : 'envoy:v2')
        }
      },
    ),
    runs(100),
  )
})
