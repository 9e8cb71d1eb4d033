import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { issueAuthority, issueLeaf, serviceNames } from '../../certs/x509.ts'
import { paste, run } from '../cli/process.ts'
import { create, createNamespace, deleteNamespaces, kubectl, tryCreate, until } from '../cluster/cluster.ts'
import { forwardsAreCreated } from '../cluster/kubernetes.ts'
import { app, type Container, getLog, markOf, pod, podSpec, sidecar } from '../cluster/pod.ts'
import {
  installed,
  namespace,
  ordered,
  rolledOut,
  startServe,
  stopCerts,
  stopServe,
} from '../cluster-install/installation.ts'

const main = join(import.meta.dirname, '../../src/main.ts')

type Finding = { check: string; level: 'ok' | 'warning' | 'problem'; text: string; next?: string }

const shop = 'check-shop'
const plain = 'check-plain'
const mutating = 'mutatingwebhookconfiguration/zz-sidecar-first'
const readinessProbe = { httpGet: { path: '/ready', port: 15021 } }
const containers: readonly Container[] = [
  app(),
  sidecar('sidecar', { HTTP: ':15021', READY_AFTER: '1s' }, { readinessProbe }),
]
const annotations = { 'sidecar-first.dev/sidecars': 'sidecar' }
const labels = { app: 'web' }
const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'

const deployment = (home: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: home },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels, annotations }, spec: podSpec(containers) },
  },
})

/** What `sidecar-first check` finds, and its exit code. */
async function check(...args: readonly string[]): Promise<{ code: number; findings: Finding[] }> {
  const ended = await run(['check', '-o', 'json', ...args])
  assert.equal(ended.stderr, '')
  return { code: ended.code, findings: JSON.parse(ended.stdout).findings }
}

/** The finding that says this; fails with all of them. */
function found(findings: readonly Finding[], level: Finding['level'], says: RegExp): Finding {
  const one = findings.find((each) => each.level === level && says.test(each.text))
  return (
    one ?? assert.fail(`no ${level} ${says} among\n${findings.map((each) => `${each.level} ${each.text}`).join('\n')}`)
  )
}

const troubles = (findings: readonly Finding[]) => findings.filter(({ level }) => level !== 'ok')

const podsIn = (home: string, selector = '') =>
  kubectl('get', 'pods', '-n', home, '-l', selector, '-o', 'jsonpath={.items[*].metadata.name}')

/** Writes another configuration to the ConfigMap. */
async function configure(text: string): Promise<void> {
  const patch = JSON.stringify({ data: { 'config.yaml': text } })
  await kubectl('patch', 'configmap', '-n', namespace, 'sidecar-first', '--type=merge', '-p', patch)
}

