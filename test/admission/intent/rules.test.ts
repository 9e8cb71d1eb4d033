import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import type { Decision } from '../../../src/admission/decision.ts'
import type { Configuration } from '../../../src/admission/intent/configuration.ts'
import { findRules } from '../../../src/admission/intent/rules.ts'
import { readConfiguration } from '../../../src/configuration/read.ts'
import { after, app, type Fields, hookOf, names, type Pod, pod, ready, warningsOf } from '../pods.ts'

/** A configuration with these rules, in the words of its file. */
function ruled(rules: string, more = ''): Configuration {
  const read = readConfiguration(
    `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${more}\nrules:\n${rules}`,
    '0.0.0-test',
  )
  assert.ok(read.ok, JSON.stringify(read))
  return read.configuration
}

const mesh = '  - {name: mesh, match: {container: proxy}, tier: 10, check: "http://:15021/ready", timeout: 30s}\n'
const secrets = '  - {name: secrets, match: {image: "*/vault:*"}, tier: 5, check: "tcp://:8200"}\n'
const both = ruled(mesh + secrets)
const proxy = { name: 'proxy', image: 'example/proxy:1' }
const vault = { name: 'agent', image: 'example/vault:1' }
/** A pod without annotations, or with some. */
const bare = (annotations: Fields = {}, containers = [app, proxy, vault], spec: Fields = {}): Pod =>
  pod(annotations, containers, spec)
const tiersOf = (decision: Decision) =>
  'tiers' in decision ? decision.tiers.map((tier) => tier.map(({ name }) => name)) : decision

test('rules give intent to a pod that says nothing, tiers by their numbers', () => {
  const decision = decide(bare(), both)
  assert.deepEqual(tiersOf(decision), [['agent'], ['proxy']])
  assert.deepEqual(names(after(bare(), decision)), ['agent', 'proxy', 'app'])
  assert.match(hookOf(after(bare(), decision), 'proxy')?.[2] ?? '', /"timeout":"30s"/)
})

test('its own output needs nothing more', () => {
  assert.equal(decide(after(bare(), decide(bare(), both)), both).verdict, 'unchanged')
})

test('equal numbers start together', () => {
  const together = ruled(mesh + secrets.replace('tier: 5', 'tier: 10'))
  assert.deepEqual(tiersOf(decide(bare(), together)), [['proxy', 'agent']])
})

test('the first rule that matches a container wins', () => {
  const second = '  - {name: later, match: {container: "pro*"}, tier: 1, check: none}\n'
  const decision = decide(bare(), ruled(mesh + second))
  assert.deepEqual('tiers' in decision && decision.tiers[0]?.[0]?.check, 'http://:15021/ready')
})

test('all that a match names must hold', () => {
  const strict = ruled(
    '  - {name: a, match: {container: proxy, image: "other/*", podSelector: {matchLabels: {a: b}}}, tier: 1}\n',
  )
  assert.equal(decide(bare(), strict).verdict, 'skipped')
})

test('a podSelector looks at the labels of the pod', () => {
  const configuration = ruled(
    '  - {name: a, match: {container: proxy, podSelector: {matchExpressions: [{key: team, operator: In, values: [x, y]}]}}, tier: 1, check: "tcp://:1"}\n',
  )
  const labelled = (team: string) => ({ ...bare(), metadata: { labels: { team } } })
  assert.equal(decide(labelled('x'), configuration).verdict, 'patched')
  assert.equal(decide(labelled('z'), configuration).verdict, 'skipped')
})

test('a pod without annotations or metadata gets them', () => {
  const { metadata: _, ...rest } = bare()
  const patched = after(rest as Pod, decide(rest, both)) as unknown as { metadata: { annotations: Fields } }
  assert.equal(patched.metadata.annotations['kubectl.kubernetes.io/default-container'], 'app')
})

test('an annotation replaces the rules, and * stands for them', () => {
  const other = { name: 'otel', readinessProbe: ready }
  const containers = [app, proxy, vault, other]
  assert.deepEqual(tiersOf(decide(bare({ sidecars: 'otel' }, containers), both)), [['otel']])
  assert.deepEqual(tiersOf(decide(bare({ sidecars: 'otel, *' }, containers), both)), [['otel'], ['agent'], ['proxy']])
  assert.deepEqual(tiersOf(decide(bare({ sidecars: '*, otel' }, containers), both)), [['agent'], ['proxy'], ['otel']])
  assert.deepEqual(tiersOf(decide(bare({ sidecars: 'proxy, *' }), both)), [['proxy'], ['agent']])
})

test('the keys of a pod win over a rule one by one', () => {
  const decision = decide(bare({ 'check/proxy': 'tcp://:9' }), both)
  const planned = 'tiers' in decision ? decision.tiers.flat().find(({ name }) => name === 'proxy') : undefined
  assert.equal(planned?.check, 'tcp://:9')
  assert.equal(planned?.timeout, 30_000, 'the timeout is still the rule’s')
})

test('a pod can opt out, unless the rule is enforced', () => {
  assert.equal(decide(bare({ inject: 'false' }), both).verdict, 'skipped')
  const enforced = ruled(mesh.replace('tier: 10', 'tier: 10, enforce: true') + secrets)
  const decision = decide(bare({ inject: 'false', 'check/proxy': 'none', timeout: '1s' }), enforced)
  assert.deepEqual(tiersOf(decision), [['proxy']], 'what is not enforced is left out')
  const [planned] = 'tiers' in decision ? decision.tiers.flat() : []
  assert.equal(planned?.check, 'http://:15021/ready')
  assert.equal(planned?.timeout, 30_000)
  assert.ok(warningsOf(decision).some((text) => text.includes('the rule mesh is enforced')))
})

