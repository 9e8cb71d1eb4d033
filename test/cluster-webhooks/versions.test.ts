import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { V1MutatingWebhookConfiguration, V1ValidatingWebhookConfiguration } from '@kubernetes/client-node'
import fc from 'fast-check'
import { parseAllDocuments } from 'yaml'
import { readStatus } from '../../src/admission/pod/status.ts'
import { covering, standingOf } from '../../src/check/pod/coverage.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { type Fields, type Pod, pod, ready } from '../admission/pods.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { hasLock, kubernetesVersion } from '../cluster/kubernetes.ts'
import { checkOut } from '../older/check-out.ts'
import { type ServeProcess, startServe } from '../server/process.ts'
import { put, talkTo } from './cluster.ts'
import { app, namespaces, pods, rules, withNamespaces } from './samples.ts'

// The version before and this one, side by side behind one Service, while pods are created all through an upgrade and a rollback.
const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

const versions = ['old', 'new'] as const
type Version = (typeof versions)[number]
/** `either`: each call another one, as a Service has it during an upgrade. */
type Target = Version | 'either'

let api: ApiServer
let cluster: ReturnType<typeof talkTo>
let folder: string
let service: Awaited<ReturnType<typeof startService>>
const main: Record<Version, string> = { old: '', new: join(root, 'src/main.ts') }
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sidecar-first-versions-'))
  main.old = await checkOut('0.1')
  api = await startApiServer()
  cluster = talkTo(api)
  service = await startService(api)
  await writeFile(join(folder, 'tls.crt'), api.pair.certificate)
  await writeFile(join(folder, 'tls.key'), api.pair.key)
  await withNamespaces(cluster)
})
after(async () => {
  service?.close()
  cluster?.close()
  await api?.stop()
  if (folder) await rm(folder, { recursive: true })
})

