import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cluster } from '../../../rollouts/controller/cluster.ts'
import { next } from '../../../rollouts/controller/decide-rollout.ts'
import type { RawCalls } from '../../../src/kubernetes/raw.ts'
import { NOW, pod, rollout } from '../pods.ts'

/** What the patch of a pod tests, and what it changes. */
async function patchOf(...args: Parameters<typeof pod>) {
  const pods = [pod(...args), pod('z', { image: 'envoy:v2', touch: {} })]
  const shown = {
    pods,
    neighbours: pods,
    budgets: [],
    behind: [],
    bornAs: undefined,
    now: NOW,
    rollout: rollout(),
    claimedBy: undefined,
  }
  const { steps } = next({
    ...shown,
    fetchOf: () => ({ is: 'there' }),
    lifeOf: () => undefined,
    isKnown: () => true,
    denialOf: () => undefined,
  })
  const [step] = steps
  assert.ok(step?.do === 'touch')
  let body: readonly { op: string; path: string }[] = []
  const calls = {
    async patch(_: string, patch: typeof body) {
      body = patch
      return {}
    },
  } as unknown as RawCalls
  await cluster(calls).touchPod(step.pod, step.container, step.note)
  const paths = (tests: boolean) => body.flatMap(({ op, path }) => ((op === 'test') === tests ? [path] : []))
  return { tests: paths(true), changes: paths(false) }
}

test('a touch tests that the pod is the one that was seen, and changes its image and its note alone', async () => {
  assert.deepEqual(await patchOf('a', { annotations: { own: 'x' } }), {
    tests: ['/metadata/uid', '/metadata/generation', '/spec/containers/0/name', '/spec/containers/0/image'],
    changes: ['/spec/containers/0/image', '/metadata/annotations/rollout.sidecar-first.dev~1envoy'],
  })
})

test('a pod that has never run may have started since it was seen: then it is looked at again', async () => {
  const { tests } = await patchOf('a', { ready: false, status: null })
  assert.ok(tests.includes('/metadata/resourceVersion'))
})
