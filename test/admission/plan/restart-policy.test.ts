import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import { after, app, configuration, pod, ready, warningsOf } from '../pods.ts'

const policies = ['Always', 'OnFailure', 'Never'] as const

/** @param own of the container of the sidecar */
function warned(
  pods: string,
  own: { readonly restartPolicy?: string; readonly restartPolicyRules?: object[] },
  lock: string,
) {
  const envoy = JSON.parse(JSON.stringify({ name: 'envoy', image: 'envoy', readinessProbe: ready, ...own }))
  const asking = pod({ sidecars: 'envoy', lock }, [app, envoy], { restartPolicy: pods })
  const decision = decide(asking, { ...configuration, kubernetesVersion: { major: 1, minor: 36 } })
  const locks = JSON.stringify(after(asking, decision)).includes('fileKeyRef')
  return `${locks ? 'locked' : 'open'}\n${warningsOf(decision).join('\n')}`
}

test("whether a sidecar is restarted is said by its own restartPolicy, which outranks the pod's", () => {
  for (const lock of ['on', 'off', 'auto']) {
    for (const pods of policies) {
      for (const restartPolicy of policies) {
        assert.equal(warned(pods, { restartPolicy }, lock), warned(restartPolicy, {}, lock))
      }
    }
  }
  const never = warned('Never', {}, 'auto')
  assert.match(never, /^open\n(?:.*\n)*restartPolicy is Never: .*stays down/)
  assert.match(warned('Always', {}, 'auto'), /^locked\n/)
  assert.match(never, /with restartPolicy Never a sidecar that dies would leave it waiting/)
  assert.doesNotMatch(warned('Always', {}, 'auto'), /restartPolicy/)
})

test('one with restartPolicyRules may come back', () => {
  const own = {
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }],
  }
  assert.match(
    warned('Always', own, 'off'),
    /restartPolicy is Never with rules: if envoy isn't ready in time it may stay down/,
  )
})