test('nothing that a pod lists starts before the sidecar of an enforced rule', () => {
  const enforced = ruled(mesh.replace('tier: 10', 'tier: 10, enforce: true'))
  const listed = bare({ sidecars: 'app, proxy, *', 'check/app': 'none' })
  assert.deepEqual(tiersOf(decide(listed, enforced)), [['proxy'], ['app']])
})

test('a pod under an enforced rule does not choose how the waiter comes', () => {
  const enforced = ruled(mesh.replace('tier: 10', 'tier: 10, enforce: true'))
  const hook = hookOf(after(bare({ waiter: 'shell' }), decide(bare({ waiter: 'shell' }), enforced)), 'proxy')
  assert.equal(hook?.[0], '/.sidecar-first/wait')
})

test('a pod has one gate: its own, or else native if any rule says so', () => {
  const native = ruled(mesh.replace('tier: 10', 'tier: 10, gate: native') + secrets)
  const containersOf = (annotations: Fields) => names(after(bare(annotations), decide(bare(annotations), native)))
  assert.deepEqual(containersOf({}), ['app'], 'both moved to the init containers')
  assert.deepEqual(containersOf({ gate: 'hook' }), ['agent', 'proxy', 'app'])
})

test('a rule says where among the init containers a native sidecar goes', () => {
  const initContainers = [{ name: 'migrate' }]
  for (const [position, first] of [
    ['first', 'proxy'],
    ['last', 'migrate'],
  ] as const) {
    const configuration = ruled(mesh.replace('tier: 10', `tier: 10, gate: native, nativePosition: ${position}`))
    const object = bare({}, [app, proxy], { initContainers })
    const { spec } = after(object, decide(object, configuration))
    const order = (spec.initContainers as readonly { name: string }[]).map(({ name }) => name)
    assert.equal(order.filter((name) => name !== 'sidecar-first-waiter')[0], first)
  }
})

test('auto is native where the cluster can', () => {
  for (const [version, gate] of [
    ['1.28', 'hook'],
    ['1.29', 'native'],
    ['1.36', 'native'],
  ] as const) {
    const configuration = ruled(mesh, `kubernetesVersion: "${version}"\ndefaults: {gate: auto}`)
    const patched = after(bare(), decide(bare(), configuration))
    assert.equal(names(patched).includes('proxy'), gate === 'hook', version)
  }
})

test('a rule alone never refuses a pod; an annotation or an enforced rule does', () => {
  const unchainable = bare({}, [app, { ...proxy, lifecycle: { postStart: { tcpSocket: { port: 1 } } } }])
  const decision = decide(unchainable, ruled(mesh))
  assert.equal(decision.verdict, 'skipped')
  assert.ok(warningsOf(decision).some((text) => text.startsWith('left untouched')))
  const enforced = ruled(mesh.replace('tier: 10', 'tier: 10, enforce: true'))
  assert.equal(decide(unchainable, enforced).verdict, 'refused')
  const annotated = { ...unchainable, metadata: pod({ sidecars: '*' }, []).metadata }
  assert.equal(decide(annotated, ruled(mesh)).verdict, 'refused')
})

test('a pod that opts out is told so, also where nothing else is asked for', () => {
  for (const by of [both, ruled('')]) {
    assert.deepEqual(
      decide(bare({ inject: 'false' }), by).reasons.map(({ kind }) => kind),
      ['opted-out'],
    )
  }
})

test('a pod of sidecars alone has no app to hold back', () => {
  assert.equal(decide(bare({}, [proxy]), both).verdict, 'skipped')
})

test('ordinary init containers are never matched', () => {
  const object = bare({}, [app], { initContainers: [proxy] })
  assert.equal(decide(object, both).verdict, 'skipped')
})

test('a well-known sidecar whose own hook waits is left as it is, and stays in front', () => {
  const istio = ruled('  - {name: istio, match: {preset: istio}}\n')
  const hook = { postStart: { exec: { command: ['pilot-agent', 'wait'] } } }
  const waiting = { name: 'istio-proxy', image: 'istio/proxyv2:1', lifecycle: hook }
  const object = bare({}, [app, waiting])
  const patched = after(object, decide(object, istio))
  assert.deepEqual(names(patched), ['istio-proxy', 'app'])
  assert.deepEqual(hookOf(patched, 'istio-proxy'), ['pilot-agent', 'wait'])
  assert.equal(patched.spec.initContainers, undefined, 'nothing is delivered')
})

test('among many rules a container is found as by looking at each', () => {
  const lines = Array.from({ length: 300 }, (_, n) =>
    n % 3 === 0
      ? `  - {name: r${n}, match: {container: c${n}}, tier: 1}\n`
      : n % 3 === 1
        ? `  - {name: r${n}, match: {image: "*/image${n}:*"}, tier: 1}\n`
        : `  - {name: r${n}, match: {container: "*g${n}*"}, tier: 1}\n`,
  )
  const { rules } = ruled(lines.join(''))
  const like = (name: string, image: string) => ({ name, image }) as Parameters<ReturnType<typeof findRules>>[0]
  const named = (name: string, image: string) => findRules(rules, new Map(), [], () => false)(like(name, image))?.name
  assert.equal(named('c99', 'example/other:1'), 'r99')
  assert.equal(named('x', 'example/image100:1'), 'r100')
  assert.equal(named('ag101b', 'x'), 'r101')
  assert.equal(named('ag5b', 'example/image4:1'), 'r4', 'the earlier of two')
  assert.equal(named('x', 'example/image1000:1'), undefined)
})
