import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, type TestContext, test } from 'node:test'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { run } from '../cli/process.ts'
import { heard } from '../heard.ts'
import { SECOND, until } from '../until.ts'
import { createConfigurations, names, observer, prepare, replicaHosts } from './fixture.ts'
import { end, startReplica } from './replica.ts'

let api: ApiServer
let admin: ReturnType<typeof observer>
before(async () => {
  api = await startApiServer()
  await prepare(api, replicaHosts)
  await createConfigurations(api)
  admin = observer(api)
})
after(() => api.stop())

/** The command to its end: exit code and all that it wrote. */
async function certs(kubeconfig: string, ...args: string[]) {
  const { code, stdout, stderr } = await run(['certs', ...args], { env: { KUBECONFIG: kubeconfig } })
  return { code, out: stdout + stderr }
}

async function startRun(t: TestContext) {
  const child = spawn(process.execPath, ['src/main.ts', 'certs', 'run', '--settle', '2s', '--metrics-port', '0'], {
    env: { ...process.env, KUBECONFIG: api.kubeconfigFile('certs') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => end(child))
  const out = heard(child)
  const port = await until('the port', 20 * SECOND, async () => /"port":(\d+)/.exec(out())?.[1])
  return { child, url: `http://127.0.0.1:${port}`, out }
}

test('status on an empty cluster says what is wrong, and how to mend it', async () => {
  const { code, out } = await certs(api.kubeconfigFile('admin'), 'status', '--via', 'direct')
  assert.equal(code, 1, out)
  assert.match(out, /the Secret is missing: .*certs once/)
})

test('rotate without a Secret says so', async () => {
  const { code, out } = await certs(api.kubeconfigFile('admin'), 'rotate', 'ca')
  assert.deepEqual([code, /there is no Secret/.test(out)], [1, true], out)
})

test('once makes certificates and ends; a second time it finds them and changes nothing', async () => {
  const first = await certs(api.kubeconfigFile('certs'), 'once', '--settle', '2s')
  assert.equal(first.code, 0, first.out)
  const { secret, covered } = await admin.now()
  assert.ok(covered)
  const second = await certs(api.kubeconfigFile('certs'), 'once', '--settle', '2s')
  assert.equal(second.code, 0, second.out)
  assert.equal((await admin.now()).secret?.version, secret?.version)
  for (const { out } of [first, second]) assert.doesNotMatch(out, /PRIVATE/)
})

test('run, status, rotate: what is served is seen by handshakes, metrics tell the phase, SIGTERM ends it', async (t) => {
  const running = await startRun(t)
  const replicas = await Promise.all(
    replicaHosts.map((host, i) => startReplica({ cluster: admin.cluster, host, delay: i * 2 * SECOND })),
  )
  t.after(() => Promise.all(replicas.map((replica) => replica.stop())))
  const status = () => certs(api.kubeconfigFile('admin'), 'status', '--via', 'direct')

  const well = await status()
  console.log(well.out)
  assert.equal(well.code, 0, well.out)
  assert.match(well.out, /10\.99\.0\.2:8443: the Secret's leaf, 29 days left/)
  assert.match(well.out, /^CA .*│/m)

  const leaf = (await admin.now()).secret?.data['tls.crt']
  const asked = await certs(api.kubeconfigFile('admin'), 'rotate', 'leaf')
  assert.equal(asked.code, 0, asked.out)
  await until('a new leaf', 20 * SECOND, async () => (await admin.now()).secret?.data['tls.crt'] !== leaf)
  await until('both replicas with it', 20 * SECOND, async () => {
    const { out } = await status()
    return out.match(/the Secret's leaf/g)?.length === 2
  })

  const metrics = await (await fetch(`${running.url}/metrics`)).text()
  assert.match(metrics, /sidecar_first_certs_phase\{phase="(steady|switching)"\} 1/)
  assert.match(metrics, /sidecar_first_certs_leader 1/)
  assert.match(metrics, /sidecar_first_certs_days_left\{certificate="leaf"\} (29\.9|30)/)
  assert.match(metrics, /sidecar_first_certs_steps_total\{step="issue",reason="asked"\} 1/)
  assert.match(metrics, /sidecar_first_certs_failures_total\{kind="forbidden"\} 0/)
  assert.equal((await fetch(`${running.url}/healthz`)).status, 200)
  assert.equal((await fetch(`${running.url}/nothing`)).status, 404)

  await replicas[0]?.stop()
  const broken = await status()
  assert.equal(broken.code, 1, broken.out)
  assert.match(broken.out, /10\.99\.0\.2:8443 did not answer a handshake/)

  const gone = once(running.child, 'exit')
  running.child.kill('SIGTERM')
  assert.deepEqual(await gone, [0, null])
  assert.doesNotMatch(running.out(), /PRIVATE/)
  assert.equal((await admin.lease.read())?.holder, '')
})

test('the service account may do nothing but what `certs run` does', async () => {
  await api.kubectl(['create', 'secret', 'generic', 'other', '-n', names.namespace])
  const kubeconfig = `--kubeconfig=${api.kubeconfigFile('certs')}`
  const inside = ['-n', names.namespace]
  const forbidden = [
    ['get', 'secret', 'other', ...inside],
    ['get', 'secrets', ...inside],
    ['delete', 'secret', names.secret, ...inside],
    ['get', 'pods', ...inside],
    ['get', 'secrets', '-n', 'kube-system'],
    ['get', 'mutatingwebhookconfigurations'],
    ['delete', 'mutatingwebhookconfiguration', names.mutating],
    ['create', 'namespace', 'more'],
    ['get', 'nodes'],
  ]
  for (const args of forbidden) {
    await assert.rejects(api.kubectl([kubeconfig, ...args]), /Forbidden|forbidden/, args.join(' '))
  }
  await api.kubectl([kubeconfig, 'get', 'secret', names.secret, ...inside])
})

test('under cert-manager status judges only whether calls succeed, and rotate says who renews', async () => {
  const annotate = (value: string) =>
    api.kubectl([
      'annotate',
      '--overwrite',
      'mutatingwebhookconfiguration',
      names.mutating,
      `cert-manager.io/inject-ca-from${value}`,
    ])
  await annotate('=sidecar-first/sidecar-first')
  try {
    const { out } = await certs(api.kubeconfigFile('admin'), 'status', '--via', 'direct')
    assert.match(out, /^Phase: kept by cert-manager\n/)
    assert.doesNotMatch(out, /certs once|differs from|next CA/)
    const before = (await admin.now()).secret
    const rotate = await certs(api.kubeconfigFile('admin'), 'rotate', 'leaf')
    assert.deepEqual([rotate.code, /cert-manager keeps this certificate/.test(rotate.out)], [1, true], rotate.out)
    assert.equal((await admin.now()).secret?.version, before?.version)
  } finally {
    await annotate('-')
  }
})
