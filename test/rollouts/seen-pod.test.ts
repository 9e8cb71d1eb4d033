import assert from 'node:assert/strict'
import { test } from 'node:test'
import { World } from './world.ts'

/** Cases in which a rollout once misjudged, each as it was seen. */

const mirrored = (image: string) => (image.startsWith('mirror/') ? image : `mirror/${image}`)
const nobody = { admission: { update: mirrored, create: mirrored } }

test('a webhook that rewrites images on UPDATE: no more pods away than allowed, counted as done', () => {
  const world = new World(10, {}, nobody)
  const decision = world.settle()
  assert.deepEqual([decision.phase, decision.counts.updatedReady], ['Complete', 10])
  assert.deepEqual(world.images(), Array(10).fill('mirror/envoy:v2'))
})

test('a webhook that rewrites images on UPDATE: what it makes of them is fetched, so only the first pod waits for its pull', () => {
  const world = new World(6, {}, nobody)
  world.settle()
  assert.deepEqual(
    world.fetched.filter((image) => image !== 'envoy:v2'),
    ['mirror/envoy:v2', 'mirror/envoy:v2', 'mirror/envoy:v2'],
  )
})

test('a webhook that rewrites images on UPDATE: a bad image is reported, and can be undone', () => {
  const world = new World(4, {}, { ...nobody, image: 'envoy:bad' })
  assert.equal(world.settle().phase, 'Stopped')
  world.change({ strategy: { partition: '100%' } })
  assert.equal(world.settle().phase, 'Complete')
  assert.deepEqual(world.images(), Array(4).fill('mirror/envoy:v1'))
})

test('a webhook that puts the old image back on UPDATE: the pod is left alone, and it is said', () => {
  const world = new World(4, {}, { admission: { update: (_, before) => before } })
  const decision = world.run(60)
  assert.deepEqual(world.images(), Array(4).fill('envoy:v1'))
  assert.equal(decision.phase, 'Stopped')
})

for (const [what, ended] of Object.entries({
  'a SIGKILL': {},
  'an OOM kill': { reason: 'OOMKilled' },
  'a liveness restart': { exitCode: 143 },
  'a kill with the app': { withApp: true },
})) {
  test(`${what} long after Complete stops nothing, and new pods still get the image`, () => {
    const world = new World(3)
    world.settle()
    world.pass(600_000)
    world.turn()
    const [pod] = world.pods
    assert.ok(pod)
    world.end(pod, ended)
    for (let i = 0; i < 5; i++) assert.notEqual(world.run(1).phase, 'Stopped')
    world.create()
    const decision = world.settle()
    assert.deepEqual([decision.phase, decision.counts.updatedReady], ['Complete', 4])
  })
}

for (const [what, disturb] of Object.entries<(world: World) => void>({
  'a frozen kubelet': (world) => {
    world.run(1)
    world.turn()
    const node = world.pods.find(({ image }) => image === 'envoy:v2')?.node
    assert.ok(node)
    node.frozen = true
    world.run(200)
    node.frozen = false
  },
  'a kubelet that freezes in mid-hook, or a node that is lost for a while': (world) => {
    for (let i = 0; i < 40 && !world.pods.some(({ runs }) => runs.is === 'hook'); i++) {
      world.turn()
      world.pass(500)
    }
    const node = world.pods.find(({ runs }) => runs.is === 'hook')?.node
    assert.ok(node)
    world.turn()
    node.frozen = true
    world.run(200)
    node.frozen = false
  },
  'a reboot in mid-hook': (world) => {
    world.run(8)
    for (const node of world.nodes) world.reboot(node)
  },
  'a registry that answers 429 for 20 s on a later node': (world) => {
    const node = world.nodes[2]
    assert.ok(node)
    node.throttled = true
    world.run(40)
    node.throttled = false
  },
  'an eviction': (world) => {
    world.run(9)
    const touched = world.pods.find(({ image }) => image === 'envoy:v2')
    if (touched) world.evict(touched)
  },
  'one crash that recovers': (world) => {
    world.run(12)
    const touched = world.pods.find(({ runs }) => runs.image === 'envoy:v2')
    if (touched) world.end(touched)
  },
})) {
  test(`${what} puts no healthy fleet back`, () => {
    const world = new World(6, { onFailure: 'rollback', progressDeadlineSeconds: 30 })
    disturb(world)
    const decision = world.settle()
    assert.deepEqual([decision.phase, decision.failure], ['Complete', undefined])
    assert.deepEqual(world.images(), Array(6).fill('envoy:v2'))
  })
}

test("a newer release's image is never replaced", () => {
  const world = new World(4)
  world.settle()
  world.template = 'envoy:v3'
  for (let i = 0; i < 4; i++) {
    const [oldest] = world.pods
    assert.ok(oldest)
    world.evict(oldest)
    world.run(20)
  }
  assert.deepEqual(world.images(), Array(4).fill('envoy:v3'))
})

