import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { fateText, foresee, type Verdict } from '../../src/admission/verdict.ts'
import { coded, isCost } from '../../src/admission/words/messages.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { setOf } from '../../src/webhooks/set.ts'
import { runs } from '../runs.ts'
import { type Admitted, admit } from './admit.ts'
import { pod as anyPod } from './arbitraries.ts'
import { app, configuration, type Fields, type Pod, pod, ready, warningsOf } from './pods.ts'
import { configurations, pods } from './verdict-samples.ts'

const envoy = { name: 'envoy', readinessProbe: ready }
const forecast = (annotations: Fields, more: Partial<Configuration> = {}, containers = [app, envoy]): Verdict =>
  foresee(pod(annotations, containers), { configuration: { ...configuration, ...more } })
const told = (verdict: Verdict): string => ('decision' in verdict ? verdict.decision.reasons.map(coded).join('; ') : '')

describe('what will become of a pod', () => {
  test('it starts in order, is left alone, or is refused', () => {
    assert.equal(forecast({ sidecars: 'envoy' }).kind, 'starts')
    assert.equal(forecast({}).kind, 'left')
    assert.equal(forecast({ sidecars: 'envoy', gate: 'nativ' }).kind, 'refused')
  })

  test('a near miss of a container that is there is refused, with the name that is meant', () => {
    for (const sidecars of ['envoyy', 'evnoy', 'envo']) {
      const verdict = forecast({ sidecars })
      assert.equal(verdict.kind, 'refused', sidecars)
      assert.match(told(verdict), /^SF173 .*did you mean envoy\?$/)
    }
    assert.equal(forecast({ sidecars: 'envoy', 'check/envoyy': 'none' }).kind, 'refused', 'in a key of its own as well')
  })

  test('any other name is refused unless an injector adds it', () => {
    for (const [sidecars, names] of [
      ['vaultt', ['vaultt']],
      ['envoy, vaultt', ['vaultt']],
      // It is named already, so this is another.
      ['envoy, envoy2', ['envoy2']],
    ] as const) {
      const verdict = forecast({ sidecars })
      assert.ok(verdict.kind === 'unless-injected', sidecars)
      assert.deepEqual(
        verdict.absent.map(({ name }) => name),
        names,
      )
      assert.match(warningsOf(verdict.decision).join(), /refused unless an injector adds it/)
    }
  })

  test('a name that an injector is known or expected to add is waited for in silence', () => {
    for (const [sidecars, injected] of [
      ['istio-proxy', []],
      ['envoy, linkerd-proxy', []],
      ['envoyy', ['envoyy']],
      ['mesh', ['mesh']],
    ] as const) {
      const verdict = forecast({ sidecars }, { injected: new Set(injected) })
      assert.ok(verdict.kind === 'unless-injected', sidecars)
      assert.ok(verdict.absent.every(({ expected }) => expected))
      assert.doesNotMatch(warningsOf(verdict.decision).join(), /names|refused/)
    }
  })

  test('where nothing is refused, the missing container only goes without effect', () => {
    const verdict = forecast({ sidecars: 'envoy, vaultt' }, { invalid: 'warn' })
    assert.equal(verdict.kind, 'starts')
    assert.ok('decision' in verdict)
    assert.match(warningsOf(verdict.decision).join(), /nothing waits for it/)
    assert.equal(forecast({ sidecars: 'envoyy' }, { mode: 'observe' }).kind, 'left')
  })
})

