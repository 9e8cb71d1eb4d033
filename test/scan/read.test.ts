import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClusterError } from '../../src/kubernetes/failure.ts'
import type { RawCalls } from '../../src/kubernetes/raw.ts'
import { scanCluster } from '../../src/scan/read.ts'
import { assertCoded } from '../cli/coded.ts'
import { heldBytes } from '../heap.ts'
import { large } from '../runs.ts'
import { at, now, pod, runs } from './pods.ts'

const early = () => pod('web-1', [runs('app', 1), runs('istio-proxy', 1)])
const warning = (more: object) => ({
  metadata: { name: 'web-1.18c5', namespace: 'shop' },
  involvedObject: { uid: 'uid-web-1', fieldPath: 'spec.containers{istio-proxy}' },
  reason: 'Unhealthy',
  type: 'Warning',
  message: 'Readiness probe failed: HTTP probe failed with statuscode: 503',
  firstTimestamp: at(5),
  source: { component: 'kubelet', host: 'node-1' },
  ...more,
})

/** A scan of one pod. @param listed is called when all warnings have been read */
function scan(warnings: Iterable<object>, listed = () => {}) {
  const calls = {
    async *items(path: string) {
      if (path.endsWith('/events')) {
        // As they come over the wire: each with texts of its own.
        for (const each of warnings) yield JSON.parse(JSON.stringify(each))
      } else {
        listed()
        yield JSON.parse(JSON.stringify(early()))
      }
    },
  } as unknown as RawCalls
  const selection = { namespace: undefined, labelSelector: undefined, presets: [] }
  return scanCluster(selection, { calls, version: '1.0.0', now: () => now, progress: () => {} })
}

test('of warnings only what is judged is kept, however long their texts are', large, async () => {
  const long = (text: string, index: number) => `${text}${index}`.padEnd(200_000, 'x')
  const warnings = function* () {
    for (let index = 0; index < 100; index++) {
      yield warning({ message: long('Readiness probe failed: ', index) })
      yield warning({ source: { component: 'kubelet', host: long('node', index) } })
      yield warning({ involvedObject: { uid: 'uid-web-1', fieldPath: long('spec.containers{', index) } })
      yield warning({ involvedObject: { uid: long('', index) } })
    }
  }
  const before = heldBytes()
  let kept = Number.NaN
  const { workloads } = await scan(warnings(), () => {
    kept = heldBytes() - before
  })
  assert.ok(kept < 2_000_000, `${kept} bytes are kept`)
  assert.deepEqual(
    workloads[0]?.seen.map(({ kind }) => kind),
    ['probe-failed'],
  )
})

test('warnings in which anything may be missing, or any time be said, are no evidence and no failure', async () => {
  const nothing = {
    metadata: { namespace: 'shop' },
    involvedObject: {},
    reason: undefined,
    message: undefined,
    source: undefined,
  }
  const odd = [
    { ...nothing, involvedObject: { uid: 'uid-web-1' } },
    { message: undefined },
    { firstTimestamp: null, eventTime: null },
    { firstTimestamp: '0001-01-01T00:00:00Z' },
    { firstTimestamp: null, eventTime: '9999-12-31T23:59:59.999999Z' },
    { count: -1, lastTimestamp: '9999-12-31T23:59:59Z' },
    { metadata: { name: 'web-1.ffffffffffffffff', namespace: 'shop' }, firstTimestamp: null },
    { source: { component: 'kubelet' } },
  ]
  for (const each of odd) {
    const { workloads } = await scan([warning(each)])
    const [only] = workloads
    assert.deepEqual(
      only?.seen.filter(({ kind }) => kind === 'probe-failed' || kind === 'started-later'),
      each.count ? [{ kind: 'probe-failed', sidecar: 'istio-proxy', ms: 4000, some: 1, all: 1 }] : [],
      JSON.stringify(each),
    )
  }
})

test('somebody who may list the pods of some namespaces only is told so in a line that belongs to the error', async () => {
  const calls = {
    // biome-ignore lint/correctness/useYield: it fails before it yields anything
    async *items() {
      throw new ClusterError('forbidden', 'the API server answered 403')
    },
  } as unknown as RawCalls
  const selection = { namespace: undefined, labelSelector: undefined, presets: [] }
  const surroundings = { calls, version: '1.0.0', now: () => now, progress: () => {} }
  await assert.rejects(scanCluster(selection, surroundings), (error: Error) => {
    assertCoded(`SF010 ${error.message}`)
    assert.match(error.message, /403\n {2}If you may list the pods of some namespaces only, name one with -n$/)
    return true
  })
})