test('the runtime reports another tag, and kubectl debug has bumped the generation: it ends', () => {
  const world = new World(2)
  world.reported = () => 'docker.io/library/other:tag'
  world.template = 'envoy:v2'
  world.create()
  world.pass(8000)
  for (const pod of world.pods) world.bump(pod)
  const decision = world.settle()
  assert.deepEqual([decision.phase, decision.counts.updatedReady], ['Complete', 3])
})

test('v1, v2 done, v3 rolled back: every pod ends at v2, new ones too', () => {
  const world = new World(4, { onFailure: 'rollback' })
  world.settle()
  world.change({ image: 'envoy:bad3' })
  assert.equal(world.settle().phase, 'RolledBack')
  assert.deepEqual(world.images(), Array(4).fill('envoy:v2'))
  world.create()
  world.run(30)
  assert.deepEqual(world.images(), Array(5).fill('envoy:v2'))
})

test('v2 again and undone after a failed v3: all pods are on one image', () => {
  const world = new World(4, { onFailure: 'rollback' })
  world.settle()
  world.change({ image: 'envoy:bad3' })
  world.settle()
  world.create()
  world.run(30)
  world.change({ image: 'envoy:v2' })
  world.settle()
  world.change({ strategy: { partition: '100%' } })
  const decision = world.settle()
  assert.equal(decision.phase, 'Complete')
  assert.equal(new Set(world.images()).size, 1)
})

test('an image that changes twice before the kubelet acts: no more pods away than allowed, without fetching ahead', () => {
  const world = new World(6, { minReadySeconds: 0 })
  for (const node of world.nodes) node.old = true
  world.run(5)
  for (const image of ['envoy:v3', 'envoy:v4', 'envoy:v5']) {
    world.change({ image })
    for (let i = 0; i < 3; i++) world.turn()
    world.pass(500)
    world.turn()
  }
  assert.equal(world.settle().phase, 'Complete')
  assert.deepEqual(world.images(), Array(6).fill('envoy:v5'))
})

for (const [what, changes] of Object.entries({
  'an image that changes twice': [{ image: 'envoy:v3' }, { image: 'envoy:v4' }],
  'a share that is taken back and given again': [{ strategy: { partition: '100%' } }, { strategy: { partition: 0 } }],
})) {
  test(`${what} before the kubelet acts: the hook hides that the sidecar is away, and no second pod goes`, () => {
    const world = new World(3, { minReadySeconds: 0 })
    for (const node of world.nodes) Object.assign(node, { old: true, frozen: true })
    for (const change of [{}, ...changes]) {
      world.change(change)
      for (let i = 0; i < 3; i++) world.turn()
    }
    for (const node of world.nodes) node.frozen = false
    for (let i = 0; i < 8; i++) {
      world.pass(500)
      world.turn()
    }
    assert.equal(world.pods.filter(({ generation }) => generation > 1).length, 1)
    assert.equal(world.settle().phase, 'Complete')
    assert.deepEqual([new Set(world.images()).size, world.most], [1, 1])
  })
}

test('a mirror on CREATE restarts no pod whose template is right already', () => {
  const world = new World(3, {}, { admission: { create: mirrored } })
  world.settle()
  world.template = 'envoy:v2'
  const [oldest] = world.pods
  assert.ok(oldest)
  world.evict(oldest)
  world.settle()
  const born = world.pods.at(-1)
  assert.deepEqual([born?.image, born?.generation], ['mirror/envoy:v2', 1])
})

test('docker.io/busybox is docker.io/library/busybox', () => {
  const world = new World(2, {}, { image: 'docker.io/envoy:v2', template: 'docker.io/library/envoy:v2' })
  assert.equal(world.settle().phase, 'Complete')
  assert.ok(world.pods.every(({ generation }) => generation === 1))
})

test('a clock of a node that is behind fails nothing', () => {
  for (const skew of [-600_000, -5000, 5000, 600_000]) {
    // The same digest under both tags, so that names and IDs say nothing.
    const world = new World(3, { progressDeadlineSeconds: 30 })
    world.digest = () => 'sha256:aa'
    for (const node of world.nodes) node.skew = skew
    const decision = world.settle()
    assert.deepEqual([decision.phase, decision.failure], ['Complete', undefined], `${skew}`)
  }
})

test('v2 complete for half of the pods, v3 failed: v2 keeps its share, the rest its origin', () => {
  const world = new World(4, { onFailure: 'rollback', partition: '50%', maxUnavailable: 2 })
  assert.equal(world.settle().phase, 'Complete')
  world.change({ image: 'envoy:bad3', strategy: { partition: 0 } })
  assert.equal(world.settle().phase, 'RolledBack')
  assert.deepEqual(world.images().sort(), ['envoy:v1', 'envoy:v1', 'envoy:v2', 'envoy:v2'])
})

