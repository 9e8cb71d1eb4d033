import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Claims } from '../../../rollouts/controller/claims.ts'
import type { SeenPod } from '../../../rollouts/seen-pod.ts'
import type { SidecarRollout } from '../../../rollouts/types.ts'
import { selects } from '../../../src/admission/pod/selector.ts'
import { runs } from '../../runs.ts'
import { iso, NOW, pod, rollout } from '../pods.ts'

const named = (name: string, age: number, spec: Partial<SidecarRollout['spec']> = {}): SidecarRollout => {
  const one = rollout()
  const metadata = { ...one.metadata, name, uid: name, creationTimestamp: iso(NOW - age) }
  return { ...one, metadata, spec: { ...one.spec, ...spec } }
}
const young = named('young', 1000)
function claimOf(one: SidecarRollout, others: readonly SidecarRollout[], pods = [pod('a')]) {
  const claims = new Claims()
  for (const each of [one, ...others]) claims.put(each)
  for (const each of pods) claims.pod(undefined, each)
  return claims.claimedBy(one)
}

test('the older one has the container', () => {
  const old = named('old', 2000)
  assert.equal(claimOf(young, [old]), 'old')
  assert.equal(claimOf(old, [young]), undefined)
})

test('of two of one age the first by name has it', () => {
  const twin = named('twin', 1000)
  assert.equal(claimOf(young, [twin]), 'twin')
  assert.equal(claimOf(twin, [young]), undefined)
})

test('another container, other pods, or no pod at all: no claim', () => {
  assert.equal(claimOf(young, [named('old', 2000, { container: 'vault' })]), undefined)
  assert.equal(claimOf(young, [named('old', 2000, { selector: { matchLabels: { app: 'x' } } })]), undefined)
  assert.equal(claimOf(young, [named('old', 2000)], [pod('a', { ending: true })]), undefined)
})

test('however rollouts and pods come, change and go: what is kept is what is so', () => {
  const selectors: readonly SidecarRollout['spec']['selector'][] = [
    { matchLabels: { app: 'shop' } },
    { matchLabels: { app: 'shop', tier: 'a' } },
    { matchExpressions: [{ key: 'tier', operator: 'In', values: ['a', 'b'] }] },
    { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['b'] }] },
    { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
    { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
  ]
  const labels = [{ app: 'shop' }, { app: 'shop', tier: 'a' }, { tier: 'b' }, {}]
  const number = fc.nat(5)
  const operation = fc.tuple(fc.constantFrom('put', 'drop', 'end', 'pod', 'gone'), number, fc.nat(11))
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 30 }), (operations) => {
      const claims = new Claims()
      const rollouts = new Map<string, SidecarRollout>()
      const pods = new Map<string, SeenPod>()
      const older = ({ metadata: a }: SidecarRollout, { metadata: b }: SidecarRollout) =>
        a.creationTimestamp < b.creationTimestamp || (a.creationTimestamp === b.creationTimestamp && a.name < b.name)
      const having = (one: SidecarRollout) =>
        [...pods.values()].filter((each) => selects(one.spec.selector, each.labels))
      for (const [what, at, how] of operations) {
        const known = rollouts.get(`r${at}`)
        const was = pods.get(`p${at}`)
        if (what === 'put' && !known) {
          const container = how % 3 === 0 ? 'app' : 'envoy'
          // The age may be another's, too.
          const one = named(`r${at}`, how * 1000, { selector: selectors[how % 6] ?? {}, container })
          rollouts.set(`r${at}`, one)
          claims.put(one)
        } else if (what === 'drop' && known) {
          rollouts.delete(`r${at}`)
          claims.drop(known)
        } else if (what === 'end' && known) {
          const ending = { ...known, metadata: { ...known.metadata, deletionTimestamp: iso(NOW) } }
          rollouts.set(`r${at}`, ending)
          claims.put(ending)
        } else if (what === 'pod') {
          const is = { ...pod(`p${at}`, { ending: how > 9 }), labels: new Map(Object.entries(labels[how % 4] ?? {})) }
          pods.set(is.name, is)
          const matching = [...rollouts.values()].filter(({ spec }) =>
            [was, is].some((one) => one && selects(spec.selector, one.labels)),
          )
          assert.deepEqual(new Set(claims.pod(was, is)), new Set(matching))
        } else if (what === 'gone' && was) {
          pods.delete(was.name)
          claims.pod(was, undefined)
        }
        for (const one of rollouts.values()) {
          assert.deepEqual(new Set(claims.podsOf(one)), new Set(having(one)))
          const rivals = [...rollouts.values()].filter(
            (other) =>
              other.spec.container === one.spec.container &&
              other.metadata.deletionTimestamp === undefined &&
              older(other, one) &&
              having(one).some((each) => !each.ending && having(other).includes(each)),
          )
          const found = claims.claimedBy(one)
          if (rivals.length === 0) assert.equal(found, undefined)
          else assert.ok(rivals.some(({ metadata }) => metadata.name === found))
        }
      }
    }),
    runs(1000),
  )
})
