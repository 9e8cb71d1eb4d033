import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../runs.ts'
import { DAY, endsWell, established, HOUR, Leader, lifetimes, SECOND, type World } from './world.ts'

type Action = (world: World, leaders: readonly Leader[]) => void
const which = fc.nat(1)

/** One of two processes, of which both may believe that they lead: a Lease can't stop one that was frozen between a read and a write. */
const leading = fc.tuple(
  which,
  fc.constantFrom<[string, (leader: Leader) => void]>(
    ['reads the Secret', (leader) => leader.readSecret()],
    ['reads the configurations', (leader) => leader.readConfigurations()],
    [
      'looks',
      (leader) => {
        leader.readSecret()
        leader.readConfigurations()
      },
    ],
    ['acts', (leader) => void leader.act()],
    ['is killed', (leader) => leader.kill()],
    [
      'acts and is killed before it hears the answer',
      (leader) => {
        leader.act()
        leader.kill()
      },
    ],
  ),
)
const passing = [SECOND, lifetimes.settle / 2, lifetimes.settle, HOUR, 21 * DAY, 40 * DAY]

const action: fc.Arbitrary<[string, Action]> = fc.oneof(
  {
    weight: 10,
    arbitrary: leading.map(([i, [what, act]]): [string, Action] => [
      `leader ${i} ${what}`,
      (_, leaders) => act(leaders[i] ?? assert.fail()),
    ]),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(...passing)
      .map((ms): [string, Action] => [`${ms / SECOND}s pass`, (world) => world.advance(ms)]),
  },
  {
    weight: 2,
    arbitrary: which.map((i): [string, Action] => [`API server ${i} catches up`, (world) => world.sync(i)]),
  },
  { weight: 2, arbitrary: which.map((i): [string, Action] => [`replica ${i} mounts`, (world) => world.mount(i)]) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<[string, Action]>(
      ['rotate ca', (world) => world.ask('ca')],
      ['rotate leaf', (world) => world.ask('leaf')],
      ['Secret deleted', (world) => world.delete()],
    ),
  },
)

test('two leaders that act on what they read long ago, and are killed anywhere, leave no leaf uncovered', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120, size: 'max' }), fc.boolean(), (actions, answering) => {
      const world = established({ answering })
      const leaders = [new Leader(world), new Leader(world)]
      for (const [, act] of actions) act(world, leaders)
    }),
    runs(3000),
  )
})

test('whatever two leaders have left, one of them brings it to an end', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80, size: 'max' }), fc.boolean(), (actions, answering) => {
      const world = established({ answering })
      const leaders = [new Leader(world), new Leader(world)]
      for (const [, act] of actions) act(world, leaders)
      endsWell(world)
    }),
    runs(1000),
  )
})
