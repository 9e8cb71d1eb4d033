import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { decide } from '../../src/admission/decide.ts'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import type { Json } from '../../src/admission/words/json.ts'
import { predictStart, type Start } from '../../src/preview/forecast.ts'
import type { Bar } from '../../src/preview/forecast-bars.ts'
import { applyPatch } from '../../src/preview/patch.ts'
import { preview, previewResult } from '../../src/preview/preview.ts'
import { startChart } from '../../src/preview/show/forecast-chart.ts'
import { pod as anyPod } from '../admission/arbitraries.ts'
import { runs } from '../runs.ts'

const configuration = defaultConfiguration('0.0.0')

/** Both starts of a pod, a line a bar: `name start-ready`, its hook, whom it waited for, who is missing. */
function starts(annotations: Record<string, string>, spec: object): { without: string[]; with: string[] } {
  const keyed = Object.entries(annotations).map(([key, value]) => [key.replace(/^(.*@)?/, domain), value])
  const pod = { kind: 'Pod', metadata: { annotations: Object.fromEntries(keyed) }, spec }
  const previewed = preview(JSON.stringify(pod), configuration)
  assert(previewed.ok)
  const start = previewed.previews.map((each) => previewResult(each))[0]?.start
  assert(start, JSON.stringify(previewed.previews[0]?.decision))
  return { without: start.without.map(line), with: start.with.map(line) }
}

/** How it starts with us, as bars and as the terminal draws it. */
function drawn(annotations: Record<string, string>, spec: object): { bars: readonly Bar[]; text: string } {
  const keyed = Object.entries(annotations).map(([key, value]) => [key.replace(/^(.*@)?/, domain), value])
  const previewed = preview(
    JSON.stringify({ kind: 'Pod', metadata: { annotations: Object.fromEntries(keyed) }, spec }),
    configuration,
  )
  assert(previewed.ok)
  const start = previewed.previews.map((each) => previewResult(each))[0]?.start
  assert(start)
  const look = { terminal: false, color: false, unicode: true, width: 120 }
  return { bars: start.with, text: startChart(start, true, look) }
}

/** `sidecars` is `sidecar-first.dev/sidecars`, `check@envoy` is `check.sidecar-first.dev/envoy`. */
const domain = (_: string, own: string | undefined) =>
  own === undefined ? 'sidecar-first.dev/' : `${own.slice(0, -1)}.sidecar-first.dev/`

function line({ name, role, start, ready, hook, after, notReady }: Start): string {
  return [
    `${name} (${role}) ${start}-${ready}`,
    ...(hook ? [`hook ${hook.from}-${hook.until} for [${hook.waitsFor.join()}]`] : []),
    ...(after.length > 0 ? [`after ${after.join()}`] : []),
    ...(notReady.length > 0 ? [`too early for ${notReady.join()}`] : []),
  ].join('; ')
}

const ready = (port: number) => ({ readinessProbe: { httpGet: { port } } })
const waiter = 'sidecar-first-waiter'

test('two tiers: one by one without us; with us each tier waits for the one before, the app for all', () => {
  const containers = [{ name: 'app' }, { name: 'envoy', ...ready(1) }, { name: 'otel', ...ready(2) }]
  assert.deepEqual(
    starts({ sidecars: 'vault, envoy + otel' }, { containers: [...containers, { name: 'vault', ...ready(3) }] }),
    {
      without: [
        'app (app) 0-2; too early for vault,envoy,otel',
        'envoy (sidecar) 1-5; too early for vault',
        'otel (sidecar) 2-6; too early for vault',
        'vault (sidecar) 3-7',
      ],
      with: [
        `${waiter} (init) 0-2`,
        `vault (sidecar) 3-7; hook 3-7 for [vault]; after ${waiter}`,
        `envoy (sidecar) 8-12; after ${waiter},vault`,
        `otel (sidecar) 9-13; hook 9-13 for [envoy,otel]; after ${waiter},vault`,
        `app (app) 14-16; after ${waiter},vault,envoy,otel`,
      ],
    },
  )
})

