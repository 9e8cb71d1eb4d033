import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Claims } from '../../rollouts/controller/claims.ts'
import type { SeenPod } from '../../rollouts/seen-pod.ts'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { iso, NOW, pod, rollout } from '../rollouts/pods.ts'
import { stepsOf } from './steps.ts'

/** As large as the schema takes them (manifests/rollouts/crd.yaml), and what decides comes last. */
const TERMS = 64
const VALUES = 256
const values = Array.from({ length: VALUES }, (_, at) => `value-${at}`)
const last = `value-${VALUES - 1}`
const labels = new Map(Array.from({ length: 2 * TERMS }, (_, at) => [`label-${at}`, last]))
const selectorOf = (matches: boolean): SidecarRollout['spec']['selector'] => ({
  matchLabels: Object.fromEntries([...labels].slice(0, TERMS)),
  matchExpressions: [...labels].slice(TERMS).map(([key], at) => ({
    key,
    operator: 'In',
    values: matches || at < TERMS - 1 ? values : values.slice(0, -1),
  })),
})

/** The older, the larger its number. */
function rolloutAt(at: number, matches: boolean): SidecarRollout {
  const { metadata, spec, ...one } = rollout()
  const name = `rollout-${at}`
  const its = { ...metadata, name, uid: name, creationTimestamp: iso(NOW - at * 1000) }
  return { ...one, metadata: its, spec: { ...spec, selector: selectorOf(matches) } }
}
const podAt = (at: number): SeenPod => ({ ...pod(`pod-${at}`), labels })

interface Namespace {
  readonly claims: Claims
  readonly youngest: SidecarRollout
  readonly oldest: SidecarRollout
}

/** @param matches whether the others match the pods of the youngest, or are only just not of that mind */
function namespaceOf(n: number, matches: boolean): Namespace {
  const claims = new Claims()
  const rollouts = Array.from({ length: n }, (_, at) => rolloutAt(at, at === 0 || matches))
  for (const one of rollouts) claims.put(one)
  for (let at = 0; at < n; at++) claims.pod(undefined, podAt(at))
  const [youngest, oldest] = [rollouts[0], rollouts.at(-1)]
  assert.ok(youngest && oldest)
  return { claims, youngest, oldest }
}

const [another, newPod, newer] = [podAt(0), podAt(-1), rolloutAt(-1, true)]
const ways: Readonly<Record<string, (seen: Namespace) => void>> = {
  'a look at the youngest': ({ claims, youngest }) => void [claims.claimedBy(youngest), claims.podsOf(youngest)],
  'a look at the oldest': ({ claims, oldest }) => void [claims.claimedBy(oldest), claims.podsOf(oldest)],
  'a pod whose status changes': ({ claims }) => void claims.pod(another, another),
  'a pod that comes and goes': ({ claims }) => void [claims.pod(undefined, newPod), claims.pod(newPod, undefined)],
  'a rollout that comes and goes': ({ claims }) => void [claims.put(newer), claims.drop(newer)],
  'the oldest, which goes and comes back': ({ claims, oldest }) => void [claims.drop(oldest), claims.put(oldest)],
}

for (const matches of [true, false]) {
  test(`what a rollout costs grows with the rollouts and pods of its namespace, not with their product: the others ${matches ? 'match, too' : 'nearly match'}`, () => {
    const [small, large] = [namespaceOf(20, matches), namespaceOf(40, matches)]
    for (const [name, work] of Object.entries(ways)) {
      const [less, more] = [stepsOf(() => work(small)), stepsOf(() => work(large))]
      assert.ok(less > 0, name)
      // A square has 4; sorting a bit more than 2.
      assert.ok(more <= 2.6 * less, `${name}: ${more} steps, not ${less}`)
    }
  })
}
