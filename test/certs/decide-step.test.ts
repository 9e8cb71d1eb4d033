import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Leaf, leafDue, next, type Shown } from '../../certs/decide-step.ts'
import { runs } from '../runs.ts'
import { DAY, endsWell, established, HOUR, lifetimes, SECOND, SKEW, World } from './world.ts'

type Action = (world: World) => void
const stepping: Action = (world) => void world.step()
const passing = fc
  .constantFrom(
    SECOND,
    lifetimes.settle / 2,
    lifetimes.settle - SECOND,
    lifetimes.settle,
    HOUR,
    DAY,
    8 * DAY,
    21 * DAY,
    40 * DAY,
    200 * DAY,
    400 * DAY,
  )
  .map((ms): [string, Action] => [`${ms / SECOND}s pass`, (world) => world.advance(ms)])
const which = fc.nat(1)
const lose =
  (part: 'current' | 'next' | 'leaf'): Action =>
  (world) => {
    if (world.secret) world.secret[part] = undefined
  }
const loseRetired: Action = (world) => {
  if (world.secret) world.secret.retired = []
}
const skewed =
  (skew: number): Action =>
  (world) => {
    world.skew = skew
  }
const spoilKey =
  (part: 'current' | 'next'): Action =>
  (world) => {
    const authority = world.secret?.[part]
    if (world.secret && authority) world.secret[part] = { ...authority, signs: false }
  }
const action: fc.Arbitrary<[string, Action]> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<[string, Action]>(['step', stepping]) },
  { weight: 4, arbitrary: passing },
  {
    weight: 2,
    arbitrary: which.map((i): [string, Action] => [`API server ${i} catches up`, (world) => world.sync(i)]),
  },
  { weight: 2, arbitrary: which.map((i): [string, Action] => [`replica ${i} mounts`, (world) => world.mount(i)]) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<[string, Action]>(
      ['all catch up', (world) => world.catchUp()],
      ['crash', (world) => world.crash()],
      ['rotate ca', (world) => world.ask('ca')],
      ['rotate leaf', (world) => world.ask('leaf')],
      ['clock fast', skewed(SKEW)],
      ['clock slow', skewed(-SKEW)],
      ['clock right', skewed(0)],
      ['replicas go or come', (world) => world.toggleReplicas()],
      ['Secret deleted', (world) => world.delete()],
      ['CA lost', lose('current')],
      ['next CA lost', lose('next')],
      ['leaf lost', lose('leaf')],
      ['CA key spoiled', spoilKey('current')],
      ['next CA key spoiled', spoilKey('next')],
      ['old CAs lost', loseRetired],
    ),
  },
)
const history = fc.array(action, { maxLength: 80, size: 'max' })

test('whatever happens, no API server ever meets a leaf that its caBundle does not cover', () => {
  fc.assert(
    fc.property(history, fc.boolean(), (actions, answering) => {
      const world = established({ answering })
      for (const [, act] of actions) act(world)
    }),
    runs(3000),
  )
})

test('from whatever has happened, two settling times of steps lead to a leaf that lives and is trusted', () => {
  const wiped: Action = (world) => world.wipe('validating')
  const disturbed = fc.array(fc.oneof(action, fc.constant<[string, Action]>(['caBundle wiped', wiped])), {
    maxLength: 60,
    size: 'max',
  })
  fc.assert(
    fc.property(disturbed, fc.boolean(), (actions, answering) => {
      const world = established({ answering })
      for (const [, act] of actions) act(world)
      world.skew = 0
      endsWell(world)
    }),
    runs(1000),
  )
})

test('five years of quiet: each CA and leaf is renewed in time, and none before it is due', () => {
  const world = established({ answering: true })
  world.steps = []
  for (let hour = 0; hour < 5 * 365 * 24; hour++) {
    world.settleSteps()
    world.advance(HOUR)
    world.catchUp()
    assert.ok(world.secret?.leaf && world.secret.leaf.expires - world.time > 9 * DAY)
  }
  const count = (what: string) => world.steps.filter((step) => step.do === what).length
  assert.deepEqual([count('mint'), count('drop')], [7, 7])
  // 1,825 days in leaves renewed at two thirds of 30 days, and one more for each new CA at most
  assert.ok(count('issue') >= 91 && count('issue') <= 99, `${count('issue')} leaves`)
})

test('an empty cluster gets its first leaf at once, with or without configurations', () => {
  for (const configurations of [[], ['mutating'], ['mutating', 'validating']]) {
    const world = new World({ answering: true, configurations })
    world.settleSteps()
    const done = world.steps.map((step) => step.do)
    assert.deepEqual(done, configurations.length ? ['mint', 'trust', 'issue', 'wait'] : ['mint', 'issue', 'wait'])
  }
})

test('a configuration that comes later is given what is trusted', () => {
  const world = new World({ answering: true, configurations: [] })
  world.settleSteps()
  world.create('mutating')
  world.steps = []
  world.settleSteps()
  assert.deepEqual(
    world.steps.map((step) => step.do),
    ['trust', 'wait'],
  )
})

