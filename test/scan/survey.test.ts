import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Pod } from '@kubernetes/client-node'
import { withoutIgnored } from '../../src/scan/ignore.ts'
import { createSurveyor, type Survey } from '../../src/scan/survey.ts'
import { certaintyOf, told } from '../../src/scan/words.ts'
import { workloadOf } from '../../src/seen/workload.ts'
import { heldBytes } from '../heap.ts'
import { large } from '../runs.ts'
import { app, at, failed, now, pod, proxy, runs, survey, warning } from './pods.ts'

/** What a scan says of its only workload. */
function said({ workloads: [only] }: Survey): string[] {
  if (!only) return []
  return [
    ...only.sidecars.map(({ today }) => `today: ${told(today).text}`),
    ...only.seen.map((each) => `${certaintyOf(each)}: ${told(each).text}`),
    ...(only.mend.kind === 'lines' ? only.mend.lines.map(({ key, value }) => `would: ${key}: ${value}`) : []),
  ]
}
const seen = (found: Survey) => said(found).filter((line) => !/^(today|would):/.test(line))
const order = [runs('app', 1), runs('istio-proxy', 1)]

describe('what a scan says of a workload', () => {
  test('the app in front of its proxy, and the line that would mend it', () => {
    assert.deepEqual(said(survey([pod('web-1', order)])), [
      'today: app, then istio-proxy; nothing waits',
      'would: sidecar-first.dev/sidecars: istio-proxy',
    ])
  })

  test('sure: the app started more than a second before its sidecar', () => {
    const pods = [pod('web-1', [runs('app', 1), runs('istio-proxy', 4)]), pod('web-2', order)]
    assert.deepEqual(seen(survey(pods)), ['sure: 1 of 2 apps started before istio-proxy did, by up to about 3 s'])
    // Times of a status are cut to the second: these two may be a millisecond apart.
    assert.deepEqual(seen(survey([pod('web-1', [runs('app', 1), runs('istio-proxy', 2)])])), [])
  })

  test('sure: a probe of the sidecar failed while the app ran and the pod was not ready', () => {
    const text =
      "sure: the app ran while istio-proxy wasn't ready: its probe failed up to about 4 s after the app's start"
    assert.deepEqual(seen(survey([[pod('web-1', order), warning('istio-proxy', 5)]])), [text])
    // Before the app's start, perhaps; the app's own probe; a liveness probe; much later.
    for (const harmless of [
      warning('istio-proxy', 2),
      warning('app', 5),
      warning('istio-proxy', 5, { message: 'Liveness probe failed' }),
      warning('istio-proxy', 1000),
    ])
      assert.deepEqual(seen(survey([[pod('web-1', order), harmless]])), [])
  })

  test('a probe that failed after the pod had been ready has nothing to do with its start', () => {
    const ready = pod('web-1', order)
    ready.status = {
      ...ready.status,
      conditions: [{ type: 'ContainersReady', status: 'True', lastTransitionTime: at(3) }],
    }
    assert.deepEqual(seen(survey([[ready, warning('istio-proxy', 60)]])), [])
  })

  test('a probe that failed when the app had done its work has nothing to do with its start', () => {
    const terminated = { exitCode: 0, reason: 'Completed', startedAt: at(2), finishedAt: at(5) }
    const done = pod('web-1', [{ ...runs('app', 2), ready: false, state: { terminated } }, runs('istio-proxy', 1)])
    assert.deepEqual(seen(survey([[done, warning('istio-proxy', 8)]])), [])
    assert.equal(seen(survey([[done, warning('istio-proxy', 4)]])).length, 1)
  })

  test('probable: an app that ended with an error within a minute of its start, once, and then ran', () => {
    const early = pod('web-1', [failed('app', [1, 7]), runs('istio-proxy', 1)])
    assert.deepEqual(seen(survey([early, pod('web-2', order)])), [
      "probable: 1 of 2 apps ended with code 1 within 6 s, then ran (probably: istio-proxy wasn't ready)",
    ])
    for (const other of [{ reason: 'OOMKilled' }, { exitCode: 0, reason: 'Completed' }, { finishedAt: at(90) }])
      assert.deepEqual(seen(survey([pod('web-1', [failed('app', [1, 7], other), runs('istio-proxy', 1)])])), [])
  })

  test('an app that fails again has another cause, and one that is not started again may have this one', () => {
    const waiting = { reason: 'CrashLoopBackOff' }
    const again = { ...failed('app', [1, 7]), state: { waiting } }
    assert.deepEqual(seen(survey([pod('web-1', [again, runs('istio-proxy', 1)])])), [])
    const { terminated } = failed('app', [1, 7]).lastState ?? {}
    const once = { ...runs('app', 1), state: terminated ? { terminated } : {} }
    assert.deepEqual(seen(survey([pod('web-1', [once, runs('istio-proxy', 1)], { restartPolicy: 'Never' })])), [
      "probable: the app ended with code 1 within 6 s (probably: istio-proxy wasn't ready)",
    ])
  })

  test('sure: an app that keeps ending while its sidecar is not ready, guarded or not', () => {
    const waiting = { reason: 'CrashLoopBackOff' }
    const down = { ...failed('app', [60, 62]), restartCount: 5, state: { waiting } }
    const unready = { ...runs('istio-proxy', 1), ready: false }
    const hook = { postStart: { exec: { command: ['pilot-agent', 'wait'] } } }
    for (const containers of [
      [app, proxy],
      [{ ...proxy, lifecycle: hook }, app],
    ]) {
      const pods = ['a', 'b', 'c'].map((name) => pod(name, [down, unready], { containers }))
      assert.equal(seen(survey(pods))[0], "sure: 3 of 3 apps keep ending while istio-proxy isn't ready: exit code 1")
      const ready = pods.map(({ metadata }) =>
        pod(metadata?.name ?? '', [down, runs('istio-proxy', 1)], { containers }),
      )
      assert.doesNotMatch(seen(survey(ready)).join(), /keep ending/)
    }
  })

  test('an app whose sidecar is waited for failed for a reason of its own', () => {
    const hook = { postStart: { exec: { command: ['pilot-agent', 'wait'] } } }
    const waits = { containers: [{ ...proxy, lifecycle: hook }, app] }
    const found = survey([pod('web-1', [failed('app', [1, 7]), runs('istio-proxy', 1)], waits)])
    assert.deepEqual(said(found), ['today: istio-proxy, then app; the hook that its injector wrote waits'])
  })

  test("what can't be known: after two restarts, after the events' hour, by another clock", () => {
    const often = pod('web-1', [{ ...failed('app', [1, 7]), restartCount: 2 }, runs('istio-proxy', 1)])
    assert.deepEqual(seen(survey([often])), [
      'unknown: app of its pod restarted twice or more: the status has lost the first start',
    ])
    const later = { at: now + 3_600_000 }
    assert.deepEqual(seen(survey([pod('web-1', order)], later)), [
      'unknown: its pod started over an hour ago: the events of that start are gone',
    ])
    // The status still tells of what an hour ago was sure.
    assert.match(seen(survey([pod('web-1', [runs('app', 1), runs('istio-proxy', 4)])], later)).join(), /^sure/)
    const elsewhere = warning('istio-proxy', 5, { host: 'node-2' })
    assert.deepEqual(seen(survey([[pod('web-1', order), elsewhere]])), [
      "unknown: its pod has warnings by another clock than the node's, which aren't compared",
    ])
  })

  test('a native sidecar whose startupProbe holds the app, and how late that makes it', () => {
    const native = {
      ...proxy,
      restartPolicy: 'Always',
      startupProbe: { tcpSocket: { port: 15_021 }, periodSeconds: 10 },
    }
    const found = survey([pod('web-1', [], { containers: [app], initContainers: [native] })])
    assert.deepEqual(said(found).slice(0, 1), [
      'today: istio-proxy (native), then app; its startupProbe holds the app. It is asked every 10 s, so the app starts up to 10 s late',
    ])
    assert.equal(found.workloads[0]?.standing, 'late')
    for (const [probe, says] of [
      [{ periodSeconds: 10, initialDelaySeconds: 30 }, /asked every 10 s, first after 30 s, .* up to 30 s late$/],
      [{ periodSeconds: 10, initialDelaySeconds: 5 }, /asked every 10 s, first after 5 s, .* up to 10 s late$/],
      [{ periodSeconds: 1, initialDelaySeconds: 30 }, /asked every 1 s, first after 30 s, .* up to 30 s late$/],
    ] as const) {
      const delayed = { ...native, startupProbe: { tcpSocket: { port: 15_021 }, ...probe } }
      const found = survey([pod('web-1', [], { containers: [app], initContainers: [delayed] })])
      assert.match(said(found)[0] ?? '', says)
      assert.equal(found.workloads[0]?.standing, 'late')
    }
  })

  test('an app that runs without its sidecar, and one that it holds up', () => {
    const crashed: V1Status = {
      ...runs('istio-proxy', 1),
      ready: false,
      restartCount: 4,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 3, startedAt: at(1), finishedAt: at(2) } },
    }
    const found = survey([pod('web-1', [runs('app', 1), crashed])])
    const first = seen(found)[0] ?? ''
    assert.match(first, /^sure: its pod is without a sidecar: istio-proxy keeps ending: exit code 3/)
    // Elsewhere its code may be left out.
    assert.equal(seen(withoutIgnored(found, new Set(['SF622', 'SF623', 'SF625'])))[0], first)
  })
})
type V1Status = ReturnType<typeof runs>

