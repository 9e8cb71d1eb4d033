import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { desiredOf } from '../../rollouts/share.ts'
import { World } from './world.ts'

const strategies = fc.record({
  partition: fc.oneof(
    fc.integer({ min: 0, max: 9 }),
    fc.integer({ min: 0, max: 100 }).map((n) => `${n}%`),
  ),
  maxUnavailable: fc.oneof(
    fc.integer({ min: 1, max: 4 }),
    fc.integer({ min: 1, max: 100 }).map((n) => `${n}%`),
  ),
})
/** A turn that dies after so many calls; most don't. */
const turn = fc.oneof({ weight: 3, arbitrary: fc.constant(99) }, fc.integer({ min: 0, max: 3 }))
const event = fc.oneof(
  { weight: 4, arbitrary: fc.constant('time' as const) },
  fc.constantFrom('up', 'down', 'flap', 'foreign', 'pause', 'share' as const),
)
const script = fc.array(fc.tuple(turn, event, fc.nat(100)), { maxLength: 60 })

function play(world: World, events: readonly [number, string, number][]) {
  for (const [calls, what, number] of events) {
    const pod = world.pods[number % Math.max(1, world.pods.length)]
    if (what === 'time') world.pass(500 + number * 20)
    else if (what === 'up') world.create()
    else if (what === 'down' && world.pods.length > 1) world.pods = world.pods.filter((one) => one !== pod)
    else if (what === 'flap' && pod) {
      pod.appReady = !pod.appReady
      world.pass(1)
    } else if (what === 'foreign' && pod) world.patch(pod, 'envoy:theirs')
    else if (what === 'pause') world.change({ strategy: { paused: number % 2 === 0 } })
    else if (what === 'share') world.change({ strategy: { partition: `${number}%` } })
    // What the kubelet of the model does in no time is reported in no time.
    world.turn(calls === 99 ? undefined : calls)
  }
  for (const one of world.pods) one.appReady = true
}

test('never more pods down than may be, and in the end the share, whatever happens and wherever it dies', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), strategies, script, (count, strategy, events) => {
      const world = new World(count, strategy)
      play(world, events)
      // A changed spec: pods that somebody else has patched are seen to again.
      world.change({ strategy: { paused: false } })
      const decision = world.settle()
      assert.equal(decision.phase, 'Complete')
      const desired = desiredOf(world.strategy.partition ?? 0, world.pods.length)
      assert.equal(world.pods.filter(({ runs }) => runs.image === 'envoy:v2').length, desired)
      assert.ok(world.pods.every(world.works))
    }),
    { numRuns: 300 },
  )
})

test('a bad image: stopped with no more pods down than may be', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), strategies, script, (count, strategy, events) => {
      const world = new World(count, { ...strategy, partition: 0 }, 'envoy:bad')
      play(
        world,
        events.filter(([, what]) => what === 'time'),
      )
      const decision = world.settle()
      assert.deepEqual([decision.phase, decision.failure?.reason], ['Stopped', 'Crashed'])
      const { maxUnavailable = 1 } = world.strategy
      const allowed =
        typeof maxUnavailable === 'number'
          ? maxUnavailable
          : Math.max(1, (count * Number.parseInt(maxUnavailable, 10)) / 100)
      assert.ok(world.pods.filter(({ image }) => image === 'envoy:bad').length <= allowed)
    }),
    { numRuns: 200 },
  )
})

test('a bad image under rollback: every pod has in the end what it had, wherever the controller dies', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), strategies, script, (count, strategy, events) => {
      const world = new World(count, { ...strategy, onFailure: 'rollback' })
      world.settle()
      const before = new Map(world.pods.map(({ name, image }) => [name, image]))
      world.change({ image: 'envoy:bad', strategy: { partition: 0 } })
      play(
        world,
        events.filter(([, what]) => what === 'time'),
      )
      const decision = world.settle()
      assert.deepEqual([decision.phase, decision.failure?.reason], ['RolledBack', 'Crashed'])
      assert.deepEqual(new Map(world.pods.map(({ name, image }) => [name, image])), before)
      assert.ok(world.pods.every(world.works))
    }),
    { numRuns: 200 },
  )
})