test('native: in the init sequence, the next when the hook has returned and the startupProbe has passed', () => {
  const spec = {
    initContainers: [
      { name: 'migrate' },
      { name: 'old', restartPolicy: 'Always', startupProbe: { tcpSocket: { port: 9 } } },
    ],
    containers: [{ name: 'app' }, { name: 'envoy', ...ready(2), startupProbe: { httpGet: { port: 1 } } }],
  }
  const asked = { sidecars: 'envoy', gate: 'native', 'native-position': 'first' }
  const { without, with: patched } = starts({ ...asked, 'check@envoy': 'probe:readiness' }, spec)
  assert.deepEqual(without, [
    'migrate (init) 0-2; too early for envoy',
    'old (sidecar) 3-7; after migrate; too early for envoy',
    'app (app) 9-11; after migrate,old; too early for envoy',
    'envoy (sidecar) 10-14; after migrate,old',
  ])
  assert.deepEqual(patched, [
    `${waiter} (init) 0-2`,
    `envoy (sidecar) 3-7; hook 3-7 for [envoy]; after ${waiter}`,
    `migrate (init) 9-11; after ${waiter},envoy`,
    `old (sidecar) 12-16; after ${waiter},envoy,migrate`,
    `app (app) 18-20; after ${waiter},envoy,migrate,old`,
  ])
  assert.deepEqual(
    starts(asked, spec).with,
    [
      'envoy (sidecar) 0-4',
      'migrate (init) 6-8; after envoy',
      'old (sidecar) 9-13; after envoy,migrate',
      'app (app) 15-17; after envoy,migrate,old',
    ],
    'without a hook its own startupProbe holds what is behind it',
  )
})

test('ordered and not waited for: it starts first, and the app still comes too early', () => {
  const { with: patched } = starts({ sidecars: 'envoy' }, { containers: [{ name: 'app' }, { name: 'envoy' }] })
  assert.deepEqual(patched, ['envoy (sidecar) 0-4', 'app (app) 1-3; too early for envoy'])
})

test('a sidecar that holds back what answers its own check is never drawn as ready', () => {
  const proxy = { name: 'istio-proxy', readinessProbe: { httpGet: { port: 15021 } } }
  const cache = { name: 'cache', readinessProbe: { httpGet: { port: 15020, path: '/app-health/cache/readyz' } } }
  const outlooks = (annotations: Record<string, string>, containers: object[]) => {
    const { bars, text } = drawn({ waiter: 'image-volume', ...annotations }, { containers })
    return [bars.map(({ name, outlook = 'fine', notReady }) => [name, outlook, ...notReady].join(' ')), text]
  }
  const [hook, chart] = outlooks({ sidecars: 'cache' }, [{ name: 'app' }, cache, proxy])
  assert.deepEqual(hook, ['cache stuck', 'app fine cache', 'istio-proxy fine'])
  assert.match(String(chart), /cache .*waits in vain for istio-proxy\n.*app .*too early for cache/)

  const [native, never] = outlooks({ sidecars: 'cache', gate: 'native' }, [{ name: 'app' }, cache, proxy])
  assert.deepEqual(native, ['cache stuck', 'app never', 'istio-proxy never'])
  assert.match(String(never), /app .*never starts: waits for istio-proxy/)

  const direct = { name: 'cache', ...ready(1) }
  const [perhaps] = outlooks({ sidecars: 'cache' }, [{ name: 'app' }, direct, proxy])
  assert.deepEqual(perhaps, ['cache doubtful', 'app doubtful', 'istio-proxy doubtful'])

  const [good] = outlooks({ sidecars: 'istio-proxy, cache' }, [{ name: 'app' }, cache, proxy])
  assert.deepEqual(good, ['istio-proxy fine', 'cache fine', 'app fine'])
})

