import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { decide } from '../../src/admission/decide.ts'
import type { Decision } from '../../src/admission/decision.ts'
import { mark } from '../../src/admission/mark.ts'
import { meshProxies } from '../../src/admission/plan/order.ts'
import { review } from '../../src/admission/review.ts'
import { validate } from '../../src/admission/validate.ts'
import type { Json, Operation } from '../../src/admission/words/json.ts'
import { applyPatch } from '../../src/preview/patch.ts'
import { runs } from '../runs.ts'
import { anyJson, container, forgedHook, oddPod, pod } from './arbitraries.ts'
import {
  after,
  type Container,
  configuration,
  decided,
  type Fields,
  names,
  type Pod,
  patchOf,
  reasonsOf,
  warningsOf,
} from './pods.ts'

const often = runs(500)

test('deciding is deterministic; a patched pod has its containers permuted, by as few moves as possible, and our additions; a second run is unchanged', () => {
  fc.assert(
    // Making a pod takes as long as all that is asked of it, and every third is patched.
    fc.property(fc.oneof(pod, oddPod), (before) => {
      const copy = structuredClone(before)
      const decision = decided(before)
      assert.deepEqual(before, copy, 'the manifest itself is left alone')
      assert.deepEqual(decided(copy), decision)
      assertSpeakable(decision)
      assertSpeakable(decided(before, { job: true }))
      if (decision.verdict !== 'patched') return assert.equal(patchOf(decision).length, 0)
      const patched = after(before, decision)
      assertOnlyOurs(before, patched)
      assertFewestMoves(before, patched, decision.patch)
      const again = decided(patched)
      assert.equal(again.verdict, 'unchanged', explain(again))
      const former = decided(withoutLimit(patched))
      assert.equal(former.verdict, 'unchanged', `as replicas of before patched it: ${explain(former)}`)
    }),
    runs(1500),
  )
})

test('the arbitrary pods are patched often enough to prove something', () => {
  const counts: Record<string, number> = {}
  for (const sample of fc.sample(pod, { numRuns: 500, seed: 1 })) {
    const { verdict } = decided(sample)
    counts[verdict] = (counts[verdict] ?? 0) + 1
  }
  assert.ok((counts.patched ?? 0) > 125, JSON.stringify(counts))
  assert.ok((counts.refused ?? 0) > 50, JSON.stringify(counts))
})

test('no JSON value makes it throw, as a pod or as a review', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      decide(value, configuration)
      decide({ metadata: { annotations: { 'sidecar-first.dev/sidecars': 'app' } }, spec: value }, configuration)
      review(value, configuration)
      review(createReview(value), configuration)
    }),
    runs(2000),
  )
})

test('any JSON value in place of any part of a pod throws nothing, and what is patched can be', () => {
  const spoilt = fc
    .tuple(pod, anyJson, fc.array(fc.nat(), { minLength: 1, maxLength: 7 }))
    .map(([value, part, way]) => spoil(value, part, way))
  fc.assert(
    fc.property(spoilt, (value) => {
      const decision = decide(value, configuration)
      if (decision.verdict === 'patched') applyPatch(value, decision.patch)
      assertSpeakable(decision)
    }),
    often,
  )
})

test('a forged hook of ours is read back or refused, and never hangs', () => {
  fc.assert(
    fc.property(pod, forgedHook, fc.constantFrom('postStart', 'preStop'), fc.nat(), (value, hook, key, place) => {
      const containers = value.spec.containers.map((item, index) =>
        index === place % value.spec.containers.length ? { ...item, lifecycle: { [key]: hook } } : item,
      )
      const forged = { ...value, spec: { ...value.spec, containers } }
      const decision = decided(forged)
      assertSpeakable(decision)
      if (decision.verdict !== 'patched') return
      // Where none of the named sidecars is there, what was forged has only been taken away.
      assert.equal(decided(after(forged, decision)).verdict, decision.tiers.length > 0 ? 'unchanged' : 'skipped')
    }),
    often,
  )
})

