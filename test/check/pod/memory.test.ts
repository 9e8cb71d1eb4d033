import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import { defaultConfiguration } from '../../../src/admission/intent/configuration.ts'
import type { Json } from '../../../src/admission/words/json.ts'
import { told } from '../../../src/check/findings.ts'
import { memoryFindings } from '../../../src/check/pod/memory.ts'
import { after, type Pod } from '../../admission/pods.ts'
import { asking } from '../cluster.ts'

/** What is said of a pod with such a sidecar, before and after it is patched. */
function said(memory: string | number | undefined, more: Record<string, string> = {}): string[] {
  const pod = structuredClone(asking('web')) as unknown as Pod
  Object.assign(pod.metadata?.annotations ?? {}, { 'sidecar-first.dev/lock': 'on', ...more })
  Object.assign(pod.spec.containers[1] ?? {}, { resources: { limits: { memory } } })
  const configuration = defaultConfiguration('1.0.0')
  const decision = decide(pod, configuration)
  const patched = after(pod, decision)
  const [before, then] = [pod, patched].map((each) =>
    memoryFindings(each as unknown as Json, decide(each, configuration)).map((each) => told(each).text),
  )
  assert.deepEqual(before, then)
  return before ?? []
}

test('the memory of the waiter that stays in a small sidecar is told, where it stays', () => {
  for (const limit of ['16Mi', '32M', '33554431', 33_554_431, '32767Ki', '0.03Gi', '3e7', '16777216000m']) {
    assert.deepEqual(said(limit), [
      `the waiter's process stays in envoy for the lock's lease, with 1 to 3 MiB of its memory limit of ${limit}`,
    ])
  }
  for (const limit of ['32Mi', '0.5Gi', '34M', 33_554_432, '1e9', undefined, 'a lot', '1KiKi'])
    assert.deepEqual(said(limit), [], `${limit}`)
  assert.deepEqual(said('16Mi', { 'sidecar-first.dev/lock': 'off' }), [])
  assert.deepEqual(said('16Mi', { 'sidecar-first.dev/waiter': 'shell' }), [])
})
