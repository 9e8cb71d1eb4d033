import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type StartFlags, type StartRequest, startRequest } from '../../../rollouts/client/request.ts'

const least = { selector: 'app=shop', container: 'envoy', image: 'example/envoy:2.1' }
/** As it is sent. */
const request = (more: StartFlags = {}): StartRequest =>
  JSON.parse(JSON.stringify(startRequest({ ...least, ...more }, 'prod')))

test('the least that is said: what is left out is left to the schema, but start always starts', () => {
  assert.deepEqual(request(), {
    apiVersion: 'sidecar-first.dev/v1alpha1',
    kind: 'SidecarRollout',
    metadata: { name: 'shop-envoy', namespace: 'prod' },
    spec: {
      selector: { matchLabels: { app: 'shop' } },
      container: 'envoy',
      image: 'example/envoy:2.1',
      strategy: { partition: 0, paused: false, rest: 'base' },
    },
  })
})

test('all that can be said', () => {
  const all = request({
    name: 'mine',
    partition: '90%',
    'max-unavailable': '3',
    'min-ready-seconds': '0',
    'bake-seconds': '30',
    judge: 'Sidecar',
    deadline: '5m',
    'on-failure': 'rollback',
    'max-failures': '10%',
  })
  assert.equal(all.metadata.name, 'mine')
  assert.deepEqual(all.spec.strategy, {
    partition: '90%',
    paused: false,
    rest: 'base',
    maxFailures: '10%',
    maxUnavailable: 3,
    minReadySeconds: 0,
    bakeSeconds: 30,
    judge: 'Sidecar',
    progressDeadlineSeconds: 300,
    onFailure: 'rollback',
  })
})

test('a name is made of what the labels say', () => {
  const name = (selector: string) => request({ selector }).metadata.name
  assert.equal(name('app=Shop_1,tier=web'), 'shop-1-web-envoy')
  assert.equal(name('tier in (a, b)'), 'envoy')
  assert.equal(name('app='), 'envoy')
})

const wrong: readonly [flags: StartFlags, message: RegExp][] = [
  [{ selector: undefined }, /^start needs --selector: /],
  [{ container: '' }, /^start needs --container: /],
  [{ image: undefined }, /^start needs --image: /],
  [{ selector: 'app=a b' }, /^--selector: "app=a b" is not a label requirement/],
  [{ container: 'Envoy' }, /^--container takes .* not "Envoy"/],
  [{ image: 'envoy 2' }, /^--image takes /],
  [{ image: 'envoy@sha256:12' }, /^--image takes /],
  [{ image: 'Example/Envoy:1' }, /^--image takes /],
  [{ image: 'a:1:2' }, /^--image takes /],
  [{ image: 'a/b:' }, /^--image takes /],
  [{ 'max-failures': '-1' }, /^--max-failures takes /],
  [{ name: 'No' }, /^--name takes /],
  [{ partition: '101%' }, /^--partition takes /],
  [{ partition: '-1' }, /^--partition takes /],
  [{ partition: '1.5' }, /^--partition takes /],
  [{ 'max-unavailable': '0' }, /^--max-unavailable takes /],
  [{ 'max-unavailable': '0%' }, /^--max-unavailable takes /],
  [{ 'bake-seconds': '-1' }, /^--bake-seconds takes /],
  [{ judge: 'pod' }, /^--judge takes Pod or Sidecar, not "pod"/],
  [{ 'min-ready-seconds': '1m' }, /^--min-ready-seconds takes /],
  [{ deadline: '300' }, /^--deadline: "300" is not a duration/],
  [{ deadline: '8d' }, /^--deadline: "8d" is out of range/],
  [{ deadline: '10s' }, /^--deadline .* must be more than --min-ready-seconds/],
  [{ 'min-ready-seconds': '300' }, /^--deadline .* must be more than --min-ready-seconds/],
  [{ 'on-failure': 'stop' }, /^--on-failure takes pause or rollback, not "stop"/],
]
for (const [flags, message] of wrong) {
  test(`refused: ${JSON.stringify(flags)}`, () => assert.throws(() => request(flags), { message }))
}