test('a regular sidecar in a Job is never drawn as if all were well, a native one is', () => {
  const object = (gate: string) => `
apiVersion: batch/v1
kind: Job
spec:
  template:
    metadata: {annotations: {sidecar-first.dev/sidecars: envoy, sidecar-first.dev/gate: ${gate}}}
    spec: {restartPolicy: Never, containers: [{name: app}, {name: envoy, readinessProbe: {tcpSocket: {port: 1}}}]}
`
  const outlooks = (gate: string) => {
    const previewed = preview(object(gate), configuration)
    assert.ok(previewed.ok)
    const start = previewed.previews.map((each) => previewResult(each))[0]?.start
    assert.ok(start)
    const look = { width: 100, color: false, unicode: true, terminal: false }
    return [start.with.map(({ name, outlook = 'fine' }) => `${name} ${outlook}`), startChart(start, false, look)]
  }
  const [hook, chart] = outlooks('hook')
  assert.deepEqual(hook, ['sidecar-first-waiter fine', 'envoy endless', 'app fine'])
  assert.match(String(chart), /with sidecar-first[\s\S]*envoy .*▓ .*the Job never completes/)
  assert.ok(outlooks('native')[0]?.includes('envoy fine'))
})

test('a mesh proxy in front and an image that brings its own waiter wait for themselves; any other hook only takes its time', () => {
  const own = (...command: string[]) => ({ lifecycle: { postStart: { exec: { command } } } })
  const containers = [
    { name: 'istio-proxy', ...own('pilot-agent', 'wait') },
    { name: 'app', ...own('warm-up') },
    { name: 'envoy', ...own('/wait') },
  ]
  assert.deepEqual(starts({ sidecars: 'envoy', 'check@envoy': 'hook:["/wait"]' }, { containers }), {
    without: [
      'istio-proxy (sidecar) 0-4; hook 0-4 for [istio-proxy]',
      'app (app) 5-9; hook 5-7 for []; after istio-proxy; too early for envoy',
      'envoy (sidecar) 8-12; hook 8-12 for [envoy]; after istio-proxy',
    ],
    with: [
      'istio-proxy (sidecar) 0-4; hook 0-4 for [istio-proxy]',
      'envoy (sidecar) 5-9; hook 5-9 for [envoy]; after istio-proxy',
      'app (app) 10-14; hook 10-12 for []; after istio-proxy,envoy',
    ],
  })
})

test('our hook, and then another injector puts the app first: the hook waits, but nobody behind it needs it', () => {
  const containers: Json[] = [{ name: 'envoy', ...ready(1) }, { name: 'otel', ...ready(2) }, { name: 'app' }]
  const metadata = { annotations: { 'sidecar-first.dev/sidecars': 'envoy + otel' } }
  const decision = decide({ metadata, spec: { containers } }, configuration)
  assert(decision.verdict === 'patched')
  const patched = applyPatch({ metadata, spec: { containers } }, decision.patch)
  const [envoy = {}, otel = {}, app = {}] = patched.spec.containers
  const swapped = { ...patched, spec: { ...patched.spec, containers: [app, otel, envoy] } }
  const start = predictStart(swapped, patched, decision.tiers, false)
  assert.deepEqual(start?.without.slice(1).map(line), [
    `app (app) 3-5; after ${waiter}; too early for envoy,otel`,
    // it gives up: envoy starts only when it has
    `otel (sidecar) 4-8; hook 4-12 for [envoy,otel]; after ${waiter}`,
    `envoy (sidecar) 13-17; after ${waiter},otel`,
  ])
})

test('behind a lease the hook returns at once, and whatever comes next is created when the sidecar is ready', () => {
  const containers = [{ name: 'app' }, { name: 'envoy', ...ready(1) }, { name: 'vault', ...ready(2) }]
  const asked = { sidecars: 'vault, envoy', lock: 'on' }
  assert.deepEqual(starts(asked, { containers }).with.slice(1), [
    `vault (sidecar) 3-7; hook 3-4 for []; after ${waiter}`,
    `envoy (sidecar) 8-12; hook 8-9 for []; after ${waiter},vault`,
    `app (app) 13-15; after ${waiter},vault,envoy`,
  ])
  // Without one it holds the app itself.
  assert.match(starts({ ...asked, waiter: 'shell' }, { containers }).with[0] ?? '', /hook 0-4 for \[vault\]/)
})