test('what cannot become a text throws nothing in any part of a spec of ours', () => {
  const deep = '['.repeat(40_000) + ']'.repeat(40_000)
  for (const value of ['{"toString":0}', deep, '1', 'null', '[{"toString":0}]']) {
    for (const key of ['v', 'before', 'checks', 'message', 'lock', 'file', 'files', 'appear', 'limit']) {
      for (const [hook, kinds] of [
        ['postStart', []],
        ['preStop', ['witness']],
        ['preStop', ['others']],
      ] as const) {
        const command = ['/.sidecar-first/wait', ...kinds, '--spec', `{"v":1,"${key}":${value}}`]
        const forged: Container = { name: 'app', lifecycle: { [hook]: { exec: { command } } } }
        const annotations = { 'sidecar-first.dev/sidecars': 'envoy', 'sidecar-first.dev/end': 'last' }
        const given = { metadata: { annotations }, spec: { containers: [forged, { name: 'envoy' }] } }
        assert.ok(decide(given, configuration).verdict)
        assert.ok(validate(given, configuration).verdict)
      }
    }
  }
})

test('what cannot become a text throws nothing as an annotation either, however large the others are', () => {
  const deep: Json = JSON.parse('['.repeat(40_000) + ']'.repeat(40_000))
  for (const value of [{ toString: 0 }, [{ toString: 0 }], deep]) {
    for (const length of [0, 90_000, 200_000]) {
      const annotations = { 'sidecar-first.dev/sidecars': 'envoy', large: 'x'.repeat(length), odd: value }
      const given = { metadata: { annotations }, spec: { containers: [{ name: 'app' }, { name: 'envoy' }] } }
      assert.ok(decide(given, configuration).verdict)
      assert.ok(mark(given, 'a'))
    }
  }
})

test('100,000 levels of nesting throw nothing, wherever they are', () => {
  const depth = 100_000
  const deep: Json = JSON.parse('['.repeat(depth) + ']'.repeat(depth))
  const map: Json = JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
  const full: Container = {
    name: 'envoy',
    env: [{ name: 'A', value: 'x' }],
    ports: [{ name: 'http', containerPort: 1 }],
    readinessProbe: { httpGet: { port: 1, httpHeaders: [{ name: 'a', value: 'b' }] } },
    lifecycle: { postStart: { exec: { command: ['x'] } } },
    volumeMounts: [{ name: 'a', mountPath: '/a' }],
    resources: { limits: { cpu: 1 } },
  }
  const value = {
    metadata: { annotations: { 'sidecar-first.dev/sidecars': 'envoy' }, labels: {}, ownerReferences: [{}] },
    spec: {
      containers: [{ name: 'app' }, full],
      initContainers: [full],
      volumes: [{ name: 'v', emptyDir: {} }],
      os: {},
      nodeSelector: {},
    },
  }
  for (const nested of [deep, map]) {
    decide(nested, configuration)
    review(nested, configuration)
    for (const path of pathsOf(value)) {
      const spoilt = put(value, path, nested)
      assert.ok(decide(spoilt, configuration).verdict, path.join('.'))
      assert.ok(review(createReview(spoilt), configuration).ok)
    }
  }
})

test("after another injector's changes comes what would have come had it been there from the start", () => {
  // An injected container has no hook: a mesh proxy's hook in front would rightly change the order.
  const injected = container(fc.constant('foreign')).map((value): Container => ({ ...value, lifecycle: null }))
  fc.assert(
    fc.property(pod, injected, fc.nat(), fc.boolean(), (before, foreign, place, withVolume) => {
      const decision = decided(before)
      fc.pre(decision.verdict === 'patched')
      const sidecars = new Set(decision.tiers.flat().map(({ name }) => name))
      const hooksBefore = hooksOf(before) as Fields
      // A mesh proxy that waits comes to the front with the sidecars, so "in front of it" means another place afterwards.
      const moving = (name: string) =>
        sidecars.has(name) || (meshProxies.has(name) && hooksBefore[`postStart of ${name}`] !== null)
      const others = names(before).filter((name) => !moving(name))
      const behind = others[place % (others.length + 1)]
      const inject = (value: Pod): Pod => {
        const annotations = { ...(value.metadata.annotations as Fields), 'foreign/injected': 'true' }
        const at = behind === undefined ? value.spec.containers.length : names(value).indexOf(behind)
        const containers = value.spec.containers.toSpliced(at, 0, foreign)
        const volumes = [...listed(value.spec.volumes), ...(withVolume ? [{ name: 'foreign', configMap: {} }] : [])]
        return { ...value, metadata: { ...value.metadata, annotations }, spec: { ...value.spec, containers, volumes } }
      }
      fc.pre(decided(inject(before)).verdict !== 'refused')
      const late = after(inject(after(before, decision)))
      const fresh = after(inject(before))
      assert.deepEqual(settled(late), settled(fresh))
    }),
    often,
  )
})

