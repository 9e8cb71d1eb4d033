import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Surroundings } from '../../../src/admission/pod/surroundings.ts'
import { after, app, decided, type Fields, pod, ready, specOf, warningsOf } from '../pods.ts'

const envoy = { name: 'envoy', readinessProbe: ready }
const warnings = (object: unknown, surroundings?: Surroundings) => warningsOf(decided(object, surroundings)).join('\n')

test('a check that waits for the app would deadlock, and says what to use', () => {
  const daprd = { name: 'daprd', image: 'daprio/daprd:1' }
  const object = (path: string) => pod({ sidecars: 'daprd', 'check/daprd': `http://:3500${path}` }, [app, daprd])
  assert.match(
    warnings(object('/v1.0/healthz')),
    /only answers once the app is up.*use http:\/\/:3500\/v1\.0\/healthz\/outbound/,
  )
  assert.match(warnings(object('/v1.0/healthz?x=1')), /only answers once the app is up/)
  assert.doesNotMatch(warnings(object('/v1.0/healthz/outbound')), /only answers once the app is up/)
})

test('a probe that waits for the app is replaced by what the preset knows, and the port stays', () => {
  const daprd = (path: string, port: number) => ({ name: 'daprd', readinessProbe: { httpGet: { path, port } } })
  const asked = (path: string, port: number) =>
    specOf(after(pod({ sidecars: 'daprd' }, [app, daprd(path, port)])), 'daprd').checks[0]?.check
  assert.equal(asked('/v1.0/healthz', 3501), 'http://:3501/v1.0/healthz/outbound')
  assert.equal(asked('/app-health/daprd/readyz', 15_020), 'http://:3500/v1.0/healthz/outbound')
  assert.equal(asked('/other', 3501), 'http://:3501/other')
  const sql = { name: 'cloud-sql-proxy', readinessProbe: { httpGet: { path: '/readiness', port: 9801 } } }
  const once = after(pod({ sidecars: 'cloud-sql-proxy' }, [app, sql]))
  assert.equal(specOf(once, 'cloud-sql-proxy').checks[0]?.check, 'http://:9801/startup')
  assert.deepEqual(after(once), once)
})

test('a check that a container behind the gate answers never passes, unless that one is started before', () => {
  const cache = { name: 'cache', readinessProbe: { httpGet: { path: '/ready', port: 9000 } } }
  const server = { name: 'server', ports: [{ containerPort: 9000 }], readinessProbe: ready }
  const object = (sidecars: string, more: Fields = {}) => pod({ sidecars, ...more }, [app, cache, server])
  assert.match(warnings(object('cache')), /deadlock: server answers the check of cache and starts behind it/)
  assert.match(warnings(object('cache, server')), /name server before cache/)
  assert.match(warnings(object('cache', { gate: 'native' })), /the app never starts/)
  for (const fine of ['server, cache', 'server + cache', 'cache + server']) {
    assert.doesNotMatch(warnings(object(fine)), /deadlock/, fine)
  }
  const own = { ...cache, ports: [{ containerPort: 9000 }] }
  assert.doesNotMatch(warnings(pod({ sidecars: 'cache' }, [app, own, server])), /deadlock/, 'its own port')
})

test('a timeout beyond the deadline of the workload', () => {
  const object = pod({ sidecars: 'envoy, other', timeout: '5m', 'check/other': 'tcp://:1' }, [
    app,
    envoy,
    { name: 'other' },
  ])
  const said = warnings(object, { job: false, progressDeadlineSeconds: 599 })
  assert.match(said, /600s.*progressDeadlineSeconds \(599s\)/, 'tiers add up')
  assert.doesNotMatch(warnings(object, { job: false, progressDeadlineSeconds: 600 }), /progressDeadline/)
  assert.match(
    warnings(pod({ sidecars: 'envoy' }, [app, envoy], { activeDeadlineSeconds: 30 })),
    /activeDeadlineSeconds/,
  )
  assert.match(
    warnings(pod({ sidecars: 'envoy' }, [app, envoy]), { job: true, activeDeadlineSeconds: 30 }),
    /pod is killed/,
  )
})

test('an app that waits for the same port by itself', () => {
  const waiting = (script: string): Fields & { name: string } => ({ name: 'app', command: ['sh', '-c', script] })
  const said = (script: string) => warnings(pod({ sidecars: 'envoy' }, [waiting(script), envoy]))
  assert.match(said('until wget -qO- http://localhost:8080/ready; do sleep 1; done; exec app'), /no longer needed/)
  assert.match(said('while ! nc -z 127.0.0.1 8080; do :; done'), /no longer needed/)
  assert.doesNotMatch(said('until wget http://localhost:80801/; do :; done'), /no longer needed/, 'another port')
  assert.doesNotMatch(said('exec app --upstream http://localhost:8080'), /no longer needed/, 'it only uses it')
})

test('a native sidecar starts before a mesh proxy that is none', () => {
  const proxy = { name: 'istio-proxy', lifecycle: { postStart: { exec: { command: ['pilot-agent', 'wait'] } } } }
  const object = (gate: string) => pod({ sidecars: 'envoy', gate }, [proxy, app, envoy])
  assert.match(warnings(object('native')), /envoy starts before the mesh proxy istio-proxy/)
  assert.doesNotMatch(warnings(object('hook')), /mesh proxy/)
})

test('a sidecar that is killed stays down, unless it is always restarted', () => {
  const object = (restartPolicy: string) => pod({ sidecars: 'envoy' }, [app, envoy], { restartPolicy })
  assert.match(warnings(object('Never')), /it stays down/)
  assert.match(warnings(object('OnFailure')), /it may stay down/)
  assert.doesNotMatch(warnings(object('Always')), /down/)
})
