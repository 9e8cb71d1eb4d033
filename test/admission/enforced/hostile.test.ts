import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../../src/admission/words/json.ts'
import { runs } from '../../runs.ts'
import { isAcceptable } from './acceptable.ts'
import { change, changed, type Hostile, hostile, plain, rules } from './arbitraries.ts'
import { configured, escapesOf, mutated, outlivers, refusalsOf, shortened, told } from './judged.ts'
import type { Rules } from './rules.ts'
import { type Fields, type Pod, tricks } from './tricks.ts'

/**
 * Rules are read once for 20 pods: reading them is slower than a decision. A million pods for each property, by hand: TEST_RUNS=834 and a test file
 * of its own.
 */
const count = 60
const together = rules.chain((each) =>
  fc.tuple(fc.constant(each), fc.array(fc.tuple(hostile(each), change), { minLength: 20, maxLength: 20 })),
)

describe('before an enforced gate has opened, no container of the author’s runs but the exceptions', () => {
  test('in what the mutating call makes of a pod', () => {
    fc.assert(
      fc.property(together, ([given, pods]) => {
        const configuration = configured(given)
        if (configuration === undefined) return
        for (const [{ pod }] of pods) {
          if (!isAcceptable(pod)) continue
          const made = mutated(pod, configuration)
          if ('refused' in made || !made.isStorable) continue
          const escapes = escapesOf(made.pod, given)
          assert.ok(escapes.length === 0, told(escapes, given, made.pod, pod))
          const less = shortened(made.pod, given, '5s')
          assert.ok(less.length === 0, `${less.join('; ')}\n${told([], given, made.pod, pod)}`)
          const early = outlivers(made.pod, given)
          assert.ok(early.length === 0, `${early.join('; ')}\n${told([], given, made.pod, pod)}`)
        }
      }),
      runs(count),
    )
  })

  test('in a pod that comes to the final check as its author wrote it', () => {
    fc.assert(
      fc.property(together, ([given, pods]) => {
        const configuration = configured(given)
        if (configuration === undefined) return
        for (const [{ pod }] of pods) {
          if (!isAcceptable(pod) || refusalsOf(pod, configuration).length > 0) continue
          const escapes = escapesOf(pod, given)
          assert.ok(escapes.length === 0, told(escapes, given, pod))
        }
      }),
      runs(count),
    )
  })

  test('in a pod of ours in which a later webhook has changed one place', () => {
    fc.assert(
      fc.property(together, ([given, pods]) => {
        const configuration = configured(given)
        if (configuration === undefined) return
        for (const [{ pod }, edit] of pods) {
          const made = isAcceptable(pod) ? mutated(pod, configuration) : { refused: [] }
          if ('refused' in made) continue
          const final = changed(made.pod, edit)
          if (!isAcceptable(final) || refusalsOf(final, configuration).length > 0) continue
          const escapes = escapesOf(final, given)
          assert.ok(escapes.length === 0, told(escapes, given, final, made.pod))
          const early = outlivers(final, given)
          assert.ok(early.length === 0, `${early.join('; ')}\n${told([], given, final, made.pod)}`)
        }
      }),
      runs(count),
    )
  })
})

/** A name that an injector may still add is refused in the end if none has: that isn't about what we made. */
const isOfNames = (refusal: string) => refusal.includes('but no container is called that')

test('whatever the mutating call made of a pod, the final check admits, also when it is called again', () => {
  fc.assert(
    fc.property(together, ([given, pods]) => {
      const configuration = configured(given)
      if (configuration === undefined) return
      for (const [{ pod }] of pods) {
        const made = isAcceptable(pod) ? mutated(pod, configuration) : { refused: [] }
        if ('refused' in made || !made.isStorable) continue
        const refusals = refusalsOf(made.pod, configuration)
        if (refusals.some(isOfNames)) continue
        assert.ok(refusals.length === 0, `${refusals.join('; ')}\n${told([], given, made.pod, pod)}`)
        const again = mutated(made.pod, configuration)
        assert.ok(!('refused' in again), `${'refused' in again && again.refused}\n${told([], given, made.pod, pod)}`)
        const late = refusalsOf(again.pod, configuration)
        assert.ok(late.length === 0, `called again: ${late.join('; ')}\n${told([], given, again.pod, pod)}`)
      }
    }),
    runs(count),
  )
})

type Spec = { containers: (Fields & { name: string })[] }