test("another injector's container put first gives only moves, and puts things right", () => {
  fc.assert(
    fc.property(pod, (before) => {
      const decision = decided(before)
      fc.pre(decision.verdict === 'patched')
      const good = after(before, decision)
      const first = good.spec.containers[0]
      fc.pre(first !== undefined && decision.tiers.flat().some(({ name }) => name === first.name))
      const containers = [{ name: 'foreign', image: 'foreign' }, ...good.spec.containers]
      const again = decided({ ...good, spec: { ...good.spec, containers } })
      // Where nothing was behind, nobody had to be waited for.
      const isEnding = (before.metadata.annotations as Fields)['sidecar-first.dev/end'] === 'last'
      if (isEnding && again.verdict === 'refused') return
      assert.equal(again.verdict, 'patched', explain(again))
      // It is locked as well, if the app is.
      const isRight = ({ op, path }: Operation) => op === 'move' || path.endsWith('/env')
      assert.ok(isEnding || patchOf(again).every(isRight), JSON.stringify(patchOf(again)))
      const sidecars = decision.tiers.flat().map(({ name }) => name)
      const order = names(after({ ...good, spec: { ...good.spec, containers } }, again))
      assert.deepEqual(
        order.filter((name) => name !== 'foreign'),
        names(good),
      )
      assert.ok(order.indexOf('foreign') > Math.max(...sidecars.map((name) => order.indexOf(name))))
    }),
    often,
  )
})

test('a tier that changes gives back the hooks that were there', () => {
  fc.assert(
    fc.property(pod, fc.nat(), (whole, which) => {
      fc.pre(whole.spec.containers.length > 1)
      fc.pre(decided(whole).verdict === 'patched')
      // First without one container, as if another injector hadn't added it yet.
      const missing = whole.spec.containers[which % whole.spec.containers.length]
      const part: Pod = {
        ...whole,
        spec: { ...whole.spec, containers: whole.spec.containers.filter((item) => item !== missing) },
      }
      const decision = decided(part)
      fc.pre(decision.verdict === 'patched' && missing !== undefined)
      const once = after(part, decision)
      const again = after({ ...once, spec: { ...once.spec, containers: [missing, ...once.spec.containers] } })
      const fresh = after(whole)
      assert.deepEqual(hooksOf(again), hooksOf(fresh))
    }),
    often,
  )
})

function explain(decision: Decision): string {
  return JSON.stringify([decision.reasons, patchOf(decision)])
}

function createReview(object: Json): Json {
  const request = { uid: 'u', kind: { group: '', version: 'v1', kind: 'Pod' }, operation: 'CREATE', object }
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
}

