import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decide } from '../../../src/admission/decide.ts'
import type { Configuration } from '../../../src/admission/intent/configuration.ts'
import { validate } from '../../../src/admission/validate.ts'
import { textOf } from '../../../src/admission/words/messages.ts'
import { readConfiguration } from '../../../src/configuration/read.ts'
import { runs } from '../../runs.ts'
import { after, type Container, type Fields, type Pod, pod } from '../pods.ts'
import { endOf, toldTo } from './model.ts'

/** A container as its author means it: what an end owes it is known without a look at the patched pod. */
interface Part {
  readonly name: string
  /** Undefined: it is the app. */
  readonly tier: number | undefined
  readonly isNative: boolean
  readonly isLast: boolean
  readonly preStop: Fields | undefined
  readonly runs: boolean
  readonly own: number
  readonly drain: number
}
interface Case {
  readonly parts: readonly Part[]
  readonly order: readonly number[]
  readonly gate: 'hook' | 'native'
  readonly grace: number | undefined
  /** How the pod asks: by its annotations, or rules for it. */
  readonly by: 'annotations' | 'rules' | 'enforced'
  readonly lock: 'on' | 'off'
}

const preStops: readonly (readonly [preStop: Fields | undefined, runs: boolean])[] = [
  [undefined, false],
  [undefined, false],
  [{ exec: { command: ['sh', '-c', 'drain "$@"'] } }, true],
  [{ sleep: { seconds: 3 } }, true],
  [{ httpGet: { port: 8080, path: '/quit', scheme: 'HTTP' } }, true],
  [{ tcpSocket: { port: 8080 } }, false],
  [{ exec: { command: ['', 'x'] } }, false],
]
const part = fc.record({
  preStop: fc.constantFrom(...preStops),
  isNative: fc.constantFrom(false, false, false, true),
  isLast: fc.boolean(),
  own: fc.nat(400),
  drain: fc.nat(400),
})
const cases: fc.Arbitrary<Case> = fc
  .record({
    sidecars: fc.array(fc.tuple(part, fc.boolean()), { minLength: 1, maxLength: 5 }),
    apps: fc.array(part, { minLength: 1, maxLength: 3 }),
    order: fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
    gate: fc.constantFrom('hook', 'native'),
    grace: fc.constantFrom(undefined, 4, 5, 30, 60, 3600),
    by: fc.constantFrom('annotations', 'rules', 'enforced'),
    lock: fc.constantFrom('on', 'off'),
    asks: fc.constantFrom(true, true, true, false),
  } as const)
  .map(({ sidecars, apps, asks, ...rest }) => {
    let tier = 0
    const made = sidecars.map(([{ preStop, isLast, ...each }, isNew], n): Part => {
      if (isNew) tier++
      const last = asks && (rest.by === 'annotations' || isLast)
      return { ...each, name: `s${n}`, tier, isLast: last, preStop: preStop[0], runs: preStop[1] }
    })
    const others = apps.map(({ preStop, ...each }, n): Part => {
      return {
        ...each,
        name: `a${n}`,
        tier: undefined,
        isLast: false,
        isNative: false,
        preStop: preStop[0],
        runs: preStop[1],
      }
    })
    return { ...rest, parts: [...made, ...others] }
  })

function asked({ parts, order, gate, grace, by, lock }: Case): { pod: Pod; configuration: Configuration } {
  const made = parts.map(({ name, preStop, isNative }): Container => {
    const readinessProbe = { httpGet: { port: 8080 } }
    const lifecycle = preStop && { preStop }
    return {
      name,
      image: name,
      readinessProbe,
      ...(lifecycle && { lifecycle }),
      ...(isNative && { restartPolicy: 'Always' }),
    }
  })
  const shuffled = made.map((each, n) => [order[n] ?? 0, each] as const).toSorted(([a], [b]) => a - b)
  const regular = shuffled.map(([, each]) => each).filter(({ restartPolicy }) => restartPolicy === undefined)
  const natives = made.filter(({ restartPolicy }) => restartPolicy !== undefined)
  const sidecars = parts.filter(({ tier }) => tier !== undefined)
  const tiers = [...Map.groupBy(sidecars, ({ tier }) => tier).values()]
  const isLast = sidecars.some((each) => each.isLast)
  const said = {
    sidecars: tiers.map((tier) => tier.map(({ name }) => name).join(' + ')).join(', '),
    ...(isLast && { end: 'last' }),
    gate,
    lock,
  }
  const rules = sidecars.map(({ name, tier = 0, isLast: end }) => ({
    ...{ name, match: { container: name }, tier, gate, lock, enforce: by === 'enforced' },
    ...(end && { end: 'last' }),
  }))
  const read = readConfiguration(
    JSON.stringify({
      ...{ apiVersion: 'sidecar-first.dev/v1', kind: 'Configuration', kubernetesVersion: '1.36' },
      ...(by === 'annotations' ? {} : { rules }),
    }),
    '0.0.0-test',
  )
  assert.ok(read.ok, JSON.stringify(read))
  const spec: Fields = {
    ...(grace !== undefined && { terminationGracePeriodSeconds: grace }),
    ...(natives.length > 0 && { initContainers: natives }),
  }
  return { pod: pod(by === 'annotations' ? said : {}, regular, spec), configuration: read.configuration }
}

/** The pod after our call, which the final check admits and a second call leaves alone. */
function admitted(before: Pod, configuration: Configuration): Pod {
  const decision = decide(before, configuration)
  const made = after(before, decision)
  assert.equal(decide(made, configuration).verdict, 'unchanged')
  assert.deepEqual(validate(made, configuration).reasons.map(textOf), [])
  return made
}

