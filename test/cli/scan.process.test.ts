import assert from 'node:assert/strict'
import { test } from 'node:test'
import { run } from './process.ts'

const manifest = (containers: string) => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      containers:
${containers}`
const app = '        - {name: app, image: example/shop:1}\n'
const proxy = '        - {name: istio-proxy, image: docker.io/istio/proxyv2:1.27.0}\n'
const scan = (input: string, ...flags: string[]) => run(['scan', '-f', '-', ...flags], { input })

test('manifests are scanned without a cluster, and the line that would mend one is named', async () => {
  const { code, stdout, stderr } = await scan(manifest(app + proxy))
  assert.deepEqual([code, stderr], [0, ''])
  assert.equal(
    stdout,
    `1 workload, 1 with a known sidecar, 1 of them unguarded

shop/web  Deployment, standard input:1  istio-proxy (istio)
  today     SF901 app, then istio-proxy; nothing waits
  would     sidecar-first.dev/sidecars: istio-proxy

SF946 these are manifests: what injectors add and what really happens shows only in a cluster
`,
  )
})

test('--fail-on lets a pipeline fail, and one without known sidecars pass', async () => {
  assert.equal((await scan(manifest(app + proxy), '--fail-on', 'unguarded')).code, 1)
  assert.equal((await scan(manifest(app + proxy), '--fail-on', 'probable')).code, 0)
  assert.equal((await scan(manifest(app + proxy), '--fail-on', 'unguarded', '--preset', 'dapr')).code, 0)
  const { code, stdout } = await scan(manifest(app), '--fail-on', 'unguarded')
  assert.equal(code, 0)
  assert.match(stdout, /^1 workload, 0 with a known sidecar\n\nSF945 none of 1 workload has/)
})

test('--ignore leaves out warnings and notes, which then fail nothing, and never what is sure', async () => {
  const { code, stdout } = await scan(manifest(app + proxy), '--fail-on', 'unguarded', '--ignore', 'SF901,sf946')
  assert.deepEqual([code, stdout], [0, '1 workload, 1 with a known sidecar, none of them unguarded\n'])
  const json = JSON.parse((await scan(manifest(app + proxy), '-o', 'json', '--ignore', 'SF946')).stdout)
  assert.deepEqual([json.workloads.length, json.counts.unguarded, json.limits], [1, 1, []])
  const { stderr } = await run(['scan', '-f', '-', '--ignore', 'SF416'], { input: '' })
  assert.equal(stderr, '')
  for (const wrong of ['SF911', 'SF999']) assert.equal((await scan('', '--ignore', wrong)).code, 2)
})

test('what asks already, or is guarded, needs no line', async () => {
  const asks = manifest(app + proxy).replace(
    '    spec:\n',
    '    metadata: {annotations: {sidecar-first.dev/sidecars: istio-proxy}}\n    spec:\n',
  )
  assert.match((await scan(asks)).stdout, /would {5}SF951 /)
  const waits =
    '        - {name: istio-proxy, image: istio/proxyv2, lifecycle: {postStart: {exec: {command: [pilot-agent, wait]}}}}\n'
  assert.match(
    (await scan(manifest(waits + app))).stdout,
    /\n1 more workload is guarded, and no harm was seen: --all shows it\n/,
  )
  assert.match((await scan(manifest(waits + app), '--all')).stdout, /SF906 istio-proxy, then app; the hook/)
})

test('a wrong call and a file that cannot be read are told as such', async () => {
  assert.equal((await run(['scan', 'pod/x'])).code, 2)
  assert.equal((await scan('', '--selector', 'app=x')).code, 2)
  assert.match((await run(['scan', '--preset', 'isto', '-f', '-'])).stderr, /--preset takes istio, linkerd/)
  const broken = await scan('kind: Pod\n  x: [')
  assert.equal(broken.code, 1)
  assert.match(broken.stderr, /standard input:\d+:\d+: document 1: SF4/)
})