/** What a surveyor keeps of pods, in bytes. */
function keeping(pods: Iterable<V1Pod>) {
  const surveyor = createSurveyor({ presets: [], version: '1.0.0', now: () => now })
  const before = heldBytes()
  for (const pod of pods) surveyor.add(pod, [])
  return { surveyor, kept: heldBytes() - before }
}

describe('the pods of a scan', () => {
  test('of which none has a container that --sidecar names: it says so', () => {
    const surveyor = createSurveyor({ presets: [], own: new Set(['nope', 'app']), version: '1.0.0', now: () => now })
    surveyor.add(pod('web-1', [runs('app', 1)]), [])
    assert.deepEqual(surveyor.result().limits, [{ kind: 'sidecar-nowhere', name: 'nope' }])
  })

  test('are grouped by what one would edit, without a call for each', () => {
    const owned = (kind: string, name: string, labels = {}) =>
      workloadOf(
        pod('x', [], {
          metadata: { labels, ownerReferences: [{ apiVersion: 'v1', kind, name, uid: 'u', controller: true }] },
        }),
      )
    const minute = Date.parse(String(at(0))) / 60_000
    assert.deepEqual(owned('Job', `nightly-${minute}`), { kind: 'CronJob', namespace: 'shop', name: 'nightly' })
    assert.equal(owned('Job', 'migrate-20250101').name, 'migrate-20250101')
    assert.equal(owned('Job', 'migrate').kind, 'Job')
    const canary = owned('ReplicaSet', 'web-6f7', { 'rollouts-pod-template-hash': '6f7' })
    assert.deepEqual(canary, { kind: 'Rollout', namespace: 'shop', name: 'web' })
    assert.deepEqual(owned('ReplicaSet', 'web-6f7', { 'pod-template-hash': '6f7' }).kind, 'Deployment')
  })

  test('without a known sidecar, or with nothing else, are only counted', () => {
    const gateway = pod('gateway', [], { containers: [proxy], metadata: { labels: {}, ownerReferences: [] } })
    const plain = pod('plain', [], { containers: [app], metadata: { labels: {}, ownerReferences: [] } })
    const found = survey([gateway, plain, pod('web-1', order)])
    assert.deepEqual(found.all, { workloads: 3, pods: 3, known: 1 })
    assert.equal(found.workloads.length, 1)
    assert.equal(survey([pod('web-1', order)], { presets: ['linkerd'] }).workloads.length, 0)
  })

  test('with more containers than anybody looks at are told as such', () => {
    const crowd = Array.from({ length: 512 }, (_, index) => ({ ...proxy, name: `proxy-${index}` }))
    const { workloads, limits } = survey([pod('web-1', [], { containers: [app, ...crowd] })])
    assert.deepEqual(
      [workloads, limits.map((each) => told(each).text)],
      [[], ["1 pod has more than 512 containers and wasn't looked at"]],
    )
  })

  test('come by evidence: sure, probable, unguarded, guarded', () => {
    const named = (name: string, statuses: Parameters<typeof pod>[1], more = {}) =>
      pod(name, statuses, { metadata: { labels: {}, ownerReferences: [] }, ...more })
    const hook = { postStart: { exec: { command: ['pilot-agent', 'wait'] } } }
    const found = survey([
      named('guarded', order, { containers: [{ ...proxy, lifecycle: hook }, app] }),
      named('unguarded', order),
      named('probable', [failed('app', [1, 7]), runs('istio-proxy', 1)]),
      named('sure', [runs('app', 1), runs('istio-proxy', 9)]),
    ])
    assert.deepEqual(
      found.workloads.map(({ owner }) => owner.name),
      ['sure', 'probable', 'unguarded', 'guarded'],
    )
  })

  test('cost no more memory than is said of them, however long their names and images are', large, () => {
    const long = (index: number) => String(index).padEnd(200_000, 'x')
    const owned = (name: string) => ({
      ownerReferences: [{ apiVersion: 'v1', kind: 'Crowd', name, uid: 'u', controller: true }],
    })
    const pods = function* () {
      for (let index = 0; index < 100; index++) {
        const containers = [{ name: 'app', image: long(index) }, proxy]
        const one = pod(`web-${index}`, order, { containers, metadata: { labels: {}, ...owned(long(index)) } })
        // As it comes over the wire: each with texts of its own.
        yield JSON.parse(JSON.stringify(one))
      }
    }
    const { surveyor, kept } = keeping(pods())
    assert.ok(kept < 2_000_000, `${kept} bytes are kept`)
    const { all, workloads } = surveyor.result()
    assert.deepEqual([all.workloads, workloads[0]?.owner.kind], [100, 'Pod'])
  })

  test('of a node whose clock is behind are told as such', () => {
    const behind = pod('web-1', order)
    behind.status = { ...behind.status, startTime: at(-40) }
    const [limit] = survey([behind]).limits
    assert.match(limit ? told(limit).text : '', /^the clock of node-1 is at least 39 s behind the API server's/)
  })
})
