import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { openingsTable, opensOn } from '../../../src/admission/words/openings.ts'
import { gatesOf } from '../../../src/preview/preview.ts'
import { app, decided, pod, ready } from '../pods.ts'

const marked = /(<!-- gates -->\n)[\s\S]*?(<!-- \/gates -->)/

for (const file of ['README.md', 'docs/annotations.md']) {
  test(`${file} has the table of what opens each gate as it is today`, () => {
    const url = new URL(`../../../${file}`, import.meta.url)
    const text = readFileSync(url, 'utf8')
    assert.match(text, marked)
    const wanted = text.replace(marked, `$1\n${openingsTable()}\n$2`)
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(url, wanted)
    assert.equal(readFileSync(url, 'utf8'), wanted, 'stale: UPDATE_GOLDEN=1 refreshes it')
  })
}

test('a preview says which gates a pod has, and what opens them', () => {
  const envoy = { name: 'envoy', readinessProbe: ready }
  const otel = { name: 'otel', startupProbe: ready }
  const gates = (annotations: Record<string, string>) =>
    gatesOf(decided(pod({ sidecars: 'envoy, otel', ...annotations }, [app, envoy, otel])))
  assert.deepEqual(
    gates({}).map(({ form, sidecars }) => [form, ...sidecars]),
    [['hook', 'envoy', 'otel']],
  )
  assert.ok(gates({})[0]?.opensOn.includes('it crashes'))
  const later = ["it dies while the app's image is pulled", "it isn't ready when the app starts again"]
  assert.deepEqual(
    gates({ gate: 'native' }).map(({ form, sidecars, opensOn }) => [form, sidecars, opensOn]),
    [
      ['native', ['envoy'], ['the kubelet restarts meanwhile', ...later]],
      ['startupProbe', ['otel'], ['the kubelet restarts meanwhile (not always)', ...later]],
    ],
  )
  assert.deepEqual(gates({ 'check/envoy': 'none', 'check/otel': 'none' }), [])
})

test('a lock that is emptied by an init container opens for nothing but continue', () => {
  assert.deepEqual(opensOn('lock', 'fail', { installed: true, restarts: 'always' }), [])
  assert.equal(opensOn('lock', 'fail', { installed: false, restarts: 'always' }).length, 1)
  assert.equal(opensOn('lock', 'continue', { installed: true, restarts: 'always' }).length, 1)
})

test('a lock without a lease doesn’t see a sidecar die in the pull; with one, a later start waits as long as was said', () => {
  const on = (restarts: string | undefined) => opensOn('lock', 'fail', { installed: true, restarts })
  assert.deepEqual(on(undefined), [
    "it dies while the app's image is pulled",
    "it isn't ready when the app starts again",
  ])
  assert.deepEqual(on('0s'), ["it isn't ready when the app starts again"])
  assert.deepEqual(on('5s'), ["it isn't ready within 5s when the app starts again"])
})

test('a later start is told where there can be one, and no gate where nothing is behind it', () => {
  const envoy = { name: 'envoy', readinessProbe: ready }
  const otel = { name: 'otel', readinessProbe: ready }
  const laterIn = (
    annotations: Record<string, string>,
    spec: Parameters<typeof pod>[2],
    ...containers: Parameters<typeof pod>[1]
  ) =>
    gatesOf(decided(pod({ sidecars: 'envoy', ...annotations }, containers, spec))).map(({ sidecars, opensOn }) => [
      sidecars.join(),
      opensOn.filter((each) => each.startsWith("it isn't ready when")).join(),
    ])
  const again = "it isn't ready when the app starts again"
  const another = "it isn't ready when a later container starts"
  const never = { restartPolicy: 'Never' }
  for (const gate of ['hook', 'native']) {
    assert.deepEqual(laterIn({ gate }, {}, app, envoy), [['envoy', again]])
    assert.deepEqual(laterIn({ gate }, never, app, envoy), [['envoy', '']])
    assert.deepEqual(laterIn({ gate }, never, { ...app, restartPolicy: 'Always' }, envoy), [['envoy', again]])
    assert.deepEqual(laterIn({ gate }, never, app, { ...app, name: 'second' }, envoy), [['envoy', another]])
  }
  assert.deepEqual(laterIn({ sidecars: 'envoy, otel' }, {}, otel, envoy), [['envoy', again]])
  assert.deepEqual(laterIn({ sidecars: 'envoy + otel' }, {}, otel, envoy), [])
})
