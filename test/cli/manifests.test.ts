import assert from 'node:assert/strict'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { inject } from '../../src/cli/inject.ts'
import { preview } from '../../src/cli/preview.ts'
import { scan } from '../../src/cli/scan.ts'
import { run, runWith } from './inside.ts'

const deployment = (name: string, containers: readonly object[] | string, annotations = {}) =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop' },
    spec: { template: { metadata: { annotations }, spec: { containers } } },
  })
const app = { name: 'app', image: 'example/shop:1' }
const proxy = { name: 'istio-proxy', image: 'docker.io/istio/proxyv2:1.27.0' }
const sidecars = 'sidecar-first.dev/sidecars'
const optedOut = `---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {sidecar-first.dev/injection: disabled}}
`

async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'sidecar-first-scan-'))
  after(() => rm(made, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(made, name), text)
  return made
}

test('a Namespace that opted out counts in whatever file it is: for preview, inject and scan', async () => {
  const web = deployment('web', [app, proxy], { [sidecars]: 'istio-proxy' })
  const silent = deployment('silent', [app, proxy])
  const both = await folder({ 'a.yaml': `${web}\n---\n${silent}\n`, 'b.yaml': optedOut })
  assert.match(
    (await run(preview, both)).stdout,
    /Deployment shop\/web .*: skipped\n +the API server does not send pods of its/,
  )
  assert.doesNotMatch((await run(inject, both)).stdout, /sidecar-first-waiter/)
  const { stdout } = await run(scan, '-f', both)
  assert.match(stdout, /2 of them unguarded/)
  assert.match(
    stdout,
    /shop\/web [\s\S]*SF952 no annotation would mend it: the API server does not send pods of its namespace/,
  )
  assert.match(stdout, /shop\/silent [\s\S]*SF952 no annotation would mend it: the API server does not send pods/)
  const { code } = await run(scan, '-f', both, '--fix', both)
  assert.equal(code, 0)
})

test('a pod template that can’t be read is told, and fails a scan', async () => {
  const { stdout, code } = await runWith(deployment('web', 'app'), scan, '-f', '-', '--fail-on', 'unguarded')
  assert.match(stdout, /SF969 standard input:1: Deployment shop\/web was not looked at: SF\d{3} .*containers/)
  assert.equal(code, 1)
})

test('a --sidecar that nothing has is told', async () => {
  const { stdout } = await runWith(
    deployment('web', [app, proxy]),
    scan,
    '-f',
    '-',
    '--sidecar',
    'nope',
    '--sidecar',
    'app',
  )
  assert.match(stdout, /SF970 no container is called nope \(--sidecar\)/)
  assert.doesNotMatch(stdout, /called app/)
})

test('a file is one, however many links lead to it', async () => {
  const made = await folder({ 'web.yaml': deployment('web', [app, proxy]) })
  await symlink('web.yaml', join(made, 'link.yaml'))
  const { stdout } = await run(scan, '-f', made, '--fix', made)
  assert.deepEqual(
    stdout.match(/^SF961 .*$/gm)?.map((line) => /(\w+)\.yaml/.exec(line)?.[1]),
    ['web'],
  )
})

test('what is asked for twice is written once', async () => {
  const made = await folder({ 'web.yaml': deployment('web', [app, proxy]) })
  const twice = `${deployment('web', [app, proxy])}\n---\n${deployment('web', [app, proxy])}`
  const { stdout } = await runWith(twice, scan, '-f', '-', '--fix', made)
  assert.equal(stdout.match(/^SF961 /gm)?.length, 1)
})

test('inject --suggest goes on with the others where an object is refused, and ends with 1', async () => {
  const wrong = deployment('wrong', [app, proxy], { [sidecars]: 'istio-proxyy' })
  const { stdout, stderr, code } = await runWith(
    `${wrong}\n---\n${deployment('web', [app, proxy])}\n`,
    inject,
    '--suggest',
  )
  assert.equal(code, 1)
  assert.match(stderr, /Deployment shop\/wrong is refused: SF173/)
  assert.match(stderr, /Deployment shop\/web: added sidecar-first\.dev\/sidecars: istio-proxy/)
  assert.match(
    stdout,
    /"?sidecar-first\.dev\/sidecars"?: ?"istio-proxyy"[\s\S]*"?sidecar-first\.dev\/sidecars"?: ?"istio-proxy"/,
  )
})