describe('what will become of a pod in a namespace', () => {
  const read = readConfiguration(
    `apiVersion: sidecar-first.dev/v1
kind: Configuration
rules: [{name: team, tier: 1, match: {container: envoy, namespaceSelector: {matchLabels: {team: shop}}}}]
`,
    '0.0.0-test',
  )
  assert.ok(read.ok)
  const { configuration } = read
  const given = pod({}, [app, envoy])
  const labels = (entries: Record<string, string>, whole = true) => ({
    labels: new Map(Object.entries(entries)),
    whole,
  })

  test('whose labels are known is certain', () => {
    assert.equal(foresee(given, { configuration, namespace: labels({ team: 'shop' }) }).kind, 'starts')
    assert.equal(foresee(given, { configuration, namespace: labels({}) }).kind, 'left')
    assert.equal(foresee(given, { configuration, namespace: labels({ team: 'shop' }, false) }).kind, 'starts')
  })

  test('whose labels are not known depends on them, where that makes a difference', () => {
    const verdict = foresee(given, { configuration })
    assert.ok(verdict.kind === 'depends-on-namespace')
    assert.equal(verdict.first.kind, 'left')
    assert.deepEqual(verdict.others.map(fateText), ['starts envoy (rule team), before app'])
    const asking = pod({ sidecars: 'envoy' }, [app, envoy])
    assert.equal(foresee(asking, { configuration }).kind, 'starts')
    assert.equal(foresee(pod({ sidecars: 'envoyy' }, [app, envoy]), { configuration }).kind, 'refused')
  })

  test('that no selector but one selects has its order among the possible ones', () => {
    const rule = (name: string, tier: number) =>
      `- {name: ${name}, tier: ${tier}, match: {container: ${name}, namespaceSelector: {matchLabels: {team: ${name}}}}}`
    const rules = [rule('app', 1), rule('envoy', 2)].join('\n')
    const two = readConfiguration(
      `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules:\n${rules}\n`,
      '0.0.0-test',
    )
    assert.ok(two.ok)
    const verdict = foresee(given, { configuration: two.configuration })
    assert.ok(verdict.kind === 'depends-on-namespace')
    assert.deepEqual(
      verdict.others.map((each) => fateText(each).replace(/:.*/, '')),
      ['starts app (rule app, not waited for), before envoy', 'starts envoy (rule envoy), before app', 'is left alone'],
    )
  })

  test('that the webhooks are not called for is left alone', () => {
    const webhooks = [{ selector: { matchLabels: { on: 'yes' } }, set: undefined }]
    const asking = pod({ sidecars: 'envoyy' }, [app, envoy])
    const kind = (namespace: ReturnType<typeof labels>) => foresee(asking, { configuration, namespace, webhooks }).kind
    assert.equal(kind(labels({ on: 'yes' })), 'refused')
    assert.equal(kind(labels({})), 'left')
    assert.equal(kind(labels({}, false)), 'depends-on-namespace')
  })
})

test('what is forecast is what the calls make of the pod, and of the one to which the missing containers are added', () => {
  const seen = { starts: 0, left: 0, refused: 0, 'unless-injected': 0 }
  fc.assert(
    fc.property(configurations, pods, fc.subarray(['A', 'B']), ({ text }, given, keys) => {
      const read = readConfiguration(`apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${text}`, '0.0.0-test')
      assert.ok(read.ok)
      const { configuration } = read
      const namespace = { labels: new Map(keys.map((key) => [key, '1'])), whole: true }
      const verdict = foresee(given, { configuration, namespace })
      assert.ok(verdict.kind !== 'depends-on-namespace')
      seen[verdict.kind]++
      if (configuration.mode === 'observe') return assert.equal(verdict.kind, 'left')
      const sets = keys
        .map((key) => setOf({ matchLabels: { [key]: '1' } }))
        .filter((set) => configuration.rules.sets.has(set))
      const { decision, refusals } = admit(given, configuration, sets)
      const happens = decision.verdict === 'refused' || refusals.length > 0
      assert.equal(verdict.kind === 'refused' || verdict.kind === 'unless-injected', happens, JSON.stringify(refusals))
      if (verdict.kind !== 'unless-injected') return
      const add = (pod: Pod): Pod => ({
        ...pod,
        spec: {
          ...pod.spec,
          containers: [
            ...pod.spec.containers,
            ...missing(
              pod,
              verdict.absent.map(({ name }) => name),
            ),
          ],
        },
      })
      const admitted = ({ decision, refusals }: Admitted) => decision.verdict !== 'refused' && refusals.length === 0
      const fate = foresee(add(given), { configuration, namespace })
      assert.equal(admitted(admit(add(given), configuration, sets)), fate.kind === 'starts')
      // An enforced rule about what is added behind us may refuse what the first call has planned without it.
      const enforces = configuration.rules.rules.some(({ enforce }) => enforce)
      if (!enforces) assert.equal(admitted(admit(given, configuration, sets, add)), fate.kind === 'starts')
    }),
    runs(400),
  )
  assert.ok(Math.min(...Object.values(seen)) > 0, JSON.stringify(seen))
})

const missing = ({ spec }: Pod, names: readonly string[]) =>
  [...new Set(names)]
    .filter((name) => spec.containers.every((each) => each.name !== name))
    .map((name) => ({ name, image: 'injected', readinessProbe: ready }))

test('a pod that is refused pays nothing, so no cost is told, whichever call refuses it', () => {
  let misspelt = 0
  fc.assert(
    fc.property(anyPod, ({ metadata, ...rest }) => {
      // A name that is nearly that of a container is refused in the end only.
      const annotations = JSON.parse(JSON.stringify(metadata.annotations).replace('envoy', 'envoyy'))
      const { kind, ...verdict } = foresee({ ...rest, metadata: { ...metadata, annotations } }, { configuration })
      if (kind !== 'refused' || !('decision' in verdict)) return
      const { reasons, warnings } = verdict.decision
      if (reasons.some((each) => each.kind === 'container-misspelt')) misspelt += 1
      assert.deepEqual(warnings.filter(isCost), [])
    }),
    runs(1000),
  )
  assert.ok(misspelt > 0)
})