const all = ({ spec }: Pod) => [...((spec.initContainers ?? []) as Container[]), ...spec.containers]

/**
 * What the end of a pod owes its author, whatever stands in the patched one.
 * @param stuck one that only the end of the grace period ends
 */
function assertEnds({ parts, gate, grace = 30 }: Case, made: Pod, stuck?: string): void {
  const takes = (name: string) => {
    const { own, drain } = parts.find((each) => each.name === name) ?? { own: 10, drain: 10 }
    return { own, drain: name === stuck ? Number.POSITIVE_INFINITY : drain }
  }
  const ends = endOf(made, takes)
  const known = (name: string) => {
    const end = ends.get(name)
    assert.ok(end, name)
    return end
  }
  const isNative = (each: Part) => each.isNative || (gate === 'native' && each.tier !== undefined)
  const written = new Map(all(made).map((container) => [container.name, toldTo(container)]))
  for (const each of parts) {
    const { own, sigterm } = known(each.name)
    if (each.runs) assert.deepEqual(own?.is, each.preStop, `${each.name}: its own preStop runs once`)
    if (isNative(each) && !each.runs)
      assert.equal(written.get(each.name), undefined, `${each.name}: has nothing of ours`)
    const behind = parts.filter(({ tier }) => each.tier !== undefined && (tier === undefined || tier > each.tier))
    if (!each.isLast || behind.length === 0) {
      assert.equal(own?.at ?? 0, 0, `${each.name}: nothing has it wait`)
      continue
    }
    // In a shorter one there is no time for all of them.
    for (const other of grace >= 30 ? behind : []) {
      if (stuck !== undefined && (other.name === stuck || isNative(other))) continue
      const { ended } = known(other.name)
      // The kubelet has native sidecars end after all regular ones.
      if (isNative(other) && !isNative(each)) continue
      assert.ok(sigterm >= ended, `${each.name} gets SIGTERM at ${sigterm}, ${other.name} ends at ${ended}`)
      // A native sidecar without a preStop ends in its turn, and nothing is added to it.
      if (isNative(other) && !(other.isLast && other.runs)) continue
      if (own && each.runs)
        assert.ok(own.at >= ended, `${each.name}: its preStop at ${own.at}, ${other.name} ends at ${ended}`)
    }
    const peers = parts.filter(({ tier }) => tier === each.tier)
    const strangers = parts.filter((other) => !peers.includes(other)).map(({ name }) => known(name).ended)
    if (stuck === undefined && grace >= 30)
      assert.ok((own?.at ?? 0) <= Math.max(...strangers), `${each.name} waits for nothing beside it`)
    assert.ok((own?.at ?? 0) <= grace * 1000 - 3000 / parts.length, `${each.name}: its preStop at ${own?.at}`)
  }
}

const others = (made: Pod) => all(made).filter((container) => toldTo(container)?.command === 'others').length

test('sidecars that end last wait for what is behind them, their own preStop runs after that, and everybody’s runs once', () => {
  let waiting = 0
  fc.assert(
    fc.property(cases, fc.nat(), (each, which) => {
      const { pod: before, configuration } = asked(each)
      const made = admitted(before, configuration)
      assertEnds(each, made)
      // One that never ends costs no more than what the grace period leaves.
      assertEnds(each, made, each.parts[which % each.parts.length]?.name)
      waiting += others(made)
    }),
    runs(400),
  )
  assert.ok(waiting > 0)
})

test('nothing is added to a pod that doesn’t ask for it, and what was added goes when it no longer asks', () => {
  const together = (each: Case): Case => ({ ...each, parts: each.parts.map((its) => ({ ...its, isLast: false })) })
  const ownOf = (made: Pod) =>
    all(made).map(({ name, lifecycle }) => [name, (lifecycle as Fields | undefined)?.preStop])
  fc.assert(
    fc.property(cases, (each) => {
      const plain = asked(together(each))
      const made = admitted(plain.pod, plain.configuration)
      assert.doesNotMatch(JSON.stringify(made), /sidecar-first-ends|witness|others/)
      const asking = asked(each)
      const was = admitted(asking.pod, asking.configuration)
      const { metadata } = made
      const now = admitted({ ...was, metadata }, plain.configuration)
      const runnable = (name: string) => each.parts.some((its) => its.name === name && (its.runs || !its.preStop))
      const kept = (value: Pod) => ownOf(value).filter(([name]) => runnable(`${name}`))
      assert.deepEqual(kept(now), kept(made))
    }),
    runs(200),
  )
})

test('a container that another webhook adds after us is waited for, wherever it is put', () => {
  fc.assert(
    fc.property(cases, part, fc.nat(), (each, { preStop, ...late }, place) => {
      const { pod: before, configuration } = asked(each)
      const lifecycle = preStop[0] && { preStop: preStop[0] }
      const container: Container = { name: 'late', image: 'late', ...(lifecycle && { lifecycle }) }
      const once = after(before, decide(before, configuration))
      const at = place % (once.spec.containers.length + 1)
      const containers = once.spec.containers.toSpliced(at, 0, container)
      const made = admitted({ ...once, spec: { ...once.spec, containers } }, configuration)
      const its: Part = {
        ...late,
        name: 'late',
        tier: undefined,
        isLast: false,
        isNative: false,
        preStop: preStop[0],
        runs: preStop[1],
      }
      const whole = { ...each, parts: [...each.parts, its] }
      assertEnds(whole, made)
    }),
    runs(200),
  )
})