test('of any pod: containers start one by one in order, behind hooks, and no app before the sidecars that are waited for', () => {
  fc.assert(
    fc.property(anyPod, (pod) => {
      const decision = decide(pod, configuration)
      if (!('tiers' in decision)) return
      const patched = decision.verdict === 'patched' ? applyPatch(pod, decision.patch) : pod
      const start = predictStart(pod, patched, decision.tiers, false)
      assert(start)
      for (const bars of [start.without, start.with]) {
        for (const [index, bar] of bars.entries()) {
          const next = bars[index + 1]
          assert(bar.ready > bar.start)
          assert(next === undefined || next.start > Math.max(bar.start, bar.hook?.until ?? 0), line(bar))
          const readyAt = (name: string) => bars.find((other) => other.name === name)?.ready ?? Number.NaN
          for (const name of bar.after) assert(readyAt(name) < bar.start, `${line(bar)} after ${name}`)
          for (const name of bar.notReady) assert(readyAt(name) > bar.start, `${line(bar)} without ${name}`)
        }
      }
      assert.deepEqual(names(start.without), named(pod))
      assert.deepEqual(names(start.with), named(patched))
      // One whose check another container answers never becomes ready before it.
      const waited = decision.tiers.flat().filter(({ check, obstacle }) => check !== 'none' && !obstacle?.certain)
      for (const bar of start.with) {
        if (bar.role !== 'app') continue
        for (const { name } of waited) assert(bar.after.includes(name), `${line(bar)}: not after ${name}`)
        assert(bar.notReady.every((name) => !waited.some((sidecar) => sidecar.name === name)))
      }
      assert.deepEqual(predictStart(patched, patched, decision.tiers, false)?.with, start.with)
    }),
    runs(500),
  )
})

test('hundreds of containers have no chart: the square of them would be written', () => {
  const containers = Array.from({ length: 200 }, (_, index) => ({ name: `a${index}` }))
  const pod = { kind: 'Pod', metadata: { annotations: { 'sidecar-first.dev/sidecars': 'a9' } }, spec: { containers } }
  const previewed = preview(JSON.stringify(pod), configuration)
  assert(previewed.ok)
  const [result] = previewed.previews.map((each) => previewResult(each))
  assert.deepEqual([result?.verdict, result?.start], ['patched', undefined])
})

test('real pods, recorded: they start in that order, and where somebody waits it takes longer than where nobody does', () => {
  const gaps = ['held', 'native', 'unpatched'].flatMap((name) => {
    const { pod, events } = JSON.parse(
      readFileSync(new URL(`../outcome/recorded/${name}.json`, import.meta.url), 'utf8'),
    )
    const status = JSON.parse(pod.metadata.annotations['sidecar-first.dev/status'] ?? '{"tiers":[]}')
    const tiers = status.tiers.map((tier: string[]) => tier.map((its) => ({ name: its, check: status.checks[its] })))
    const bars = predictStart(pod, pod, tiers, false)?.with ?? []
    const started = new Map<string, bigint>()
    for (const { reason, metadata, involvedObject } of events) {
      // the name of an event ends in its time, in nanoseconds
      if (reason === 'Started')
        started.set(
          /\{(.*)\}/.exec(involvedObject.fieldPath)?.[1] ?? '',
          BigInt(`0x${metadata.name.split('.').at(-1)}`),
        )
    }
    assert.deepEqual([...started.keys()], names(bars))
    const pairs = bars.slice(1).map((bar, index) => [bars[index] as Start, bar] as const)
    return pairs.map(([one, next]) => ({
      predicted: next.start - one.start,
      measured: (started.get(next.name) ?? 0n) - (started.get(one.name) ?? 0n),
    }))
  })
  const [creations, waits] = [
    gaps.filter(({ predicted }) => predicted === 1),
    gaps.filter(({ predicted }) => predicted > 1),
  ]
  assert.deepEqual([creations.length, waits.length], [2, 6])
  for (const creation of creations) {
    for (const wait of waits) assert(wait.measured > 2n * creation.measured, `${wait.measured} ${creation.measured}`)
  }
})

const names = (bars: readonly Start[]) => bars.map(({ name }) => name)

function named(pod: unknown): string[] {
  type Named = { name: string }[] | null | undefined
  const { initContainers, containers } = (pod as { spec: { initContainers: Named; containers: Named } }).spec
  return [...(initContainers ?? []), ...(containers ?? [])].map(({ name }) => name)
}
