import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1ContainerRestartRule } from '@kubernetes/client-node'
import { livePod } from '../../src/seen/pod.ts'
import { lived } from '../outcome/lived.ts'

const policies = ['Always', 'OnFailure', 'Never'] as const

/** What is wrong with the app of a pod, which has ended with this code. */
function trouble(pods: string, exitCode: number, own: { restartPolicy?: string; restartPolicyRules?: object[] } = {}) {
  const { pod } = lived([{ name: 'app', runs: [[1, 2, exitCode]] }], { now: 60, restartPolicy: pods })
  const restartPolicyRules = own.restartPolicyRules as V1ContainerRestartRule[]
  Object.assign(pod.spec?.containers[0] ?? assert.fail(), own, own.restartPolicyRules && { restartPolicyRules })
  return livePod(pod, 100).containers[0]?.trouble?.why
}

test("a container's own restartPolicy outranks the pod's", () => {
  for (const pods of policies) {
    for (const restartPolicy of policies) {
      for (const code of [0, 1]) {
        assert.equal(trouble(pods, code, { restartPolicy }), trouble(restartPolicy, code), `${pods} ${restartPolicy}`)
      }
    }
  }
  assert.deepEqual([trouble('Never', 1), trouble('Always', 1)], ['ended', 'not-restarted'])
})

test('and its restartPolicyRules outrank both: one that they start again has not ended for good', () => {
  const rule = (operator: string, ...values: number[]) => ({ action: 'Restart', exitCodes: { operator, values } })
  const whatIs = (code: number, ...restartPolicyRules: object[]) =>
    trouble('Always', code, { restartPolicy: 'Never', restartPolicyRules })
  assert.deepEqual([whatIs(42, rule('In', 41, 42)), whatIs(43, rule('In', 41, 42))], ['not-restarted', 'ended'])
  assert.deepEqual([whatIs(42, rule('NotIn', 42)), whatIs(43, rule('NotIn', 42))], ['ended', 'not-restarted'])
  assert.equal(whatIs(2, rule('In', 1), rule('In', 2)), 'not-restarted')
  // What a later version may say.
  assert.equal(whatIs(1, { action: 'Restart' }, rule('Beyond', 1), { action: 'Restart', exitCodes: {} }), 'ended')
})
