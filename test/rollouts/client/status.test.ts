import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf } from '../../../rollouts/client/status.ts'
import { failure, rollout } from './cases.ts'

test('a rollout that can not go on is neither done nor failed, and is over', () => {
  assert.equal(outcomeOf(rollout('Stopped', 'none of 2 pods can be upgraded in place')), 'stopped')
  assert.equal(outcomeOf(rollout('Stopped', '', { failure })), 'failed')
  assert.equal(outcomeOf(rollout('Complete')), 'done')
  assert.equal(outcomeOf(rollout('Complete', '', { generation: 4 })), undefined)
})