/** The pod without one container that isn't the app, and with it, as an injector puts it there between our two calls. */
function injectedLate(pod: Pod, which: number) {
  const { containers } = pod.spec as unknown as Spec
  const sidecars = containers.filter(({ name }) => name !== 'app')
  const late = sidecars[which % sidecars.length]
  if (late === undefined || containers.length === 1) return undefined
  const early = { ...pod, spec: { ...pod.spec, containers: containers.filter((each) => each !== late) } }
  const inject = (made: Json): Pod => {
    const copy = structuredClone(made) as Pod
    const list = (copy.spec as unknown as Spec).containers
    list.splice(which % (list.length + 1), 0, late)
    return copy
  }
  return { early, inject }
}

test('a pod that is admitted with its injected sidecar from the start is admitted when that comes between our calls', () => {
  const gate = fc.constantFrom(undefined, undefined, 'native', 'hook')
  const pods = rules.chain((each) =>
    fc.tuple(fc.constant(each), fc.array(fc.tuple(plain(each), gate, fc.nat(9)), { minLength: 20, maxLength: 20 })),
  )
  let seen = 0
  fc.assert(
    fc.property(pods, ([given, list]) => {
      const configuration = configured(given)
      if (configuration === undefined) return
      for (const [written, gate, which] of list) {
        const pod = gate === undefined ? written : annotated(written, 'sidecar-first.dev/gate', gate)
        const late = injectedLate(pod, which)
        const whole = isAcceptable(pod) ? mutated(pod, configuration) : { refused: [] }
        if (late === undefined || 'refused' in whole || refusalsOf(whole.pod, configuration).length > 0) continue
        const first = mutated(late.early, configuration)
        if ('refused' in first) continue
        const second = mutated(late.inject(first.pod), configuration)
        assert.ok(
          !('refused' in second),
          `${'refused' in second && second.refused}\n${told([], given, first.pod, pod)}`,
        )
        const refusals = refusalsOf(second.pod, configuration)
        assert.ok(refusals.length === 0, `${refusals.join('; ')}\n${told([], given, second.pod, pod)}`)
        const escapes = escapesOf(second.pod, given)
        assert.ok(escapes.length === 0, told(escapes, given, second.pod, pod))
        seen += 1
      }
    }),
    runs(count * 4),
  )
  assert.ok(seen > 0)
})

function annotated(pod: Pod, key: string, value: string): Pod {
  const { metadata } = pod as unknown as { metadata: { annotations?: Fields } }
  return { ...pod, metadata: { ...metadata, annotations: { ...metadata.annotations, [key]: value } } } as Pod
}

/** Of the pods that an enforced rule concerns. */
function tally(sample: readonly (readonly [Rules, readonly Hostile[]])[]) {
  const seen = new Map<string, number>()
  let admitted = 0
  let concerned = 0
  for (const [given, pods] of sample) {
    const configuration = configured(given)
    if (configuration === undefined) continue
    for (const { pod, tricks: played } of pods) {
      // What nobody has patched lets the app run, or the rules don't concern it.
      if (!isAcceptable(pod) || escapesOf(pod, given).length === 0) continue
      concerned += 1
      for (const name of played) seen.set(name, (seen.get(name) ?? 0) + 1)
      if (!('refused' in mutated(pod, configuration))) admitted += 1
    }
  }
  return { seen, share: admitted / concerned, concerned }
}

test('the pods that are tried play every trick on a rule that concerns them', () => {
  const each = rules.chain((given) =>
    fc.tuple(fc.constant(given), fc.array(hostile(given), { minLength: 20, maxLength: 20 })),
  )
  const { seen } = tally(fc.sample(each, { numRuns: 100, seed: 1 }))
  const names = new Set(tricks.flatMap((trick) => fc.sample(trick, { numRuns: 1, seed: 1 })).map(({ name }) => name))
  const rare = [...names].filter((name) => (seen.get(name) ?? 0) < 8)
  assert.deepEqual(rare, [])
})

test('of pods as people write them, most are admitted', () => {
  const honest = rules.chain((given) =>
    fc.tuple(
      fc.constant(given),
      fc.array(
        plain(given).map((pod) => ({ pod, tricks: [] })),
        { minLength: 20, maxLength: 20 },
      ),
    ),
  )
  const { share, concerned } = tally(fc.sample(honest, { numRuns: 60, seed: 1 }))
  assert.ok(concerned > 200, `${concerned}`)
  assert.ok(share > 0.5, `${share}`)
})
