import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { validate } from '../../src/admission/validate.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { setOf } from '../../src/webhooks/set.ts'
import { runs } from '../runs.ts'
import { type Admitted, admit } from './admit.ts'
import { app, type Container, type Fields, hookOf, names, type Pod, pod, ready } from './pods.ts'

const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
function configured(rules: readonly string[], more = ''): Configuration {
  const read = readConfiguration(`${head}${more}rules:\n${rules.map((rule) => `- {${rule}}\n`).join('')}`, '0.0.0-test')
  assert.ok(read.ok, JSON.stringify(read))
  return read.configuration
}

const a = setOf({ matchLabels: { A: '1' } })
const b = setOf({ matchLabels: { B: '1' } })
const inA = (container: string, more: string) =>
  `name: ${container} in a, match: {container: ${container}, namespaceSelector: {matchLabels: {A: "1"}}}, ${more}`
const s: Container = { name: 's', image: 's' }
const probed: Container = { name: 's', image: 's', readinessProbe: ready }
const d: Container = { name: 'd', image: 'd', readinessProbe: ready }

/** It may be created, and asking once more changes nothing. */
function settled(
  { refusals, decision, pod: admitted }: Admitted,
  configuration: Configuration,
  sets: readonly string[],
) {
  assert.deepEqual(refusals, [])
  assert.ok(decision.verdict === 'unchanged' || decision.verdict === 'skipped', decision.verdict)
  assert.deepEqual(admit(admitted, configuration, sets).pod, admitted)
}

test('a rule for other namespaces has no say in a pod that names the same container', () => {
  for (const more of ['check: "tcp://:77"', 'timeout: 30s', 'gate: native']) {
    const configuration = configured([inA('s', `tier: 1, ${more}`)])
    const here = admit(pod({ sidecars: 's' }, [app, probed]), configuration, [])
    settled(here, configuration, [])
    assert.deepEqual(here.pod, admit(pod({ sidecars: 's' }, [app, probed]), configured([]), []).pod)
  }
})

test('an enforced rule and one whose sidecar has no hook share a selector', () => {
  const configuration = configured([inA('s', 'tier: 1'), inA('d', 'tier: 2, enforce: true')])
  const admitted = admit(pod({}, [app, s, d]), configuration, [a])
  settled(admitted, configuration, [a])
  assert.deepEqual(names(admitted.pod), ['d', 's', 'app'], 'what is enforced is first, whatever its tier')
})

test('"*" stands for the rules of a selector wherever it stands', () => {
  const configuration = configured([inA('s', 'tier: 1, check: none')])
  for (const [sidecars, order] of [
    ['*,d', ['s', 'd', 'app']],
    ['d,*', ['d', 's', 'app']],
  ] as const) {
    const admitted = admit(pod({ sidecars }, [app, s, d]), configuration, [a])
    settled(admitted, configuration, [a])
    assert.deepEqual(names(admitted.pod), order)
  }
})

test('an annotated sidecar has a probe, and the rule of a selector says not to wait', () => {
  const configuration = configured([inA('s', 'tier: 1, check: none')])
  const admitted = admit(pod({ sidecars: 's' }, [app, probed]), configuration, [a])
  settled(admitted, configuration, [a])
  assert.equal(hookOf(admitted.pod, 's'), undefined)
})

test('what a pod says of its sets itself counts for nothing', () => {
  const configuration = configured([inA('s', 'tier: 1')])
  const forged = admit(pod({ sets: a }, [app, probed]), configuration, [])
  assert.equal(forged.decision.verdict, 'skipped')
  assert.deepEqual(names(forged.pod), ['app', 's'])
})

test('under an enforced rule, a pod that nobody marked is refused by the webhook of its set', () => {
  const configuration = configured([inA('s', 'tier: 1, enforce: true')])
  const missed = pod({}, [app, probed])
  // Marking and planning failed under failurePolicy: Ignore, validating didn't.
  const validity = validate(missed, configuration, { job: false, sets: [a] })
  assert.equal(validity.verdict, 'refused')
})

const which = fc.constantFrom('s', 'd', 'e')
const more = fc
  .record({
    tier: fc.integer({ min: 1, max: 3 }),
    check: fc.constantFrom('', ', check: none', ', check: "tcp://:77"', ', check: \'exec:["true"]\''),
    gate: fc.constantFrom('', '', ', gate: native', ', gate: hook'),
    timeout: fc.constantFrom('', ', timeout: 30s'),
    enforce: fc.constantFrom('', '', ', enforce: true'),
    hook: fc.constantFrom('', ', existingHook: keep'),
  })
  .map(({ tier, check, gate, timeout, enforce, hook }) => `tier: ${tier}${check}${gate}${timeout}${enforce}${hook}`)
const selector = fc.constantFrom(
  '',
  ', namespaceSelector: {matchLabels: {A: "1"}}',
  ', namespaceSelector: {matchLabels: {B: "1"}}',
)
const rules = fc
  .array(fc.tuple(which, selector, more), { minLength: 1, maxLength: 4 })
  .map((all) => all.map(([name, own, rest], at) => `name: r${at}, match: {container: ${name}${own}}, ${rest}`))
const someSets = fc.constantFrom<readonly string[]>([], [a], [b], [a, b])
const containers = fc.tuple(
  fc.constantFrom(s, probed),
  fc.constantFrom(d, { ...d, lifecycle: { postStart: { exec: { command: ['own'] } } } }),
  fc.constantFrom<Container>({ name: 'e', image: 'e' }, { name: 'e', image: 'e', startupProbe: ready }),
)
const annotations = fc.record(
  {
    sidecars: fc.constantFrom('s', 'd,s', 's + d', '*', '*, d', 'd, *, e'),
    gate: fc.constantFrom('hook', 'native'),
    'check/s': fc.constantFrom('none', 'tcp://:9'),
    inject: fc.constantFrom('true', 'false'),
    sets: fc.constantFrom(a, `${a},${b}`, 'nonsense'),
  },
  { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<Fields>
const inject = fc.constantFrom<(given: Pod) => Pod>(
  (given) => given,
  (given) => ({
    ...given,
    spec: { ...given.spec, containers: [{ name: 'late', image: 'late' }, ...given.spec.containers] },
  }),
)
const anyPod = fc.tuple(annotations, containers).map(([its, list]) => pod(its, [app, ...list]))

test('rules, sets, annotations and another injector: what is made is let through and settled', () => {
  fc.assert(
    fc.property(rules, someSets, anyPod, inject, (texts, sets, given, injector) => {
      const configuration = configured(texts)
      const admitted = admit(given, configuration, sets, injector)
      if (admitted.decision.verdict === 'refused') return
      assert.deepEqual(admitted.refusals, [], JSON.stringify(admitted.pod))
      const again = admit(admitted.pod, configuration, sets)
      assert.deepEqual(again.pod, admitted.pod, 'asked again, nothing is to do')
      assert.deepEqual(again.refusals, [])
    }),
    runs(300),
  )
})

test('rules of selectors that do not select a namespace change nothing in it', () => {
  fc.assert(
    fc.property(rules, someSets, anyPod, (texts, sets, given) => {
      const all = admit(given, configured(texts), sets)
      const applicable = texts.filter(
        (text) => (!text.includes('A: "1"') || sets.includes(a)) && (!text.includes('B: "1"') || sets.includes(b)),
      )
      const alone = admit(given, configured(applicable), sets)
      assert.deepEqual(all.decision.verdict, alone.decision.verdict)
      assert.deepEqual(all.pod, alone.pod)
    }),
    runs(300),
  )
})
