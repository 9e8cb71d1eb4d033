import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { scan as command } from '../../src/cli/scan.ts'
import { run, runWith } from './inside.ts'

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
const scan = (input: string, ...flags: string[]) => runWith(input, command, '-f', '-', ...flags)

test('manifests are scanned without a cluster, and the line that would mend one is named', async () => {
  const { code, stdout, stderr } = await scan(manifest(app + proxy))
  assert.deepEqual([code, stderr], [0, ''])
  assert.equal(
    stdout,
    `1 workload, 1 with a known sidecar, 1 of them unguarded

shop/web  Deployment, standard input:1  istio-proxy (istio)
  today     SF901 app, then istio-proxy; nothing waits
  would     sidecar-first.dev/sidecars: istio-proxy
            check.sidecar-first.dev/istio-proxy: http://:15021/healthz/ready

SF946 these are manifests: what injectors and the webhook do, and what really happens, shows only in a cluster
`,
  )
})

test('a sidecar of one’s own is scanned like a known one', async () => {
  const cache = '        - {name: cache, image: example/cache:1, ports: [{containerPort: 6379}]}\n'
  const { code, stdout } = await scan(manifest(app + cache), '--sidecar', 'cache', '--fail-on', 'unguarded')
  assert.equal(code, 1)
  assert.match(stdout, /1 with a known sidecar, 1 of them unguarded\n\nshop\/web .* cache \(own\)\n/)
  assert.match(stdout, /SF901 app, then cache; nothing waits\n {2}would {5}sidecar-first\.dev\/sidecars: cache\n/)
  assert.match(stdout, /check\.sidecar-first\.dev\/cache: tcp:\/\/:6379 {3}\(if the sidecar is configured for it\)/)
  assert.match((await scan(manifest(app + cache))).stdout, /0 with a known sidecar/)
  for (const wrong of ['', 'a,b', '-x', 'UPPER', 'x'.repeat(64)]) {
    const { code, stderr } = await scan('', `--sidecar=${wrong}`)
    assert.equal(code, 2, stderr)
  }
})

test('--fix writes the lines into the manifests below a folder, and says so; --exclude leaves some out', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-fix-'))
  after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'web.yaml')
  await writeFile(file, manifest(app + proxy))
  const { code, stdout } = await run(command, '-f', file, '--fix', folder)
  assert.match(
    stdout,
    /\n\nSF961 .*web\.yaml:1: Deployment shop\/web: added sidecar-first\.dev\/sidecars: istio-proxy, check/,
  )
  assert.equal(code, 0)
  const fixedText = await readFile(file, 'utf8')
  assert.match(fixedText, /sidecar-first\.dev\/sidecars: istio-proxy\n/)
  const left = await scan(manifest(app + proxy), '--fix', folder, '--exclude', 'web.yaml')
  assert.equal(left.code, 2, left.stderr)
  const again = await scan(manifest(app + proxy), '--fix', folder)
  assert.match(again.stdout, /SF962 .* has its lines already/)
  assert.equal(await readFile(file, 'utf8'), fixedText)
  const nowhere = await scan('', '--fix', file)
  assert.match(nowhere.stderr, /--fix takes a folder/)
  assert.equal((await scan('', '--fix', folder, '-o', 'json')).code, 2)
})

test('--fail-on lets a pipeline fail, and one without known sidecars pass', async () => {
  assert.equal((await scan(manifest(app + proxy), '--fail-on', 'unguarded')).code, 1)
  assert.equal((await scan(manifest(app + proxy), '--fail-on', 'probable')).code, 0)
  assert.equal((await scan(manifest(app + proxy), '--fail-on', 'unguarded', '--preset', 'dapr')).code, 0)
  const { code, stdout } = await scan(manifest(app), '--fail-on', 'unguarded')
  assert.equal(code, 0)
  assert.match(stdout, /^1 workload, 0 with a known sidecar\n\nSF945 the workload has no sidecar/)
})

test('--ignore leaves out warnings and notes, which then fail nothing, and never what is sure', async () => {
  const { code, stdout } = await scan(manifest(app + proxy), '--fail-on', 'unguarded', '--ignore', 'SF901,sf946')
  assert.deepEqual([code, stdout], [0, '1 workload, 1 with a known sidecar, none of them unguarded\n'])
  const json = JSON.parse((await scan(manifest(app + proxy), '-o', 'json', '--ignore', 'SF946')).stdout)
  assert.deepEqual([json.workloads.length, json.counts.unguarded, json.limits], [1, 1, []])
  const { stderr } = await scan('', '--ignore', 'SF416')
  assert.equal(stderr, '')
  for (const wrong of ['SF911', 'SF999']) assert.equal((await scan('', '--ignore', wrong)).code, 2)
})

const probed =
  '        - {name: istio-proxy, image: istio/proxyv2, readinessProbe: {httpGet: {path: /ready, port: 15021}}}\n'
const asking = (annotations: string, containers = app + probed) =>
  manifest(containers).replace('    spec:\n', `    metadata: {annotations: {${annotations}}}\n    spec:\n`)
const sidecars = 'sidecar-first.dev/sidecars: istio-proxy'

test('a manifest that asks is judged by what the webhook would make of it', async () => {
  const { code, stdout } = await scan(asking(sidecars), '--fail-on', 'unguarded')
  assert.deepEqual(
    [code, stdout.split('\n').filter(Boolean)],
    [
      0,
      [
        '1 workload, 1 with a known sidecar, none of them unguarded, 1 guarded only once the webhook patches it',
        'SF946 these are manifests: what injectors and the webhook do, and what really happens, shows only in a cluster',
        '1 more workload is guarded, or asks for it: --all shows it',
      ],
    ],
  )
  assert.match(
    (await scan(asking(sidecars), '--all')).stdout,
    /today {5}SF909 istio-proxy, then app, once the webhook patches it: the manifest or a rule asks for that\n\n/,
  )
  const json = JSON.parse((await scan(asking(sidecars), '-o', 'json')).stdout)
  assert.deepEqual(
    [json.counts.asks, json.workloads[0].standing, json.workloads[0].mend.kind],
    [1, 'asks', 'nothing-to-mend'],
  )
})

