import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { type Check, formatCheck, parseCheck } from '../../../src/admission/check/grammar.ts'
import { imageTexts, matchesImage } from '../../../src/admission/intent/glob.ts'
import { presetOf, presets } from '../../../src/admission/intent/presets.ts'
import { presetsPage } from './presets-page.ts'

test('the sidecars that were promised are there, each under a name of its own', () => {
  const names = presets.map(({ name }) => name)
  assert.deepEqual(names.toSorted(), [
    'cloud-sql-proxy',
    'consul-dataplane',
    'dapr',
    'envoy',
    'fluent-bit',
    'istio',
    'kuma',
    'linkerd',
    'opentelemetry-collector',
    'vault-agent',
  ])
  for (const name of names) assert.equal(presetOf(name)?.name, name)
  assert.equal(presetOf('Istio'), undefined)
  const containers = presets.flatMap((preset) => preset.containers)
  assert.equal(new Set(containers).size, containers.length, 'two presets claim one container')
})

for (const preset of presets) {
  test(`${preset.name}: its checks are ones that people can write`, () => {
    const checks: readonly (Check | undefined)[] = [
      preset.check,
      preset.explicit,
      ...preset.deadlocks.map(({ instead }) => instead),
    ]
    for (const check of checks) {
      if (check !== undefined) assert.deepEqual(parseCheck(formatCheck(check)), { ok: true, value: check })
    }
  })

  test(`${preset.name}: no check of its own is a deadlock`, () => {
    const paths = new Set(preset.deadlocks.map(({ path }) => path))
    for (const check of [preset.check, preset.explicit, ...preset.deadlocks.map(({ instead }) => instead)]) {
      assert.ok(check === undefined || !('path' in check) || !paths.has(check.path))
    }
  })

  test(`${preset.name}: says where it is from, in whole sentences`, () => {
    assert.match(preset.source, /^https:\/\/\S+$/)
    assert.ok(preset.traps.length > 0)
    for (const trap of preset.traps) assert.match(trap, /^[^\n|]+\.$/)
    assert.doesNotMatch(preset.ready, /\.$|\n/)
  })
}

const known: readonly [string, readonly string[]][] = [
  ['example.com/istio/proxyv2:1.27.1-distroless', ['istio']],
  ['istio/proxyv2@sha256:0123', ['istio']],
  ['mirror.local:5000/linkerd/proxy:edge-25.8.5', ['linkerd']],
  ['hashicorp/consul-dataplane:1.8.0', ['consul-dataplane']],
  ['kumahq/kuma-dp:2.11.0', ['kuma']],
  ['hashicorp/vault:1.21.1', ['vault-agent']],
  ['example.com/cloud-sql-connectors/cloud-sql-proxy:2.27.0', ['cloud-sql-proxy']],
  ['envoyproxy/envoy:distroless-v1.36.0', ['envoy']],
  ['otel/opentelemetry-collector-contrib:0.140.0', ['opentelemetry-collector']],
  ['fluent/fluent-bit:4.1.0', ['fluent-bit']],
  ['daprio/daprd:1.16.1', ['dapr']],
  ['envoyproxy/gateway:v1.5.0', []],
  ['hashicorp/vault-k8s:1.7.0', []],
  ['example.com/shop/daprd-client:1', []],
]
for (const [image, names] of known) {
  test(`the image ${image} is ${names[0] ?? "nobody's"}`, () => {
    const found = presets.filter(({ images }) => images.some((glob) => matchesImage(glob, imageTexts(image))))
    assert.deepEqual(
      found.map(({ name }) => name),
      names,
    )
  })
}

test('mesh proxies start before everything else', () => {
  const mesh = presets.filter(({ meshProxy }) => meshProxy)
  assert.deepEqual(mesh.flatMap(({ containers }) => containers).toSorted(), [
    'consul-dataplane',
    'istio-proxy',
    'kuma-sidecar',
    'linkerd-proxy',
  ])
  const others = presets.filter(({ meshProxy }) => !meshProxy)
  assert.ok(Math.max(...mesh.map(({ tier }) => tier)) < Math.min(...others.map(({ tier }) => tier)))
})

test('docs/presets.md says what the presets say', async () => {
  const file = new URL('../../../docs/presets.md', import.meta.url)
  const page = presetsPage()
  if (process.env.UPDATE_GOLDEN) await writeFile(file, page)
  assert.equal(await readFile(file, 'utf8'), page, 'stale: UPDATE_GOLDEN=1 refreshes it')
})
