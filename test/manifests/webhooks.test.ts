import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { readConfiguration } from '../../src/configuration/read.ts'
import { version } from '../../src/version.ts'
import { installModes, webhookConfigurations } from '../../src/webhooks/configurations.ts'

const manifests = join(import.meta.dirname, '../../manifests')
const read = (path: string) => readFile(join(manifests, path), 'utf8')

for (const mode of installModes) {
  test(`${mode}: webhooks.yaml is what \`config --webhooks\` makes of configuration.yaml`, async () => {
    const text = parse(await read(`overlays/${mode}/configuration.yaml`)).data['config.yaml']
    const configuration = readConfiguration(text, version)
    assert.ok(configuration.ok)
    const endpoint = { service: 'sidecar-first', port: 443 }
    const made = webhookConfigurations(configuration.configuration, text, {
      mode,
      namespace: 'sidecar-first',
      endpoint,
    })
    const written = parseAllDocuments(await read(`overlays/${mode}/webhooks.yaml`)).map((document) => document.toJS())
    assert.deepEqual(written, [made.mutating, made.validating, made.workloads])
  })
}

test("cluster-wide: annotations can't have commands run in other people's sidecars", async () => {
  const text = parse(await read('overlays/cluster-wide/configuration.yaml')).data['config.yaml']
  const configuration = readConfiguration(text, version)
  assert.ok(configuration.ok)
  const { checks } = configuration.configuration.annotations
  assert.deepEqual([...checks].toSorted(), ['file', 'grpc', 'http', 'https', 'none', 'probe', 'tcp', 'unix'])
})

test('the images are of this version', async () => {
  const images = await Promise.all(
    ['base/serve.yaml', 'base/certs.yaml', 'optional/preview/preview.yaml'].map(
      async (path) => /image: (\S+)/.exec(await read(path))?.[1],
    ),
  )
  assert.deepEqual(new Set(images), new Set([`docker.io/sidecar-first/sidecar-first:${version}`]))
})
