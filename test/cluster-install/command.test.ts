import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { KubeConfig } from '@kubernetes/client-node'
import { parseAllDocuments } from 'yaml'
import { decide } from '../../src/admission/decide.ts'
import { install } from '../../src/cli/install.ts'
import { uninstall } from '../../src/cli/uninstall.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { trialPod } from '../../src/install/trial-pod.ts'
import { version } from '../../src/version.ts'
import { after as admitted, app, type Container, pod, ready } from '../admission/pods.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { run } from '../cli/inside.ts'
import { SECOND, until } from '../until.ts'
import { fakeKinds } from './fake-kinds.ts'

// Nobody makes pods here: an installation gets as far as its Deployments, and ends in time.
/** With images of one's own, as there is no node that would have them. */
const call = (...args: readonly string[]) =>
  run(install, '--image', 'example/server:1', '--waiter-image', 'sidecar-first/waiter:0.1.0', ...args)

describe('install on an API server alone', () => {
  let api: ApiServer
  let folder: string
  before(async () => {
    api = await startApiServer()
    folder = await mkdtemp(join(tmpdir(), 'sidecar-first-install-'))
    process.env.KUBECONFIG = api.kubeconfigFile('admin')
  })
  after(async () => {
    await api?.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const there = async (what: string) => (await api.kubectl(['get', what, '-A', '-o', 'name'])).trim()
  test('prints what fits a cluster that is named, and asks none otherwise', async () => {
    const [named, unnamed] = [await call('--context', 'loaded-context'), await call()]
    assert.match(named.stdout, /^ {4}kubernetesVersion: "1\.\d+"$/m)
    assert.doesNotMatch(unnamed.stdout, /kubernetesVersion/)
    assert.match((await call('--context', 'nowhere')).stderr, /no context nowhere; it has loaded-context/)
  })

  test('is a kubectl plugin, whose namespaces and pods kubectl completes', async (context) => {
    const main = join(import.meta.dirname, '../../src/main.ts')
    const path = process.env.PATH
    context.after(() => {
      process.env.PATH = path
    })
    process.env.PATH = `${folder}:${process.env.APISERVER_PROGRAMS}:${path}`
    await symlink(main, join(folder, 'shim-kubectl_complete-sidecar_first'))
    for (const [name, file] of [
      ['kubectl-sidecar_first', main],
      ['kubectl_complete-sidecar_first', join(folder, 'shim-kubectl_complete-sidecar_first')],
    ] as const) {
      await writeFile(join(folder, name), `#!/bin/sh\nexec '${process.execPath}' '${file}' "$@"\n`, { mode: 0o755 })
    }
    // Before a plugin's name kubectl takes no flag, such as --kubeconfig.
    const kubectl = async (...words: string[]) => (await promisify(execFile)('kubectl', words)).stdout
    assert.match(await kubectl('plugin', 'list'), /\/kubectl-sidecar_first$/m)
    assert.equal(await kubectl('sidecar-first', '--version'), `${version}\n`)
    const completed = async (...words: string[]) => (await kubectl('__complete', 'sidecar-first', ...words)).split('\n')
    // On a busy machine the cluster's answer may be too late for a Tab, which then offers nothing.
    const offered = (...words: string[]) =>
      until(`an offer for ${words.join(' ')}`, 60 * SECOND, async () => {
        const [first = '', ...others] = await completed(...words)
        return !first.startsWith(':') && [first, ...others]
      })
    assert.ok((await offered('check', '-n', 'kube-')).includes('kube-system'))
    const plain = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web-1' },
      spec: { containers: [{ name: 'a', image: 'a' }] },
    }
    await api.kubectl(['create', '-n', 'default', '-f', '-'], JSON.stringify(plain))
    context.after(() => api.kubectl(['delete', '-n', 'default', 'pod/web-1', '--force']))
    assert.deepEqual(await offered('timeline', 'pod/w'), ['pod/web-1', ':4', ''])
    assert.deepEqual((await completed('preview', '--gate', 'n'))[0], 'native')
  })

  test('--dry-run tells what would be made, and makes nothing', async () => {
    const printed = (await call('--context', 'loaded-context', '--preview')).stdout
    const objects = parseAllDocuments(printed).map(
      (each) => each.toJS() as { kind: string; metadata: { name: string } },
    )
    const { code, stdout } = await call('--dry-run', '--preview')
    assert.equal(code, 0)
    assert.deepEqual(
      [...stdout.matchAll(/^(\S+) +created \(dry run\)$/gm)].map(([, label]) => label).sort(),
      objects.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`).sort(),
    )
    assert.match(stdout, /^Nothing was stored\.$/m)
    assert.doesNotMatch(await there('namespaces'), /sidecar-first/)
  })

  test('a kind that the cluster does not have is told before anything is made', async () => {
    const { code, stderr } = await call('--apply', '--monitoring')
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^sidecar-first install: SF011 the cluster has no kind \w+ \(monitoring\.coreos\.com\/v1\); .*\n$/,
    )
    assert.doesNotMatch(await there('namespaces'), /sidecar-first/)
  })

  test('ends in time, with what it waited for; what calls the pods is not there yet', async () => {
    const { code, stdout, stderr } = await call('--apply', '--timeout', '2s')
    assert.equal(code, 1)
    assert.match(stdout, /^clusterrole\/sidecar-first-certs +created$/m)
    // Without certs nothing that serves can start: its pods know what is in the way.
    assert.match(
      stderr,
      /^sidecar-first install: SF010 deployment\/sidecar-first-certs: 0 of 1 replica ready\n {2}It takes longer than --timeout; .*\n$/,
    )
    assert.equal(await there('mutatingwebhookconfigurations'), '')
  })

  test('leaves a configuration alone that is somebody’s work', async () => {
    const file = join(folder, 'config.yaml')
    await writeFile(file, 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nmode: observe\n')
    const taken = await call('--apply', '--config', file, '--timeout', '1s')
    assert.match(taken.stdout, /^configmap\/sidecar-first +configured$/m)
    const { code, stdout, stderr } = await call('--apply')
    assert.deepEqual([code, stdout.includes('configmap')], [1, false])
    assert.match(stderr, /name its file with --config/)
  })

  test('warns of pods that an enforced rule would refuse, because it does not know their mirror', async () => {
    const file = join(folder, 'enforced.yaml')
    const enforced = (more: string) =>
      writeFile(
        file,
        `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${more}rules: [{name: mesh, match: {container: proxy}, tier: 1, enforce: true}]\n`,
      )
    const namespace = { metadata: { name: 'mirrored', labels: { 'sidecar-first.dev/injection': 'enabled' } } }
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', ...namespace }))
    await api.kubectl(['create', '-f', file])
    for (const [name, image] of [
      ['web', 'mirror.example/hub/waiter:1'],
      ['own', `sidecar-first/waiter:${version}`],
    ] as const) {
      const read = readConfiguration('apiVersion: sidecar-first.dev/v1\nkind: Configuration\n', version)
      assert.ok(read.ok)
      const proxy = { name: 'proxy', image: 'proxy', readinessProbe: ready }
      const made = admitted(
        pod({ sidecars: 'proxy' }, [app, proxy]),
        decide(pod({ sidecars: 'proxy' }, [app, proxy]), read.configuration),
      )
      const [waiter] = made.spec.initContainers as [Container]
      const spec = { ...made.spec, initContainers: [{ ...waiter, image }] }
      const metadata = { ...made.metadata, name, namespace: 'mirrored' }
      await writeFile(file, JSON.stringify({ ...made, metadata, spec }))
      await api.kubectl(['create', '-f', file])
    }
    const ask = async (more: string) => {
      await enforced(more)
      return (await call('--dry-run', '--config', file)).stderr
    }
    assert.match(
      await ask(''),
      /^sidecar-first: SF\d+ once this is applied, Pod mirrored\/web would be refused if created now: .*"mirror\.example\/hub\/waiter:1"; .*waiter\.mirrors$/m,
    )
    assert.doesNotMatch(await ask(''), /mirrored\/own/)
    assert.doesNotMatch(await ask('waiter: {mirrors: ["mirror.example/*/waiter"]}\n'), /once this is applied/)
  })

  test('says which right is missing', async () => {
    process.env.KUBECONFIG = api.kubeconfigFile('certs')
    const { code, stderr } = await call('--apply')
    process.env.KUBECONFIG = api.kubeconfigFile('admin')
    assert.equal(code, 1)
    assert.match(stderr, /cannot \w+ resource "\w+"/)
  })

  test('says who owns what it would change', async () => {
    await api.kubectl(['set', 'image', '-n', 'sidecar-first', 'deploy/sidecar-first', 'serve=theirs:1'])
    const { code, stderr } = await call('--apply', '--config', join(folder, 'config.yaml'))
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^sidecar-first install: SF015 deployment\/sidecar-first: .*conflict with "kubectl-set".*image\n.*--force\n$/,
    )
  })

  test('uninstall asks whoever sits at a terminal, and takes no answer for a no', async () => {
    const [stdin, stdout] = [new PassThrough(), new PassThrough()].map((each) => Object.assign(each, { isTTY: true }))
    assert.ok(stdin && stdout)
    stdin.end('\n')
    const asked = uninstall.run([], { stdin, stdout, stderr: new PassThrough(), color: false })
    await assert.rejects(asked, { exitCode: 1, failure: 'declined' })
    assert.match(String(stdout.read()), /^Remove sidecar-first from .*, namespace sidecar-first\? \[y\/N\] /)
    assert.match(await there('namespaces'), /sidecar-first/)
  })

  test('uninstall leaves others’ namespaces and objects alone', async () => {
    await api.kubectl(['create', 'namespace', 'theirs'])
    await api.kubectl(['create', 'configmap', '-n', 'theirs', 'sidecar-first'])
    await api.kubectl(['label', '-n', 'theirs', 'configmap/sidecar-first', 'app.kubernetes.io/name=sidecar-first'])
    // As the controller leaves it.
    const lease = join(folder, 'lease.yaml')
    const metadata = { name: 'sidecar-first-rollouts', namespace: 'sidecar-first' }
    await writeFile(lease, JSON.stringify({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }))
    await api.kubectl(['create', '-f', lease])
    const { code, stdout } = await run(uninstall, '--keep-namespace')
    assert.equal(code, 0, stdout)
    assert.doesNotMatch(await there('leases'), /sidecar-first/)
    assert.match(await there('configmaps'), /sidecar-first/)
    assert.doesNotMatch(await there('deployments,clusterroles'), /sidecar-first/)
  })

  test('says that pods may be locked only once no replica of before answers any more', async () => {
    const ours = ['-n', 'sidecar-first']
    const path = async () =>
      await api.kubectl([
        ...['get', 'mutatingwebhookconfiguration', 'zz-sidecar-first'],
        ...['-o', 'jsonpath={.webhooks[-1:].clientConfig.service.path}'],
      ])
    const apply = async () => (await call('--apply', '--force', '--timeout', '3s')).stderr
    await apply()
    // As 0.1 had them, with replicas that are there and one that still ends. Nobody writes a caBundle here, so all webhooks are there.
    const webhooks = parseAllDocuments((await call()).stdout)
      .map((document) => document.toJS())
      .filter(({ kind }) => kind.endsWith('WebhookConfiguration'))
    const [mutating] = webhooks.filter(({ kind }) => kind === 'MutatingWebhookConfiguration')
    for (const { clientConfig } of mutating.webhooks) clientConfig.service.path = '/mutate'
    const { spec } = trialPod('sidecar-first')
    const labels = { 'app.kubernetes.io/name': 'sidecar-first', 'app.kubernetes.io/component': 'serve' }
    const metadata = { name: 'old', namespace: 'sidecar-first', labels }
    const old = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...spec, nodeName: 'somewhere' } }
    for (const each of [...webhooks, old]) {
      const file = join(folder, 'object.yaml')
      await writeFile(file, JSON.stringify(each))
      await api.kubectl(['create', '-f', file])
    }
    await api.kubectl(['delete', 'pod', 'old', ...ours, '--wait=false', '--grace-period=60'])
    for (const [name, replicas] of [
      ['sidecar-first-certs', 1],
      ['sidecar-first', 2],
    ] as const) {
      const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas }
      const status = JSON.stringify({ status: { observedGeneration: 99, ...counts } })
      await api.kubectl(['patch', 'deploy', name, ...ours, '--subresource=status', '--type=merge', '-p', status])
    }
    assert.match(
      await apply(),
      /^sidecar-first install: \w+ replicas of sidecar-first that were replaced: 1 still ending$/m,
    )
    assert.equal(await path(), '/mutate')
    await api.kubectl(['delete', 'pod', 'old', ...ours, '--force', '--grace-period=0'])
    // Nobody answers here: the pod that is tried out then is not patched.
    assert.match(await apply(), /^sidecar-first install: \w+ a pod tried out in /m)
    assert.equal(await path(), '/mutate/lock-by-name')
  })

  test('an exporter that never gets ready keeps no webhook from being applied, and is waited for last', async () => {
    // The Deployments that serve are ready by now; observing, no pod is tried out.
    const file = join(folder, 'observes.yaml')
    await writeFile(file, 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nmode: observe\n')
    const { code, stdout, stderr } = await call('--apply', '--force', '--starts', '--config', file, '--timeout', '1s')
    assert.equal(code, 1)
    assert.match(stdout, /^mutatingwebhookconfiguration\/zz-sidecar-first +configured$/m)
    assert.match(
      stderr,
      /SF010 deployment\/sidecar-first-starts: 0 of 1 replica ready; the webhook works without it\n {2}It takes longer than --timeout; .*\n$/,
    )
  })

  test("waits as long as nobody answers where cert-manager's webhook should be, and applies its objects then", async () => {
    const webhook = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'cert-manager-webhook' },
      webhooks: [
        {
          name: 'webhook.cert-manager.io',
          clientConfig: { url: 'https://127.0.0.1:1/validate' },
          rules: [{ apiGroups: ['cert-manager.io'], apiVersions: ['v1'], operations: ['*'], resources: ['*/*'] }],
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
        },
      ],
    }
    await api.kubectl(['apply', '-f', '-'], JSON.stringify(fakeKinds))
    await api.kubectl(['apply', '-f', '-'], JSON.stringify(webhook))
    const managed = () => call('--apply', '--force', '--cert-manager', '--timeout', '3s')
    const early = await managed()
    assert.match(
      early.stderr,
      /SF010 cert-manager's webhook: .*failed calling webhook "webhook\.cert-manager\.io": .*\n {2}It takes longer than --timeout/,
    )
    assert.doesNotMatch(early.stdout, /^issuer\//m)
    await api.kubectl(['delete', 'validatingwebhookconfiguration', 'cert-manager-webhook'])
    const { stdout } = await managed()
    assert.match(stdout, /^issuer\/sidecar-first +created$/m)
    assert.match(stdout, /^certificate\/sidecar-first +created$/m)
  })

  test('a cluster that is too old is refused with the reason, one that is not there as well', async () => {
    // A fake: an API server that old isn't to be had here.
    const old = createServer((_, response) => {
      response.setHeader('Content-Type', 'application/json').end('{"major":"1","minor":"29","gitVersion":"v1.29.3"}')
    })
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(old.address() as AddressInfo).port}`
    const config = new KubeConfig()
    config.loadFromClusterAndUser({ name: 'old', server: url, skipTLSVerify: true }, { name: 'nobody' })
    process.env.KUBECONFIG = join(folder, 'old.kubeconfig')
    await writeFile(process.env.KUBECONFIG, config.exportConfig())
    const refused = await call('--apply')
    await new Promise((resolve) => old.close(resolve))
    const gone = await call('--apply')
    process.env.KUBECONFIG = api.kubeconfigFile('admin')
    assert.match(
      refused.stderr,
      /^sidecar-first install: SF011 the cluster is v1\.29\.3; sidecar-first needs Kubernetes 1\.30 or newer/,
    )
    assert.match(gone.stderr, /^sidecar-first install: SF022 the API server can't be reached: /)
    assert.deepEqual([refused.code, gone.code], [1, 1])
  })
})