describe('check and timeline on a real node', () => {
  let standard = ''
  before(async () => {
    await installed()
    standard = await kubectl(
      'get',
      'configmap',
      '-n',
      namespace,
      'sidecar-first',
      '-o',
      'jsonpath={.data.config\\.yaml}',
    )
    await createNamespace(shop, { 'sidecar-first.dev/injection': 'enabled' })
    await createNamespace(plain)
    await create(deployment(shop))
    await create(pod(plain, 'unlabelled', containers, { annotations }))
    await create(
      pod(shop, 'opted-out', containers, { annotations: { ...annotations, 'sidecar-first.dev/inject': 'false' } }),
    )
    await kubectl('rollout', 'status', '-n', shop, 'deploy/web', '--timeout=180s')
  })
  after(async () => {
    await run(['uninstall'])
    await deleteNamespaces(shop, plain)
  })

  test('finds nothing wrong with a healthy installation, but the pod that asks in an unlabelled namespace', async () => {
    const { code, findings } = await check()
    const [only, ...others] = troubles(findings)
    assert.deepEqual(others, [])
    assert.match(only?.text ?? '', /Pod check-plain\/unlabelled should start sidecar, before app, but the namespace/)
    assert.equal(code, 0)
    found(findings, 'ok', /every ready replica serves what the API server trusts/)
    found(findings, 'ok', /comes back patched/)
    found(findings, 'ok', / 2 are in order and 1 ask for nothing/)
    assert.equal(await podsIn(namespace, 'app.kubernetes.io/component=check'), '')
  })

  test('looks at the pods of one namespace, and finds the installation itself', async () => {
    const { code, findings } = await check('--no-pods', '-n', shop)
    assert.deepEqual([code, troubles(findings)], [0, []])
    found(findings, 'ok', / 2 are in order and 1 ask for nothing/)
    const missing = await check('--no-pods', '-n', 'check-nowhere')
    assert.deepEqual(
      troubles(missing.findings).map(({ text }) => text),
      ['there is no namespace check-nowhere'],
    )
  })

  test('says why a pod was patched, or was not', async () => {
    const [first = ''] = (await podsIn(shop, 'app=web')).split(' ')
    const patched = await check(`pod/${first}`, '-n', shop)
    found(patched.findings, 'ok', /its order is as it should be: starts sidecar, before app/)
    found(patched.findings, 'ok', /its app began after its sidecars were ready/)
    assert.equal(patched.code, 0)
    const out = await check('pod/opted-out', '-n', shop)
    found(out.findings, 'ok', /left alone: sidecar-first\.dev\/inject is "false"/)
    const unlabelled = await check('pod/unlabelled', '-n', plain)
    const { next } = found(unlabelled.findings, 'problem', /namespace check-plain isn't labelled/)
    assert.match(next ?? '', /^kubectl label namespace check-plain/)
    assert.equal(unlabelled.code, 1)
    const template = await check('deploy/web', '-n', shop)
    found(template.findings, 'ok', /its pods start sidecar, before app/)
    await kubectl('annotate', '-n', shop, 'deploy/web', 'sidecar-first.dev/timeout=5s')
    const misplaced = await check('deploy/web', '-n', shop)
    found(misplaced.findings, 'warning', /timeout has no effect on the Deployment itself: write it in spec\.template\./)
    await kubectl('annotate', '-n', shop, 'deploy/web', 'sidecar-first.dev/timeout-')
    assert.equal((await check('pod/nobody', '-n', shop)).code, 1)
  })

  test('draws how a pod started, to the millisecond', async () => {
    const [first = ''] = (await podsIn(shop, 'app=web')).split(' ')
    const { stdout, code } = await run(['timeline', `pod/${first}`, '-n', shop, '-o', 'json'])
    assert.equal(code, 0)
    const { from, containers: starts, waited } = JSON.parse(stdout)
    const [wait] = waited.waits
    assert.deepEqual([wait.hook, wait.for, wait.exact, wait.outcome], ['sidecar', ['sidecar'], true, 'ready'])
    // Until the sidecar has become ready, and no longer than the app's start; a millisecond for what is rounded.
    const log = await getLog(shop, first)
    const startOf = (name: string) => starts.find((each: { name: string }) => each.name === name).started
    const ended = startOf('sidecar').after + wait.took
    assert.ok(Date.parse(from) + ended + 1 >= markOf(log, 'sidecar', 'ready'), stdout)
    assert.ok(ended <= startOf('app').after + 1 && startOf('sidecar').exact && startOf('app').exact, stdout)
    const drawn = await run(['timeline', `pod/${first}`, '-n', shop])
    assert.match(
      drawn.stdout,
      /app started .* s after the pod was given to its node, after waiting .* s for its sidecars/,
    )
  })

  test('warns of an injector that is called after ours', async () => {
    await create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'zzz-injector' },
      webhooks: [
        {
          name: 'injector.example.com',
          clientConfig: { url: 'https://127.0.0.1:1/' },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
          failurePolicy: 'Ignore',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    })
    try {
      const { code, findings } = await check('--no-pods')
      found(findings, 'warning', /zzz-injector is called after ours/)
      assert.equal(code, 0)
    } finally {
      await kubectl('delete', 'mutatingwebhookconfiguration', 'zzz-injector')
    }
  })

  test('finds webhook configurations that are behind, and the command it names renews them', async () => {
    await configure(`${head}rules: [{name: mesh, tier: 1, match: {container: envoy}}]\n`)
    try {
      const { code, findings } = await check('--no-pods')
      const { next = '' } = found(findings, 'problem', /zz-sidecar-first is behind the configuration: matchConditions/)
      assert.equal(code, 1)
      await shell(next)
      const renewed = await check('--no-pods')
      found(renewed.findings, 'ok', /all match the configuration/)
      await configure(standard)
      await shell(next)
    } finally {
      await configure(standard)
    }
  })

  test('finds that the waiter image can not be pulled', async () => {
    await configure(`${head}waiter: {image: "127.0.0.1:1/waiter:1"}\n`)
    const { code, findings } = await check()
    found(
      findings,
      'problem',
      /the node node can't run 127\.0\.0\.1:1\/waiter:1: (ErrImagePull|ImagePullBackOff): .*refused/,
    )
    assert.equal(code, 1)
    assert.equal(await podsIn(namespace, 'app.kubernetes.io/component=check'), '')
  })

  test('removes its pod on Ctrl-C', async () => {
    const sockets: Socket[] = []
    const registry = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1') // never answers
    await once(registry, 'listening')
    try {
      await configure(`${head}waiter: {image: "127.0.0.1:${(registry.address() as AddressInfo).port}/waiter:1"}\n`)
      const child = spawn(process.execPath, [main, 'check'], { stdio: 'ignore' })
      const ended = once(child, 'exit')
      await until('its pod', async () => (await podsIn(namespace, 'app.kubernetes.io/component=check')) || undefined)
      child.kill('SIGINT')
      const [code] = await ended
      assert.equal(code, 1)
      assert.equal(await podsIn(namespace, 'app.kubernetes.io/component=check'), '')
    } finally {
      registry.close()
      for (const socket of sockets) socket.destroy()
      await configure(standard)
    }
  })

  test('says what somebody with few rights can not see, and is no problem by that', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
    try {
      const KUBECONFIG = join(folder, 'reader')
      await writeFile(KUBECONFIG, await readerKubeconfig(), { mode: 0o600 })
      const { code, stdout } = await run(['check', '-o', 'json'], { env: { KUBECONFIG } })
      const { findings } = JSON.parse(stdout) as { findings: Finding[] }
      if (forwardsAreCreated) {
        found(
          findings,
          'warning',
          /no replica was asked: you may not create pods\/portforward in namespace sidecar-first/,
        )
      }
      found(findings, 'warning', /not looked at: .* cannot create resource "pods"/)
      assert.deepEqual(
        findings.filter(({ level }) => level === 'problem'),
        [],
      )
      assert.equal(code, 0)
    } finally {
      await kubectl(
        'delete',
        'clusterrolebinding,clusterrole,serviceaccount',
        '-n',
        plain,
        'check-reader',
        '--ignore-not-found',
      )
      await rm(folder, { recursive: true })
    }
  })

  test('names the pods that were made during an outage, and the line it names puts them right', async () => {
    const open = (index: number) =>
      JSON.stringify([{ op: 'replace', path: `/webhooks/${index}/failurePolicy`, value: 'Ignore' }])
    // The one that plans is called last.
    await kubectl('patch', ...mutating.split('/'), '--type=json', '-p', open(5))
    await kubectl('patch', 'validatingwebhookconfiguration', 'sidecar-first', '--type=json', '-p', open(0))
    await stopServe()
    await kubectl('delete', 'pods', '-n', shop, '-l', 'app=web', '--wait=false')
    await until('new pods', async () => {
      const order = await kubectl(
        'get',
        'pods',
        '-n',
        shop,
        '-l',
        'app=web',
        '-o',
        'jsonpath={.items[*].spec.containers[0].name}',
      )
      return order === 'app app' ? true : undefined
    })
    const down = await check('--no-pods')
    found(down.findings, 'problem', /the Deployment is scaled to 0/)
    found(down.findings, 'problem', /comes back unpatched/)
    found(down.findings, 'warning', /failurePolicy of pods\.sidecar-first\.dev is Ignore, not Fail/)
    const { next = '' } = found(
      down.findings,
      'problem',
      /Deployment check-shop\/web: 2 of 2 pods without the order sidecar, before app/,
    )
    assert.equal(down.code, 1)
    await startServe()
    await ordered(shop, ['sidecar', 'app']) // the API server hears of the new replicas a moment later
    await shell(next)
    await kubectl('rollout', 'status', '-n', shop, 'deploy/web', '--timeout=180s')
    const { findings } = await until('the old pods to go', async () => {
      const again = await check('--no-pods')
      return again.code === 0 ? again : undefined
    })
    assert.deepEqual(
      findings.filter(({ level }) => level === 'problem'),
      [],
    )
  })

  test('names the running pods that are without a sidecar, whoever created them', async () => {
    const image = 'docker.io/sidecar-first/test-absent:1'
    await create(
      pod(shop, 'crashing', [app(), sidecar('sidecar', { HTTP: ':15021', EXIT_AFTER: '200ms' }, { readinessProbe })], {
        annotations,
      }),
      pod(plain, 'by-hand', [app(), sidecar('sidecar', {}, { image })], { annotations }),
    )
    try {
      const { code, findings } = await until('both to be seen', async () => {
        const seen = await check('--no-pods')
        return seen.findings.filter(({ text }) => text.includes(' without a sidecar: ')).length === 2 ? seen : undefined
      })
      assert.equal(code, 1)
      found(findings, 'problem', /Pod check-shop\/crashing without a sidecar: sidecar keeps ending: exit code 1/)
      found(findings, 'problem', /Pod check-plain\/by-hand without a sidecar: the image of sidecar can't be pulled/)
    } finally {
      await kubectl('delete', 'pod', '-n', shop, 'crashing', '--wait=false')
      await kubectl('delete', 'pod', '-n', plain, 'by-hand', '--wait=false')
    }
  })

  test('says that pods are refused where only the validating configuration is left', async () => {
    await kubectl('delete', ...mutating.split('/'))
    const { findings } = await check('--no-pods')
    found(findings, 'problem', /pods that ask are refused, since nobody puts them in order/)
    const refused = await tryCreate([pod(shop, 'refused', containers, { annotations })])
    assert.match(refused.stderr, /denied the request/)
    found((await check('pod/opted-out', '-n', shop)).findings, 'ok', /left alone/)
    await installed('--force')
  })

  test('finds a caBundle that was wiped, and a replica that serves what nobody trusts', async () => {
    await stopCerts()
    const at = new Date()
    const life = 86_400_000
    const authority = await issueAuthority({ commonName: 'somebody', life, at })
    const leaf = await issueLeaf({ authority, names: serviceNames('sidecar-first', namespace), life, at })
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const data = { 'tls.crt': base64(leaf.certificate), 'tls.key': base64(leaf.key) }
    await kubectl('patch', 'secret', '-n', namespace, 'sidecar-first', '--type=merge', '-p', JSON.stringify({ data }))
    const [one = '', other = ''] = (await podsIn(namespace, 'app.kubernetes.io/component=serve')).split(' ')
    await kubectl('delete', 'pod', '-n', namespace, one)
    await rolledOut('sidecar-first')
    const strange = await check('--no-pods')
    const [served, ...others] = strange.findings.filter(({ text }) =>
      /serves a leaf that not every caBundle covers/.test(text),
    )
    assert.equal(served?.level, 'problem')
    // The kubelet may have brought the new one to the other replica as well, which serves it then.
    const holds = (file: string) =>
      kubectl(
        'exec',
        '-n',
        namespace,
        other,
        '--',
        '/usr/bin/node',
        '-e',
        `process.stdout.write(fs.readFileSync(${JSON.stringify(file)}))`,
      )
    const isOld = (await holds('/etc/sidecar-first/certificate/tls.crt')) !== leaf.certificate
    if (isOld) assert.deepEqual(others, [], 'the other replica still has the old one')

    const wipe = JSON.stringify([{ op: 'remove', path: '/webhooks/0/clientConfig/caBundle' }])
    await kubectl('patch', ...mutating.split('/'), '--type=json', '-p', wipe)
    const { code, findings } = await check('--no-pods')
    found(findings, 'problem', /the caBundle of zz-sidecar-first differs/)
    assert.equal(code, 1)
  })
})

/** Runs a command line as a person would paste it. */
async function shell(line: string): Promise<void> {
  const { code, stderr } = await paste(line, import.meta.dirname)
  assert.equal(code, 0, `${line}\n${stderr}`)
}

/** Of a service account that may read everything and create nothing. */
async function readerKubeconfig(): Promise<string> {
  const name = 'check-reader'
  await create(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: plain } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name },
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: plain }],
    },
  )
  const token = (await kubectl('create', 'token', '-n', plain, name)).trim()
  const config = JSON.parse(await kubectl('config', 'view', '--raw', '--flatten', '--minify', '-o', 'json'))
  config.users[0].user = { token }
  return JSON.stringify(config)
}