/** What the API server calls: passes each call on to a version. The first part of a path says which webhook configurations it comes from. */
async function startService({ pair, ca }: ApiServer) {
  const agent = new Agent({ keepAlive: true, ca })
  const backends: Record<Version, string> = { old: '', new: '' }
  const calls: string[] = []
  let to: readonly [mutate: Target, validate: Target] = ['old', 'old']
  let turn = 0
  const server = createServer({ cert: pair.certificate, key: pair.key }, async (incoming, outgoing) => {
    const path = incoming.url ?? '/'
    calls.push(path)
    const target = to[path.includes('/mutate') ? 0 : 1]
    const version = target === 'either' ? versions[turn++ % 2] : target
    const onward = request(backends[version ?? 'old'] + path.replace(/^\/\d+/, ''), {
      method: 'POST',
      agent,
      headers: { 'content-type': 'application/json' },
    })
    onward.end(await buffer(incoming))
    const [answer] = await once(onward, 'response')
    outgoing.writeHead(answer.statusCode, { 'content-type': 'application/json' }).end(await text(answer))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    backends,
    calls,
    send(mutate: Target, validate = mutate) {
      to = [mutate, validate]
    },
    close() {
      server.close()
      server.closeAllConnections()
      agent.destroy()
    },
  }
}

let generation = 0
/** What `config --webhooks` of a version prints, calling the Service, with a path that says so. */
async function webhooksOf(version: Version, file: string) {
  const { stdout } = await run(process.execPath, [main[version], 'config', '--webhooks', file])
  const caBundle = Buffer.from(api.ca).toString('base64')
  const prefix = `${service.url}/${++generation}`
  const [mutating, validating] = parseAllDocuments(stdout).map((document) => {
    const made = document.toJS() as V1MutatingWebhookConfiguration & V1ValidatingWebhookConfiguration
    for (const each of made.webhooks ?? []) {
      each.clientConfig = { url: prefix + each.clientConfig.service?.path, caBundle }
    }
    return made
  })
  assert.ok(mutating && validating)
  return { mutating, validating, generation }
}
type Webhooks = Awaited<ReturnType<typeof webhooksOf>>

let count = 0
interface Created {
  readonly status: number
  readonly message: string
  readonly pod: Pod
}
async function create(given: Pod, namespace: string, query = '?dryRun=All'): Promise<Created> {
  const metadata = { ...given.metadata, name: `pod-${count++}` }
  const { status, body } = await cluster.send('POST', `/api/v1/namespaces/${namespace}/pods${query}`, {
    ...given,
    metadata,
  })
  return { status, message: body.message, pod: body }
}

/** Applies webhook configurations, and returns when the API server goes by both. `meanwhile` runs all the time. */
async function change(to: Webhooks, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
  await put(cluster.send, to)
  for (let tries = 0; tries < 200; tries++) {
    const from = service.calls.length
    await create(pod({ sidecars: 'app', 'check/app': 'none' }, [app]), 'ab')
    const calls = service.calls.slice(from)
    const both = ['mutate', 'validate'].every((what) => calls.some((path) => path.includes(`/${what}`)))
    if (both && calls.every((path) => path.startsWith(`/${to.generation}/`))) return
    await meanwhile()
  }
  throw new Error('the API server does not call the new webhooks')
}

interface Sample {
  readonly pod: Pod
  readonly namespace: string
}

test('an upgrade and a rollback refuse no pod that both versions create, and what the old one made is older', async (t) => {
  const seen = { created: 0, mixed: 0, older: 0, locked: 0 }
  for (const [turn, texts] of [[], fixed, ...fc.sample(rules, { numRuns: 1, seed: 77 })].entries()) {
    // In the first two turns `auto` locks whatever it may, and the cluster can.
    const told = turn < 2
    const locks = told && hasLock
    const yaml = `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${told ? `kubernetesVersion: ${kubernetesVersion}\n` : ''}rules:\n${texts.map((rule) => `- {${rule}}\n`).join('')}`
    const file = join(folder, 'configuration.yaml')
    await writeFile(file, yaml)
    // What `install --lock off` writes.
    const unlocking = join(folder, 'unlocking.yaml')
    await writeFile(unlocking, `${yaml}defaults: {lock: off}\n`)
    await using old = await serve('old', file)
    await using now = await serve('new', file)
    await using last = await serve('new', unlocking)
    service.backends.old = old.url
    service.backends.new = now.url
    const before = await webhooksOf('old', file)
    const present = await webhooksOf('new', file)
    const leaving = await webhooksOf('new', unlocking)

    const all: Sample[] = [...odd, ...fc.sample(pods, { numRuns: 10, seed: turn }).map(unmarked)].flatMap((given) =>
      Object.keys(namespaces).map((namespace) => ({ pod: given, namespace })),
    )
    const round = (samples: readonly Sample[]) =>
      Promise.all(samples.map(({ pod: given, namespace }) => create(given, namespace)))
    const assertCreated = async (when: string, samples: readonly Sample[]) => {
      let locked = 0
      for (const [at, { status, message, pod: made }] of (await round(samples)).entries()) {
        assert.equal(status, 201, JSON.stringify({ when, texts, message, ...samples[at] }))
        seen.created++
        if (statusOf(made).lock === 'on') locked++
      }
      return locked
    }

    service.send('new')
    await change(present)
    const byNew = await round(all)
    service.send('old')
    await change(before)
    const byOld = await round(all)
    const both = all.filter((_, at) => byNew[at]?.status === 201 && byOld[at]?.status === 201)
    // The old version got some orders wrong; `check` says so of their pods.
    const alike = all.filter((each, at) => both.includes(each) && orderOf(byNew[at]) === orderOf(byOld[at]))
    // Where calls about one pod reach both, a rule of a selector and an enforced one can refuse it: docs/operating.md says so.
    const enforced = texts.some((rule) => rule.includes('enforce') && !rule.includes('namespaceSelector'))
    const free = enforced ? [] : both.filter(({ namespace }) => namespace === 'none')
    // What this version writes of some, the old one doesn't take for its own.
    const simple = free.filter(({ pod: given }) => !odd.includes(given))
    seen.mixed += simple.length
    const kept = await Promise.all(
      alike.map(async ({ pod: given, namespace }) => ({ namespace, ...(await create(given, namespace, '')) })),
    )

    await assertCreated('before the upgrade', both)
    service.send('either')
    await assertCreated('while both versions run', simple)
    service.send('old', 'new')
    await assertCreated('made by the old version, judged by the new one', free)
    service.send('new', 'old')
    const early = await assertCreated('made by the new version, judged by the old one', simple)
    service.send('new')
    // Somebody who was locked before, by a key of its own.
    const own = await assertCreated('once the old replicas are gone', both)
    await change(present, async () => void (await assertCreated('while the webhook configurations change', both)))
    const locked = await assertCreated('after the upgrade', both)
    assert.equal(early, 0)
    assert.equal(locked > own, locks, JSON.stringify({ own, locked }))
    seen.locked += locked

    const read = readConfiguration(yaml, '0.1.0')
    assert.ok(read.ok)
    for (const { pod: made, namespace } of kept) {
      const labels = (await cluster.send('GET', `/api/v1/namespaces/${namespace}`, undefined)).body.metadata
      const webhooks = covering(present.mutating.webhooks ?? [], { metadata: labels })
      const { kind } = standingOf(made as object, read.configuration, webhooks)
      assert.ok(
        ['left', 'right', 'older'].includes(kind),
        JSON.stringify({ kind, texts, namespace, made: made.metadata }),
      )
      if (kind === 'older') seen.older++
    }

    service.backends.new = last.url
    await change(leaving, async () => void (await assertCreated('while the locks go', both)))
    service.send('new', 'old')
    await assertCreated('made by the new version, judged by the old one that is coming back', simple)
    service.send('either')
    await assertCreated('while both versions run again', simple)
    service.send('old')
    await assertCreated('once the new replicas are gone', both)
    await change(before, async () => void (await assertCreated('while the webhook configurations change back', both)))
    await assertCreated('after the rollback', both)
  }
  t.diagnostic(JSON.stringify(seen))
  assert.ok(seen.created > 250 && seen.mixed > 5 && seen.older > 0, JSON.stringify(seen))
})

const orderOf = (created: Created | undefined) => created && JSON.stringify(statusOf(created.pod).tiers)
const statusOf = ({ metadata }: Pod) => readStatus((metadata.annotations as Fields)['sidecar-first.dev/status'])

const serve = (version: Version, file: string): Promise<ServeProcess> => {
  const flags = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), config: file }
  return startServe(
    Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]),
    [],
    main[version],
  )
}

/** Nothing takes off marks that an author wrote until the webhook configurations are the new ones. */
function unmarked({ metadata, ...given }: Pod): Pod {
  const { 'sidecar-first.dev/sets': _, ...annotations } = metadata.annotations as Fields
  return { ...given, metadata: { ...metadata, annotations } } as Pod
}

/** Enforced, with and without a selector. */
const fixed = [
  'name: r0, match: {container: s}, tier: 1, enforce: true',
  'name: r1, match: {container: d, namespaceSelector: {matchLabels: {A: "1"}}}, tier: 2, enforce: true',
  'name: r2, match: {container: e, namespaceSelector: {matchLabels: {B: "1"}}}, tier: 3, check: none',
]

/** An attempt's timeout longer than the whole wait, and a native sidecar with a startupProbe, are written in another way since. */
const odd = [
  pod({ sidecars: 'slow' }, [app, { name: 'slow', image: 'slow', readinessProbe: { ...ready, timeoutSeconds: 700 } }]),
  pod({ sidecars: 'native' }, [app], {
    initContainers: [{ name: 'native', image: 'native', restartPolicy: 'Always', startupProbe: ready }],
  }),
]
