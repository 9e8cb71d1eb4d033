import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cluster } from '../../../rollouts/controller/cluster.ts'
import { Controller } from '../../../rollouts/controller/control.ts'
import type { WirePod } from '../../../rollouts/seen-pod.ts'
import type { RolloutStatus, SidecarRollout } from '../../../rollouts/types.ts'
import { ClusterError } from '../../../src/kubernetes/failure.ts'
import type { Followed } from '../../../src/kubernetes/follow.ts'
import { SECOND, until } from '../../until.ts'
import { iso, NOW, rollout, wirePod } from '../pods.ts'
import { list } from '../shop.ts'

/** A controller of one rollout with a pod; what it does is noted in `done`. */
function controllerOf(
  present: SidecarRollout,
  written: (into: Followed<SidecarRollout>, found: SidecarRollout, status: RolloutStatus) => SidecarRollout,
  leads = () => true,
  { wires = [wirePod('shop-0')], ...calls }: { wires?: readonly WirePod[] } & Partial<Cluster> = {},
) {
  const stop = new AbortController()
  const done: string[] = []
  const failures: unknown[] = []
  const noted = (what: string) => async () => {
    done.push(what)
    throw new Error('not expected')
  }
  let rollouts: Followed<SidecarRollout> | undefined
  const cluster: Cluster = {
    readRollout: async () => present,
    async writeStatus(found, status) {
      assert.ok(rollouts)
      done.push('status')
      return written(rollouts, found, status)
    },
    readPod: async (_, searched) => wires.find(({ metadata }) => metadata.name === searched),
    touchPod: noted('touch'),
    notePod: noted('note'),
    createPod: noted('fetch'),
    removePod: noted('remove'),
    report: async () => {},
    readWorkload: async () => undefined,
    readNodeLease: async () => undefined,
    removeRollout: noted('delete'),
    ...calls,
  }
  const never = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))
  const controller = new Controller({
    cluster,
    mirrors: {
      rollouts(into) {
        rollouts = into
        list(into, [present], 1)
        return never
      },
      pods(into) {
        list(into, wires, 1)
        return never
      },
      budgets(into) {
        list(into, [], 1)
        return never
      },
      listPods: () => never,
      listBudgets: () => never,
    },
    leads,
    now: () => NOW,
    steady: () => performance.now(),
    waiter: 'waiter',
    observer: {
      looked: () => void done.push('looked'),
      took() {},
      turned() {},
      forgot: () => void done.push('forgot'),
      failed: (_, error) => void failures.push(error),
    },
    signal: stop.signal,
  })
  const ended = controller.run()
  return {
    done,
    failures,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
    },
  }
}

/** The status as it was written, under a new version. */
const stored = (found: SidecarRollout, status: RolloutStatus): SidecarRollout => ({
  ...found,
  status,
  metadata: { ...found.metadata, resourceVersion: '5' },
})
const rest = () => new Promise((resolve) => setTimeout(resolve, 500))

test('a rollout that is deleted while its status is written changes nothing more', async () => {
  await using controller = controllerOf(rollout(), (into, found, status) => {
    // The watch tells that before the answer is there.
    into.gone({ ...found, metadata: { ...found.metadata, resourceVersion: '9' } })
    return stored(found, status)
  })
  await until('the status', 10 * SECOND, async () => controller.done.includes('status'))
  await rest()
  assert.deepEqual(controller.done, ['looked', 'status', 'forgot'])
})

test('a rollout that is being deleted, and kept by a finalizer, changes nothing more', async () => {
  const { metadata, ...present } = rollout()
  const ending = { ...present, metadata: { ...metadata, deletionTimestamp: iso(NOW) } }
  await using controller = controllerOf(ending, (_, found, status) => stored(found, status))
  await rest()
  assert.deepEqual(controller.done, [])
})

test('a status in which somebody has left nothing whole holds nothing up', async () => {
  for (const broken of [{}, { observedGeneration: 1 }, { observedGeneration: 1, since: 'once', conditions: null }]) {
    await using controller = controllerOf({ ...rollout(), status: broken as never }, (_, found, status) =>
      stored(found, status),
    )
    await until('a pod that fetches', 10 * SECOND, async () => controller.done.includes('fetch'))
    assert.deepEqual(controller.done.slice(0, 3), ['looked', 'status', 'fetch'])
  }
})

test('while the status is never written nothing is done', async () => {
  await using controller = controllerOf(rollout(), () => {
    throw new ClusterError('conflict', 'somebody else was first')
  })
  await until('three tries', 10 * SECOND, async () => controller.failures.length >= 3 || controller.done.length > 9)
  assert.ok(controller.done.every((what) => what === 'looked' || what === 'status' || what === 'forgot'))
})

for (const kind of ['forbidden', 'invalid'] as const) {
  test(`a pod whose change is denied (${kind}): the others are touched, and a status names it and why`, async () => {
    const said: RolloutStatus[] = []
    const wires = ['shop-0', 'shop-1'].map((name) => wirePod(name, { annotations: { a: 'b' } }))
    await using controller = controllerOf(
      rollout(),
      (_, found, status) => {
        said.push(status)
        return stored(found, status)
      },
      undefined,
      {
        wires,
        createPod: async () => {
          throw new ClusterError('invalid', 'no pods that fetch here')
        },
        touchPod: async ({ name }) => {
          controller.done.push(`touch ${name}`)
          const found = wires.find(({ metadata }) => metadata.name === name)
          if (name === 'shop-0' || !found) throw new ClusterError(kind, 'denied by the policy "quiet"')
          return found
        },
      },
    )
    await until('the other pod', 10 * SECOND, async () => controller.done.includes('touch shop-1'))
    const named = () => said.at(-1)?.conditions.find(({ type }) => type === 'Refused')?.message ?? ''
    await until('the name', 10 * SECOND, async () => /shop-0 .*policy "quiet"/.test(named()))
    assert.equal(controller.done.filter((what) => what === 'touch shop-0').length, 1)
  })
}

test('a Lease that is renewed late leaves no rollout standing', async () => {
  const answers = [false, true, false]
  await using controller = controllerOf(
    rollout(),
    (_, found, status) => stored(found, status),
    () => answers.shift() ?? true,
  )
  await until('a pod that fetches', 10 * SECOND, async () => controller.done.includes('fetch'))
})

for (const [what, volumes] of [
  ['whose image nobody needs', [{ name: 'image', image: { reference: 'envoy:v9' } }]],
  ['that was stored without its image volume', []],
] as const) {
  test(`a pod that fetches, ${what}, and can't be removed holds nothing up, and is tried`, async () => {
    const present = rollout()
    const labels = { 'sidecar-first.dev/fetch': present.metadata.uid }
    const { metadata, spec } = wirePod('fetches')
    const fetches = { metadata: { ...metadata, labels }, spec: { ...spec, volumes: [...volumes] }, status: {} }
    let tried = 0
    await using controller = controllerOf(present, (_, found, status) => stored(found, status), undefined, {
      wires: [wirePod('shop-0'), fetches],
      async removePod() {
        tried++
        throw new ClusterError('forbidden', 'pods may not be deleted here')
      },
    })
    await until('the image to be fetched', 10 * SECOND, async () => controller.done.includes('fetch'))
    assert.ok(tried > 0)
    assert.match(String(controller.failures[0]), /may not be deleted/)
  })
}
