import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cluster } from '../../../rollouts/controller/cluster.ts'
import { control } from '../../../rollouts/controller/control.ts'
import type { Mirrored } from '../../../rollouts/controller/mirror.ts'
import type { SidecarRollout } from '../../../rollouts/types.ts'
import { SECOND, until } from '../../until.ts'
import { NOW, rollout, wirePod } from '../pods.ts'

const there = { name: 'envoy', namespace: 'shop' }

/** A controller with one rollout, which is deleted while its status is written: the watch tells that before the answer is there. */
function deletedMeanwhile() {
  const stop = new AbortController()
  const done: string[] = []
  const noted = (what: string) => async () => {
    done.push(what)
    throw new Error('not expected')
  }
  let rollouts: Mirrored<SidecarRollout> | undefined
  const cluster: Cluster = {
    readRollout: async () => undefined,
    async writeStatus(found, status) {
      rollouts?.gone('envoy', 'shop', 9)
      done.push('status')
      return { ...found, status, metadata: { ...found.metadata, resourceVersion: '5' } }
    },
    readPod: async () => undefined,
    touchPod: noted('touch'),
    notePod: noted('note'),
    createPod: noted('fetch'),
    removePod: noted('remove'),
    report: async () => {},
    readWorkload: async () => undefined,
    readNodeLease: async () => undefined,
    removeRollout: noted('delete'),
  }
  const never = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))
  const ended = control({
    cluster,
    mirrors: {
      rollouts(into) {
        rollouts = into
        into.put(rollout())
        into.listed([there], 1)
        return never
      },
      pods(into) {
        into.put(wirePod('shop-0'))
        into.listed([{ name: 'shop-0', namespace: 'shop' }], 1)
        return never
      },
      budgets(into) {
        into.listed([], 1)
        return never
      },
      listPods: () => never,
      listBudgets: () => never,
    },
    leads: () => true,
    now: () => NOW,
    steady: () => performance.now(),
    waiter: 'waiter',
    observer: {
      looked: () => void done.push('looked'),
      took() {},
      turned() {},
      forgot: () => void done.push('forgot'),
      failed() {},
    },
    signal: stop.signal,
  })
  return {
    done,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
    },
  }
}

test('a rollout that is deleted while its status is written changes nothing more', async () => {
  await using controller = deletedMeanwhile()
  await until('the status', 10 * SECOND, async () => controller.done.includes('status'))
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.deepEqual(controller.done, ['looked', 'forgot', 'status'])
})
