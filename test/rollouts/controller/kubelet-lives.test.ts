import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lives } from '../../../rollouts/controller/kubelet-lives.ts'
import { iso, NOW } from '../pods.ts'

const at = (seconds: number) => NOW + seconds * 1000

test('a Lease that is renewed after somebody has asked proves life; one that was renewed before does not', () => {
  const lives = new Lives()
  const renewed = (seconds: number, skew = -600) => iso(at(seconds + skew))
  lives.saw('n0', renewed(-5), at(0))
  lives.saw('n0', renewed(-5), at(3))
  assert.equal(lives.of('n0', at(0)), undefined)
  lives.saw('n0', renewed(5), at(6))
  assert.deepEqual(lives.of('n0', at(0)), { at: at(6), afterSilence: false })
  assert.equal(lives.of('n0', at(7)), undefined)
  // After a silence the time begins anew, whatever was seen before it.
  lives.saw('n0', renewed(60), at(61))
  assert.deepEqual(lives.of('n0', at(0)), { at: at(61), afterSilence: true })
})

test('a node without a Lease is taken to live', () => {
  const lives = new Lives()
  lives.saw('virtual', undefined, at(0))
  lives.saw('virtual', undefined, at(3))
  assert.deepEqual(lives.of('virtual', at(-1)), { at: at(0), afterSilence: false })
})