test('a manifest that asks for something else, or for what cannot be done, is still unguarded', async () => {
  const other = '        - {name: cache, image: example/cache:1}\n'
  const wrong: readonly (readonly [manifest: string, says: RegExp])[] = [
    [asking('sidecar-first.dev/sidecars: cache', app + probed + other), /SF953 .* wouldn't wait for istio-proxy/],
    [asking('sidecar-first.dev/sidecars: istio'), /SF953 .* wouldn't wait for istio-proxy: none of the named/],
    [
      asking(`${sidecars}, check.sidecar-first.dev/istio-proxy: nonsense`),
      /SF953 .* wouldn't wait for istio-proxy: SF\d+ /,
    ],
    [asking(`${sidecars}, sidecar-first.dev/inject: "false"`), /SF901 /],
    [asking(`${sidecars}, check.sidecar-first.dev/istio-proxy: none`), /SF901 /],
    [
      asking(
        'sidecar-first.dev/sidecars: "app, istio-proxy"',
        probed + app.replace('}', ', readinessProbe: {tcpSocket: {port: 80}}}'),
      ),
      /SF953 .* wouldn't wait for istio-proxy/,
    ],
  ]
  for (const [input, says] of wrong) {
    const { code, stdout } = await scan(input, '--fail-on', 'unguarded')
    assert.equal(code, 1, stdout)
    assert.match(stdout, says)
  }
})

test('with --config, manifests that its rules concern are judged by them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-scan-'))
  after(() => rm(folder, { recursive: true }))
  const config = join(folder, 'configuration.yaml')
  const rules = (rule: string) =>
    writeFile(config, `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules: [${rule}]\n`)
  const judged = async (containers: string) => {
    const { code, stdout } = await scan(
      manifest(containers),
      ...['--config', config, '-o', 'json', '--fail-on', 'unguarded'],
    )
    const { workloads } = JSON.parse(stdout)
    return [code, workloads[0].standing, workloads[0].mend.kind]
  }
  await rules('{name: mesh, match: {preset: istio}}')
  assert.deepEqual(await judged(app + probed), [0, 'asks', 'nothing-to-mend'])
  const sql = '        - {name: cloud-sql-proxy, image: gcr.io/cloud-sql-connectors/cloud-sql-proxy:2.18.0}\n'
  assert.deepEqual(await judged(app + sql), [1, 'unguarded', 'lines'])
  // The manifests are of the namespace shop.
  const only = (namespace: string) => `namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ${namespace}}}`
  await rules(`{name: mesh, match: {preset: istio, ${only('shop')}}}`)
  assert.deepEqual(await judged(app + probed), [0, 'asks', 'nothing-to-mend'])
  await rules(`{name: mesh, match: {preset: istio, ${only('other')}}}`)
  assert.deepEqual(await judged(app + probed), [1, 'unguarded', 'lines'])
  // What a rule asks for, and doesn't get.
  await rules('{name: mesh, match: {preset: istio}, check: none}')
  assert.deepEqual(await judged(app + probed), [1, 'unguarded', 'asked-otherwise'])
  await writeFile(config, 'kind: nonsense\n')
  assert.equal((await scan(manifest(app), '--config', config)).code, 1)
  const { code, stderr } = await run(command, '--config', config)
  assert.equal(code, 2)
  assert.match(stderr, /--config goes with -f/)
})

test('of what an injector is still to add for a manifest that asks, nothing is said to be missing', async () => {
  const injected = (annotations: string) =>
    asking(annotations, app).replace('metadata: {annot', 'metadata: {labels: {sidecar.istio.io/inject: "true"}, annot')
  const right = await scan(injected(sidecars), '--fail-on', 'unguarded')
  assert.equal(right.code, 0)
  assert.match(right.stdout, /SF905 its injector adds istio-proxy/)
  assert.doesNotMatch(right.stdout, /SF953/)
  assert.match(
    (await scan(injected('sidecar-first.dev/sidecars: istio'))).stdout,
    /SF953 .* wouldn't wait for istio-proxy: none of the named/,
  )
  assert.match(
    (await scan(injected(`${sidecars}, sidecar-first.dev/gate: nonsense`))).stdout,
    /SF953 .* wouldn't wait for istio-proxy: SF\d+ /,
  )
})

test('what is guarded needs no line', async () => {
  const waits =
    '        - {name: istio-proxy, image: istio/proxyv2, lifecycle: {postStart: {exec: {command: [pilot-agent, wait]}}}}\n'
  assert.match((await scan(manifest(waits + app))).stdout, /\n1 more workload is guarded: --all shows it\n/)
  assert.match((await scan(manifest(waits + app), '--all')).stdout, /SF906 istio-proxy, then app; the hook/)
})

test('a wrong call and a file that cannot be read are told as such', async () => {
  assert.equal((await run(command, 'pod/x')).code, 2)
  assert.equal((await scan('', '--selector', 'app=x')).code, 2)
  assert.match((await run(command, '--preset', 'isto', '-f', '-')).stderr, /--preset takes istio, linkerd/)
  const broken = await scan('kind: Pod\n  x: [')
  assert.equal(broken.code, 1)
  assert.match(broken.stderr, /standard input:\d+:\d+: document 1: SF4/)
})
