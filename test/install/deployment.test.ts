import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CoreV1Event, V1Deployment, V1DeploymentStatus, V1Pod } from '@kubernetes/client-node'
import { rollout, silentPod } from '../../src/install/deployment.ts'
import { lastWarning } from '../../src/install/pod-log.ts'

const deployment = (status: V1DeploymentStatus | undefined, generation = 1): V1Deployment => ({
  metadata: { generation },
  spec: { replicas: 2, selector: {}, template: {} },
  status: { observedGeneration: 1, ...status },
})
const all = { replicas: 2, updatedReplicas: 2, availableReplicas: 2 }
const pod = (status: object) => ({ metadata: { name: 'sf-1' }, status }) as V1Pod
const waiting = (reason: string, message?: string): V1Pod =>
  pod({ containerStatuses: [{ ready: false, state: { waiting: { reason, ...(message ? { message } : {}) } } }] })
const warning = (message: string, second: number, name = 'sf-1'): CoreV1Event => ({
  type: 'Warning',
  message,
  lastTimestamp: new Date(second * 1000),
  metadata: {},
  involvedObject: { name },
})

test('it is rolled out when all replicas are new and ready, and no old one is left', () => {
  assert.equal(rollout(deployment(all), [], []).done, true)
  for (const status of [
    { ...all, updatedReplicas: 1 },
    { ...all, availableReplicas: 1 },
    { ...all, replicas: 3 },
    undefined,
  ]) {
    assert.equal(rollout(deployment(status), [], []).done, false)
  }
  assert.equal(rollout(deployment(all, 2), [], []).done, false, 'the controller has not seen the newest')
})

test('of an upgrade it counts the new ones, not the old that still serve', () => {
  const status = { replicas: 3, updatedReplicas: 1, availableReplicas: 2 }
  assert.equal(rollout(deployment(status), [], []).state, '0 of 2 replicas ready, 2 of the last version still running')
})

test('what is in the way: an image, a mount, no node, a quota, a crash', () => {
  const stateOf = (status: V1DeploymentStatus, pods: V1Pod[], events: CoreV1Event[] = []) =>
    rollout(deployment(status), pods, events).state
  const none = { replicas: 2, updatedReplicas: 2, availableReplicas: 0 }
  assert.equal(
    stateOf(none, [waiting('ImagePullBackOff', 'Back-off pulling\nimage "r/sf:1"')]),
    '0 of 2 replicas ready: sf-1: ImagePullBackOff: Back-off pulling image "r/sf:1"',
  )
  const events = [warning('secret "new" not found', 9), warning('old', 3), warning('not ours', 10, 'other')]
  assert.match(
    stateOf(none, [waiting('ContainerCreating')], events),
    /: sf-1: ContainerCreating: secret "new" not found$/,
  )
  const first = [warning('secret "sidecar-first" not found', 9)]
  assert.match(
    stateOf(none, [waiting('ContainerCreating')], first),
    /: it waits for the certificate from certs; .*kubectl logs/,
  )
  const issuer = 'it waits for the certificate from cert-manager: certificate/sidecar-first-ca: IssuerNotFound: no'
  assert.equal(
    rollout(deployment(none), [waiting('ContainerCreating')], first, { certificate: issuer }).state,
    `0 of 2 replicas ready: sf-1: ContainerCreating: ${issuer}`,
  )
  const unready = pod({ containerStatuses: [{ ready: false, state: { running: {} } }] })
  const failed = (count: number) => ({ ...warning('Readiness probe failed: 503', 9), reason: 'Unhealthy', count })
  assert.equal(
    stateOf(none, [unready], [failed(3)]),
    '0 of 2 replicas ready: sf-1: Readiness probe failed: 503; its log says why',
  )
  assert.equal(stateOf(none, [unready], [failed(2)]), '0 of 2 replicas ready', 'it has only just begun')
  assert.equal(silentPod([unready], [failed(1)]), undefined)
  assert.equal(silentPod([unready], [failed(2)])?.metadata?.name, 'sf-1')
  const warned = { warned: { 'sf-1': 'the API server cannot be reached' } }
  assert.equal(
    rollout(deployment(none), [unready], [failed(2)], warned).state,
    '0 of 2 replicas ready: sf-1: Readiness probe failed: 503; its log: the API server cannot be reached',
  )
  const unscheduled = pod({ conditions: [{ type: 'PodScheduled', status: 'False', message: 'Insufficient memory' }] })
  assert.match(stateOf(none, [unscheduled]), /sf-1 isn't scheduled: Insufficient memory$/)
  const refused = { ...none, conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'exceeded quota: q' }] }
  assert.match(stateOf(refused, []), /: exceeded quota: q$/)
  const crashed = pod({
    containerStatuses: [
      { ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 2 } } },
    ],
  })
  assert.match(stateOf(none, [crashed]), /CrashLoopBackOff: ended with exit code 2$/)
})

test('a pod that only just begins, or is ready, is no reason', () => {
  const ready = pod({ conditions: [{ type: 'Ready', status: 'True' }], containerStatuses: [{ ready: true }] })
  const { state } = rollout(deployment({ ...all, availableReplicas: 1 }), [ready, pod({})], [])
  assert.equal(state, '1 of 2 replicas ready')
})

test('of a log the last warning is told, with what it says of the cause', () => {
  const line = ({ level, ...fields }: { level: string; [field: string]: unknown }) =>
    JSON.stringify({ level, time: '2026-11-23T00:00:00Z', ...fields })
  assert.equal(lastWarning(''), undefined)
  assert.equal(lastWarning(`${line({ level: 'info', msg: 'serves' })}\nnode:internal\n{\n`), undefined)
  const lines = [
    line({ level: 'warn', msg: 'first' }),
    line({ level: 'error', msg: 'certificate not reloaded', problems: ['the key is another', 'it has expired'] }),
    line({ level: 'info', msg: 'goes on' }),
    '{"level":"warn","ms',
  ]
  assert.equal(lastWarning(lines.join('\n')), 'certificate not reloaded: the key is another')
  assert.equal(
    lastWarning(line({ level: 'fatal', msg: 'server', err: { message: `a\n${'b'.repeat(999)}` } })),
    `server: a ${'b'.repeat(289)}…`,
  )
  assert.equal(lastWarning(line({ level: 'warn', msg: '\u001b[31mred' }))?.includes('\u001b'), false)
})
