import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { podTemplate } from '../../src/admission/pod/template.ts'
import { readManifests } from '../../src/preview/manifests.ts'
import { create, deleteNamespaces, kubectl, tryKubectl, until } from './cluster.ts'
import { type FakeInjector, type Pod, startFakeInjector } from './injector.ts'
import { hasLock } from './kubernetes.ts'
import { openPage, type Pasting } from './pasting.ts'
import { type Container, firstLineOf, getPods, type Line, logOf, markOf } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

// Pods as injectors make them, pasted into the webhook's own page in a browser. What is in the editor after one click goes to the node, to the letter.
// The images there are stand-ins under the names of the real ones, which behave as those do (see images/known.ts).
const folder = join(import.meta.dirname, '../admission/suggest/pods')

/** Pods for which there is nothing to press. */
const nothingToAdd: Readonly<Record<string, 'waits' | 'no app' | 'opted out' | 'unknown' | 'asks'>> = {
  asked: 'asks',
  bookinfo: 'unknown',
  'istio-gateway': 'no app',
  'istio-hold': 'waits',
  'istio-native': 'waits',
  'istio-no-health': 'unknown',
  'linkerd-await': 'waits',
  'linkerd-native': 'waits',
  'opted-out': 'opted out',
  vault: 'waits',
  'vault-server': 'unknown',
}
/** Pods of whose sidecar only their authors know whether it answers: they press the other button. */
const conditional: readonly string[] = ['opentelemetry-unknown']

/** Pods that ask an injector for their sidecar, and the fixture that shows what it adds. */
const injectedAs: Readonly<Record<string, string>> = {
  'bookinfo-asks': 'bookinfo-injected',
  'bookinfo-namespace': 'bookinfo-injected',
  'dapr-asks': 'dapr',
  'vault-two-secrets': 'vault-late',
}

/** Their sidecars have no stand-in that behaves as these do. */
const withoutStandIn: readonly string[] = ['envoy-and-no-port', 'istio-status-port', 'own-liveness', 'own-port']

const names = globSync('*.yaml', { cwd: folder })
  .map((file) => file.replace(/\.yaml$/, ''))
  .filter((name) => !withoutStandIn.includes(name))
  .sort()
const started = names.filter((name) => ['waits', undefined].includes(nothingToAdd[name]))

/** These are also made from what the page's button "Download" gives, where no webhook is called. */
const downloaded = started.filter((name) => ['cloud-sql-health', 'dapr', 'istio', 'job', 'vault-late'].includes(name))

describe('a real pod, pasted into the page, starts in order on a node', () => {
  const pasted = new Map<string, Promise<number>>()
  const namespaces = [...started.map(namespaceOf), ...downloaded.map(downloadedOf)]
  let webhook: Webhook | undefined
  let page: Pasting | undefined
  let injector: FakeInjector | undefined

  before(async () => {
    await kubectl('delete', 'namespace', '--ignore-not-found', ...namespaces) // an interrupted run leaves them
    ;[webhook, injector] = await Promise.all([
      startWebhook('suggest', { kubernetesVersion: hasLock ? '1.35' : '1.34' }),
      // Called after the webhook, which is then called again.
      startFakeInjector('suggest-injector', { test: 'suggest', injector: 'yes' }, { injects }),
    ])
    await create(
      ...started.map((name) => {
        const labels = { test: 'suggest', ...(name in injectedAs && { injector: 'yes' }) }
        return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespaceOf(name), labels } }
      }),
      ...downloaded.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: downloadedOf(name) } })),
    )
    const opened = await openPage(webhook.url)
    page = opened
    // After one that fails the others aren't tried: forty that get no answer would take an hour.
    let last: Promise<unknown> = Promise.resolve()
    for (const name of names) {
      const clicks = last.then(() => paste(name, opened))
      pasted.set(name, clicks)
      last = clicks
    }
    await last.catch(() => {})
  })
  after(async () => {
    await page?.close()
    await deleteNamespaces(...namespaces)
    await injector?.remove()
    await webhook?.remove()
  })

  for (const name of names) {
    const why = nothingToAdd[name]
    test(`${name}${why === undefined ? ', after one click' : `: ${why}`}`, async () => {
      assert.equal(await pasted.get(name), why === undefined ? 1 : 0, 'clicks')
      if (started.includes(name)) await assertInOrder(namespaceOf(name))
    })
  }
  for (const name of downloaded) {
    test(`${name}, downloaded`, async () => {
      await pasted.get(name)
      await assertInOrder(downloadedOf(name))
    })
  }
})