test('a greater share that fails goes back to the share that was complete', () => {
  const world = new World(4, { onFailure: 'rollback', partition: '75%' })
  assert.equal(world.settle().phase, 'Complete')
  // It works on one pod, and on no other.
  const works = world.pods.find(({ image }) => image === 'envoy:v2')
  world.change({ strategy: { partition: 0 } })
  for (let i = 0; i < 120; i++) {
    world.run(1)
    for (const pod of world.pods) if (pod !== works && pod.image === 'envoy:v2') world.end(pod)
  }
  assert.equal(world.settle().phase, 'RolledBack')
  assert.deepEqual(world.images().sort(), ['envoy:v1', 'envoy:v1', 'envoy:v1', 'envoy:v2'])
})

test('rest: origin gives each pod what it had at first, whatever was complete since', () => {
  const world = new World(3)
  world.settle()
  world.change({ image: 'envoy:v3' })
  world.settle()
  world.change({ strategy: { partition: '100%', rest: 'origin' } })
  assert.equal(world.settle().phase, 'Complete')
  assert.deepEqual(world.images(), Array(3).fill('envoy:v1'))
})

test('taken back before the kubelet has seen it, no container is restarted', () => {
  const world = new World(2)
  world.run(1)
  world.turn()
  assert.ok(world.images().includes('envoy:v2'))
  for (const node of world.nodes) node.frozen = true
  world.change({ strategy: { partition: '100%' } })
  world.run(3)
  for (const node of world.nodes) node.frozen = false
  assert.equal(world.settle().phase, 'Complete')
  assert.deepEqual(
    world.pods.map(({ runs }) => runs.id),
    [1, 1],
  )
})

test('an app that crashes while its upgraded sidecar is not ready does not fail the rollout by itself', () => {
  const world = new World(2, { onFailure: 'rollback' })
  world.run(6)
  for (const pod of world.pods) world.end(pod, { withApp: true })
  assert.equal(world.settle().phase, 'Complete')
})

test('Unneeded: complete, and no pod has an image from here any more', () => {
  const world = new World(2)
  assert.equal(world.settle().unneeded, false)
  world.template = 'envoy:v2'
  for (const pod of [...world.pods]) world.evict(pod)
  const decision = world.settle()
  assert.deepEqual([decision.phase, decision.unneeded], ['Complete', true])
})

test('an image that is removed from its node after fetching is pulled again, or reported by the deadline', () => {
  const world = new World(2, { progressDeadlineSeconds: 30 })
  world.run(1)
  for (const node of world.nodes) {
    node.images.delete('envoy:v2')
    node.throttled = true
  }
  assert.equal(world.run(120).failure, undefined)
  for (const node of world.nodes) node.throttled = false
  assert.equal(world.settle().phase, 'Complete')
})

test('two leaders at once: the tests of the patches keep the pods that are away within what is allowed', () => {
  const world = new World(6, { maxUnavailable: 2 })
  for (let i = 0; i < 60; i++) {
    world.pass(500)
    // The second decides by the same sight and loses by the pods' generations.
    const seen = world.look()
    world.turn()
    world.tryAll(seen)
  }
  assert.equal(world.settle().phase, 'Complete')
})

test('a touch whose answer is lost, and a watch that is late: no second pod is touched before the first has been read', () => {
  const world = new World(2, { minReadySeconds: 0 })
  world.watching = 'late'
  world.turn()
  world.pass(3000)
  const [, later] = world.pods
  assert.ok(later)
  later.appReady = false
  world.pass(2500)
  world.answers.push('lost')
  for (let i = 0; i < 12; i++) {
    world.turn()
    world.pass(500)
  }
  assert.equal(world.most, 1)
})

test('a note that is taken away or forged in mid-upgrade lets no second pod go', () => {
  for (let how = 0; how < 7; how++) {
    const world = new World(3, { minReadySeconds: 0 })
    world.run(1)
    world.turn()
    const touched = world.pods.find(({ image }) => image === 'envoy:v2')
    assert.ok(touched)
    world.forge(touched, how)
    assert.equal(world.settle().phase, 'Complete')
    assert.equal(world.most, 1, `${how}`)
  }
})

test('a watch that stays silent for longer than the deadline fails nothing', () => {
  const world = new World(2, { onFailure: 'rollback', progressDeadlineSeconds: 30 })
  world.run(1)
  world.turn()
  world.pass(1000)
  world.turn()
  world.watching = 'silent'
  world.pass(60_000)
  assert.equal(world.turn().failure, undefined)
  world.watching = 'live'
  assert.equal(world.settle().phase, 'Complete')
})