/** Every field is compared with what it was; what is ours has to be where we put it, and nowhere else. */
function assertOnlyOurs(before: Pod, patched: Pod): void {
  const { metadata, spec, ...rest } = before
  const { metadata: metadata2, spec: spec2, ...rest2 } = patched
  assert.deepEqual(rest2, rest)

  const { annotations, ...names1 } = metadata
  const { annotations: annotations2, ...names2 } = metadata2
  assert.deepEqual(names2, names1)
  const mine = ['sidecar-first.dev/status', 'kubectl.kubernetes.io/default-container']
  const others = Object.entries(annotations2 as Fields).filter(
    ([key]) => !mine.includes(key) || Object.hasOwn(annotations as Fields, key),
  )
  assert.deepEqual(Object.fromEntries(others), annotations)

  const { containers, initContainers, volumes, ...pod1 } = spec
  const { containers: containers2, initContainers: initContainers2, volumes: volumes2, ...pod2 } = spec2
  assert.deepEqual(pod2, pod1)
  const inits = listed(initContainers2).filter(({ name }) => name !== 'sidecar-first-waiter')
  const all = [...containers2, ...inits]
  const ending = (annotations as Fields)['sidecar-first.dev/end'] === 'last'
  if (!ending)
    assert.doesNotMatch(
      JSON.stringify(spec2, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
      /"sidecar-first-ends"/,
    )
  assert.equal(all.length, containers.length + listed(initContainers).length)
  for (const container of containers) {
    const moved = inits.find(({ name }) => name === container.name)
    if (moved === undefined)
      assertSameContainer(
        container,
        containers2.find(({ name }) => name === container.name),
        ending,
      )
    else assertSameContainer(probedAs(moved, { ...container, restartPolicy: 'Always' }), moved, ending)
  }
  for (const container of listed(initContainers)) {
    const found = inits.find(({ name }) => name === container.name)
    assertSameContainer(found === undefined ? container : probedAs(found, container), found, ending)
  }
  assert.deepEqual(
    listed(volumes2).filter(({ name }) => !ourVolumes.includes(name)),
    listed(volumes),
  )
  for (const { name, emptyDir } of listed(volumes2).slice(listed(volumes).length))
    if (emptyDir) assert.match(`${(emptyDir as Fields).sizeLimit}`, /^\d+Mi$/, `policies want a limit of ${name}`)
}

/** The waiter's volume as it was without a limit. */
function withoutLimit(patched: Pod): Pod {
  const volumes = listed(patched.spec.volumes).map((volume) =>
    volume.name === 'sidecar-first-waiter' && volume.emptyDir ? { ...volume, emptyDir: {} } : volume,
  )
  return { ...patched, spec: { ...patched.spec, volumes } }
}

/** A container that goes to another list moves; in its own list, only what isn't in the longest row that keeps its order. */
function assertFewestMoves(before: Pod, patched: Pod, patch: readonly Operation[]): void {
  const list = (value: Pod, which: string) => listed(value.spec[which]).map(({ name }) => name)
  const moving = list(patched, 'initContainers').filter((name) => list(before, 'containers').includes(name))
  const needed = ['containers', 'initContainers'].map((which) => {
    const there = list(before, which)
    const order = list(patched, which).flatMap((name) => (there.includes(name) ? [there.indexOf(name)] : []))
    return order.length - longestRising(order)
  })
  const moves = patch.filter(({ op }) => op === 'move')
  assert.equal(
    moves.length,
    needed.reduce((sum, count) => sum + count, moving.length),
  )
}

const ourVolumes = ['sidecar-first-waiter', 'sidecar-first-lock', 'sidecar-first-ends']

/** A native sidecar whose startupProbe is what became of it: gone, asked every second for as long in all, or as it was. */
function probedAs({ startupProbe: found }: Container, container: Container): Container {
  const { startupProbe, ...rest } = container
  if (startupProbe === undefined || isDeepStrictEqual(found, startupProbe)) return container
  if (found === undefined) return rest as Container
  const { initialDelaySeconds, ...given } = startupProbe as Record<string, number>
  const { periodSeconds, failureThreshold } = given
  const total = (initialDelaySeconds ?? 0) + (periodSeconds || 10) * (failureThreshold || 3)
  // The total time is kept, as far as the API can say it: an int32.
  const eager = { periodSeconds: 1, failureThreshold: Math.min(total, 2 ** 31 - 1) }
  const late = initialDelaySeconds !== undefined && !(initialDelaySeconds > 0)
  return { ...container, startupProbe: { ...given, ...(late && { initialDelaySeconds }), ...eager } }
}

function assertSameContainer(before: Container, patched: Container | undefined, ending: boolean): void {
  assert.ok(patched)
  const { lifecycle, volumeMounts, env, ...rest } = before
  const { lifecycle: lifecycle2, volumeMounts: mounts2, env: env2, ...rest2 } = patched
  assert.deepEqual(rest2, rest)
  const own = listed(env2).slice(0, listed(env).length)
  assert.deepEqual(own, listed(env))
  for (const { name } of listed(env2).slice(own.length)) assert.match(name, /^SIDECAR_FIRST_READY_\d+(?:_[_A-Z0-9]+)?$/)
  assert.deepEqual(
    listed(mounts2).filter(({ name }) => !ourVolumes.includes(name)),
    listed(volumeMounts),
  )
  const { postStart, preStop, ...others } = (lifecycle ?? {}) as Fields
  const { postStart: postStart2, preStop: preStop2, ...others2 } = (lifecycle2 ?? {}) as Fields
  assert.deepEqual(others2, others)
  const isOurs = /^\{"exec":\{"command":\["\/\.sidecar-first\/wait","(?:witness|others)"/.test(
    JSON.stringify(preStop2) ?? '',
  )
  if (!(ending && isOurs)) assert.deepEqual(preStop2, preStop)
  if (postStart !== undefined && postStart2 === undefined) assert.fail(`the hook of ${before.name} is lost`)
}

function listed(value: Json | undefined): readonly Container[] {
  return (value ?? []) as readonly Container[]
}

/** Every text is printable and bounded; a warning has at most 256 characters, and all of them stay below 4,096. */
function assertSpeakable(decision: Decision): void {
  const warnings = warningsOf(decision)
  for (const text of [...warnings, ...reasonsOf(decision)]) {
    assert.ok(text.isWellFormed())
    assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    assert.ok([...text].length <= 1024)
  }
  for (const text of warnings) assert.ok([...text].length <= 256, text)
  assert.ok([...warnings.join('')].length < 4096)
}

/** Length of the longest rising subsequence, the slow and obvious way. */
function longestRising(values: readonly number[]): number {
  const best: number[] = []
  for (const [i, value] of values.entries()) {
    best[i] = 1 + Math.max(0, ...best.slice(0, i).filter((_, j) => (values[j] ?? 0) < value))
  }
  return Math.max(0, ...best)
}

/** A pod without what rightly depends on who came first: the default container, the order in lists, how a hook is spelled. */
function settled(value: Pod): Json {
  const { 'kubectl.kubernetes.io/default-container': _, ...annotations } = value.metadata.annotations as Fields
  const byName = (list: Json | undefined) => listed(list).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return {
    annotations,
    order: names(value),
    containers: byName(value.spec.containers).map(({ lifecycle, ...rest }) => rest),
    hooks: hooksOf(value),
    initContainers: listed(value.spec.initContainers),
    volumes: byName(value.spec.volumes),
  }
}

/** The hooks by container, with defaults written out and port names looked up, as our own hooks have them. */
function hooksOf(value: Pod): Json {
  const all = [...value.spec.containers, ...listed(value.spec.initContainers)]
  return Object.fromEntries(
    ['postStart', 'preStop'].flatMap((key) =>
      all.map((item) => [`${key} of ${item.name}`, hookOf(item, (item.lifecycle as Fields | null | undefined)?.[key])]),
    ),
  ) as Json
}

function hookOf(container: Container, hook: Json | undefined): Json {
  const httpGet = (hook as Fields | null | undefined)?.httpGet as Fields | undefined
  if (httpGet === undefined) return hook ?? null
  const port = listed(container.ports).find(({ name }) => name === httpGet.port)?.containerPort ?? Number(httpGet.port)
  const { path, host, httpHeaders, scheme } = httpGet
  return { port, path: path || '', host: host || '', scheme: scheme || 'HTTP', httpHeaders: listed(httpHeaders) }
}

/** Puts a value somewhere into another; the numbers choose the way. */
function spoil(value: Json, part: Json, [choice, ...way]: readonly number[]): Json {
  if (choice === undefined || typeof value !== 'object' || value === null) return part
  const keys = Object.keys(value)
  const key = keys[choice % keys.length]
  return key === undefined ? part : put(value, [key], spoil((value as Fields)[key] as Json, part, way))
}

function pathsOf(value: Json, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...path, key]))]
}

function put(value: Json, [key, ...path]: readonly string[], part: Json): Json {
  if (key === undefined) return part
  const inner = put((value as Fields)[key] as Json, path, part)
  return Array.isArray(value) ? value.with(Number(key), inner) : { ...(value as Fields), [key]: inner }
}