function namespaceOf(name: string): string {
  return name === 'bookinfo-namespace' ? 'bookinfo' : `pasted-${name}`
}

function downloadedOf(name: string): string {
  return `downloaded-${name}`
}

/** How many clicks it took until the page had no more to add; what it then has is on the node. */
async function paste(name: string, page: Pasting): Promise<number> {
  const { clicks, text, download } = await page.paste(
    readFileSync(join(folder, `${name}.yaml`), 'utf8'),
    conditional.includes(name),
  )
  if (started.includes(name)) await apply(text, namespaceOf(name))
  if (downloaded.includes(name)) await apply(await download(), downloadedOf(name))
  return clicks
}

async function apply(text: string, namespace: string): Promise<void> {
  await until(`service account of ${namespace}`, async () => {
    const { code } = await tryKubectl(['get', 'serviceaccount', 'default', '-n', namespace])
    return code === 0 ? true : undefined
  })
  const { code, stderr } = await tryKubectl(['apply', '-n', namespace, '-f', '-'], text)
  assert.equal(code, 0, stderr)
}

async function assertInOrder(namespace: string): Promise<void> {
  const pod = await until(`pod of ${namespace}`, async () => [...(await getPods(namespace)).values()][0])
  const { containers, initContainers = [] } = pod.spec as unknown as Pod['spec']
  const apps = containers.filter(isApp).map(({ name }) => name)
  const sidecars = [...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always'), ...containers]
    .filter((each) => !isApp(each))
    .map(({ name }) => name)
  assert.ok(apps.length > 0 && sidecars.length > 0)
  for (const app of apps) {
    const log: Line[] = await logOf(namespace, pod.metadata.name, app)
    // An injector's init container may do the sidecar's work.
    const readyOf = (sidecar: string) =>
      markOf(log, initContainers.some(({ name }) => name === `${sidecar}-init`) ? `${sidecar}-init` : sidecar, 'ready')
    for (const [index, sidecar] of sidecars.entries()) {
      const ready = readyOf(sidecar)
      const next = sidecars[index + 1]
      assert.ok(firstLineOf(log, app) >= ready, `${app} before ${sidecar} was ready`)
      if (next !== undefined) assert.ok(markOf(log, next, 'started') >= ready, `${next} before ${sidecar} was ready`)
    }
  }
}

const isApp = ({ image }: Container) => /^\w+:1\.0$|examples-bookinfo|hello-go/.test(String(image))

/** What the injector of the sidecar that a pod asks for adds to it, behind its own. */
function injects({ metadata: { annotations = {}, labels = {} }, spec }: Pod): object[] {
  const secrets = Object.keys(annotations).filter((key) => key.startsWith('vault.hashicorp.com/agent-inject-secret-'))
  const isMeshed = labels.app === 'productpage'
  const asked = isMeshed ? 'bookinfo-asks' : secrets.length > 0 ? 'vault-two-secrets' : 'dapr-asks'
  const { containers, initContainers = [], volumes = [] } = fixture(injectedAs[asked] ?? '').spec
  const added = containers.filter((each) => spec.containers.every(({ name }) => name !== each.name))
  if (added.length === 0) return []
  const template = secrets.map((key) => {
    const name = key.replace(/^.*-secret-/, '')
    return { destination: `/vault/secrets/${annotations[`vault.hashicorp.com/agent-inject-file-${name}`] ?? name}` }
  })
  const env = [{ name: 'VAULT_CONFIG', value: Buffer.from(JSON.stringify({ template })).toString('base64') }]
  return [
    ...(initContainers.length > 0 && !spec.initContainers ? [add('/spec/initContainers', [])] : []),
    ...initContainers.map((each) => add('/spec/initContainers/-', each)),
    ...volumes.map((each) => add('/spec/volumes/-', each)),
    ...added.map((each) => add('/spec/containers/-', { ...each, ...(template.length > 0 && { env }) })),
  ]
}

const add = (path: string, value: unknown) => ({ op: 'add', path, value })

function fixture(name: string): Pod {
  const manifests = readManifests(readFileSync(join(folder, `${name}.yaml`), 'utf8'))
  const value = manifests.ok ? manifests.documents.at(-1)?.value : undefined
  const template = value && podTemplate({ kind: String(value.kind), value })
  assert.ok(template, name)
  return template.pod as unknown as Pod
}