test('pods that came up while the watch was silent are not all touched as if they had never run', () => {
  const world = new World(2)
  world.settle()
  for (let i = 0; i < 3; i++) world.create()
  assert.equal(world.look().steps.filter((step) => step.do === 'touch').length, 3)
  world.watching = 'silent'
  world.pass(10_000)
  for (let i = 0; i < 10; i++) world.turn()
  assert.equal(world.most, 1)
  world.watching = 'live'
  assert.equal(world.settle().phase, 'Complete')
})

test('an app with a lock that crashes while its upgraded sidecar is not ready stays down until the sidecar is; without a lock it is back at once', () => {
  for (const lock of [true, false]) {
    const world = new World(3, { maxUnavailable: 2 })
    world.lock = lock
    for (let i = 0; i < 6; i++) {
      world.turn()
      world.pass(500)
    }
    const away = world.pods.filter(({ runs }) => runs.is === 'hook')
    assert.equal(away.length, 2)
    for (const pod of world.pods) world.crash(pod)
    assert.deepEqual(
      world.pods.map(({ locked }) => locked),
      world.pods.map((pod) => lock && away.includes(pod)),
    )
    assert.equal(world.settle().phase, 'Complete')
    assert.equal(world.keptDown.most, lock ? 2 : 0)
    assert.equal(world.keptDown.time > 0, lock)
    assert.ok(world.pods.every(world.works))
  }
})

test('an app with a lock that crashes beside a sidecar that never gets ready stays down until the image is taken back', () => {
  const world = new World(3, { progressDeadlineSeconds: 30 }, { image: 'envoy:unready' })
  world.lock = true
  world.run(5)
  const touched = world.pods.find(({ image }) => image === 'envoy:unready')
  assert.ok(touched)
  world.crash(touched)
  assert.deepEqual([world.settle().phase, world.keptDown.most, touched.locked], ['Stopped', 1, true])
  world.change({ strategy: { partition: '100%' } })
  assert.equal(world.settle().phase, 'Complete')
  assert.ok(world.pods.every(world.works))
})

test('whoever reads the status knows which pods are waited for, and which kubelet does not answer', () => {
  const world = new World(3)
  const message = () => world.status?.conditions.find(({ type }) => type === 'Ready')?.message
  world.run(3)
  assert.equal(message(), '0 of 3 pods are done; waiting for p0')
  for (const node of world.nodes) node.frozen = true
  world.run(320)
  assert.equal(message(), '0 of 3 pods are done; no answer from the kubelets of p0')
  for (const node of world.nodes) node.frozen = false
  world.settle()
  assert.equal(message(), '3 of 3 pods are done')
})

for (const restart of ['before', 'after'] as const) {
  test(`a pod that was done can't fail a greater share, for a leader that begins ${restart} the spec is changed, either`, () => {
    const world = new World(4, { partition: 2, onFailure: 'rollback' })
    world.settle()
    const [done] = world.pods.filter(({ image }) => image === 'envoy:v2')
    assert.ok(done)
    if (restart === 'before') world.turn(0)
    world.change({ strategy: { partition: 0 } })
    if (restart === 'after') world.turn(1)
    for (let i = 0; i < 6; i++) {
      world.end(done)
      for (let j = 0; j < 16; j++) {
        world.pass(1000)
        assert.equal(world.turn().failure, undefined)
      }
    }
    assert.equal(world.settle().phase, 'Complete')
  })
}

test('a watch that stays silent for longer than the deadline, and a sidecar that is killed once meanwhile, fail nothing', () => {
  for (let after = 0; after < 40; after++) {
    const world = new World(2, { onFailure: 'rollback', progressDeadlineSeconds: 30 })
    world.run(1)
    world.turn()
    world.pass(1000)
    world.turn()
    world.watching = 'silent'
    world.run(20 + after)
    const touched = world.pods.find(({ image }) => image === 'envoy:v2')
    assert.ok(touched)
    world.end(touched)
    for (let i = 0; i < 20; i++) assert.equal(world.run(1).failure, undefined, `${after}`)
    world.watching = 'live'
    assert.equal(world.settle().phase, 'Complete')
  }
})

test("a pod that has baked can't fail the rest of the share, for a leader that begins while it is down, either", () => {
  const world = new World(5, { onFailure: 'rollback', bakeSeconds: 5, progressDeadlineSeconds: 20 })
  for (let i = 0; i < 200 && world.status?.updatedReady !== 3; i++) world.run(1)
  const [baked] = world.pods.filter(({ image }) => image === 'envoy:v2')
  assert.ok(baked)
  world.end(baked)
  world.pass(500)
  world.turn(1)
  for (let i = 0; i < 6; i++) {
    world.end(baked)
    for (let j = 0; j < 14; j++) assert.equal(world.run(1).failure, undefined)
  }
  assert.equal(world.settle().phase, 'Complete')
})