test('everything expired: trusted first, then a leaf without settling', () => {
  const world = established({ answering: false })
  world.advance(800 * DAY)
  world.steps = []
  world.settleSteps()
  assert.deepEqual(
    world.steps.map(({ do: step, reason }) => `${step} ${reason}`),
    [
      'mint authority-expired',
      'trust differs',
      'issue nothing-to-lose',
      'trust differs',
      'drop leaves-expired',
      'wait valid',
    ],
  )
})

test('a deleted Secret: the CA whose leaves are served stays trusted, and the new one settles first', () => {
  const world = established({ answering: true })
  world.delete()
  world.steps = []
  world.settleSteps()
  world.advance(lifetimes.settle)
  world.settleSteps()
  assert.deepEqual(
    world.steps.map(({ do: step, reason }) => `${step} ${reason}`),
    ['mint secret-missing', 'trust differs', 'wait settling', 'issue settled', 'wait valid'],
  )
})

test('a lost leaf is issued anew by the CA that is trusted, in the middle of a rotation too', () => {
  const world = established({ answering: true })
  world.ask('ca')
  world.settleSteps()
  assert.ok(world.secret?.next)
  world.secret.leaf = undefined
  assert.deepEqual(world.step(), { do: 'issue', from: 'current', reason: 'leaf-missing' })
})

const year = { issued: 0, expires: 365 * DAY, signs: true }
const leaf: Leaf = { id: 'leaf', issuer: 'ca', issued: 0, expires: 30 * DAY }
const quiet: Shown = {
  now: DAY,
  secret: { current: { id: 'ca', ...year }, next: undefined, retired: [], leaf, asked: undefined },
  configurations: [{ name: 'mutating', webhooks: [['ca'], ['ca']] }],
  strangers: [],
  served: [leaf],
  nextTrustedFor: 0,
}

test('a leaf that its CA would let live no longer is not issued again', () => {
  const last = { ...leaf, issued: 345 * DAY, expires: 365 * DAY }
  const secret = { ...quiet.secret, next: { id: 'ca2', ...year, expires: 700 * DAY }, leaf: last, retired: [] } as const
  const shown = {
    ...quiet,
    now: leafDue(last),
    secret: { ...secret, current: { id: 'ca', ...year }, asked: undefined },
  }
  const configurations = [{ name: 'mutating', webhooks: [['ca', 'ca2']] }]
  assert.equal(next({ ...shown, configurations, served: [last] }, lifetimes).do, 'wait')
})

test('a retired CA stays while an endpoint still serves a leaf of its', () => {
  const old = {
    id: 'old',
    issued: -200 * DAY,
    expires: 165 * DAY,
    lastLeaf: { ...leaf, issued: -40 * DAY, expires: -10 * DAY },
  }
  const shown = { ...quiet, now: 5 * DAY, secret: quiet.secret && { ...quiet.secret, retired: [old] } }
  const configurations = [{ name: 'mutating', webhooks: [['ca', 'old']] }]
  assert.equal(next({ ...shown, configurations, served: [{ ...leaf, issuer: 'old' }] }, lifetimes).do, 'wait')
  assert.equal(next({ ...shown, configurations }, lifetimes).do, 'trust')
  assert.equal(next(shown, lifetimes).do, 'drop')
})

test('a leaf that no endpoint serves yet, but that would work once mounted, is worth the settling', () => {
  const secret = quiet.secret && { ...quiet.secret, next: { id: 'ca2', ...year, expires: 700 * DAY } }
  const configurations = [{ name: 'mutating', webhooks: [['ca', 'ca2']] }]
  const expired = { ...leaf, id: 'old', expires: 0 }
  for (const served of [[], [expired], undefined]) {
    assert.equal(next({ ...quiet, secret, configurations, served }, lifetimes).reason, 'settling')
  }
  const broken = secret && { ...secret, leaf: expired }
  for (const served of [[], [expired], undefined]) {
    assert.equal(next({ ...quiet, secret: broken, configurations, served }, lifetimes).reason, 'nothing-to-lose')
  }
})

test('a rotation settles although a configuration keeps a difference that does not concern the new CA', () => {
  const secret = quiet.secret && { ...quiet.secret, next: { id: 'ca2', ...year, expires: 700 * DAY } }
  const old = { id: 'old', issued: -400 * DAY, expires: -35 * DAY }
  const configurations = [{ name: 'mutating', webhooks: [['ca', 'ca2', 'old']] }]
  const reverted = { ...quiet, secret, configurations, strangers: [old] }
  assert.equal(next(reverted, lifetimes).do, 'trust')
  assert.equal(next({ ...reverted, nextTrustedFor: lifetimes.settle }, lifetimes).reason, 'settled')
})

test('a due leaf waits for a configuration that trusts nothing, and for no other', () => {
  const due = { ...quiet, now: leafDue(leaf) }
  const configurations = [{ name: 'mutating', webhooks: [['ca'], []] }]
  assert.equal(next({ ...due, configurations }, lifetimes).do, 'trust')
  const foreign = { id: 'foreign', issued: 0, expires: 365 * DAY }
  const other = { name: 'validating', webhooks: [['ca', 'foreign']] }
  assert.equal(
    next({ ...due, configurations: [...quiet.configurations, other], strangers: [foreign] }, lifetimes).do,
    'issue',
  )
})
