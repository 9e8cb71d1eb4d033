import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { decide } from '../../src/admission/decide.ts'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { webhookConfigurations } from '../../src/webhooks/configurations.ts'
import { admit } from '../admission/admit.ts'
import { type Container, type Pod, pod } from '../admission/pods.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { type ServeProcess, startServe } from '../server/process.ts'
import { put, talkTo } from './cluster.ts'
import { a, app, b, namespaces, pods, rules, withNamespaces } from './samples.ts'

// A real API server calls a real sidecar-first, with rules of two selectors and namespaces that match none, one, the other and both.

let api: ApiServer
let cluster: ReturnType<typeof talkTo>
let folder: string
let serve: ServeProcess | undefined
before(async () => {
  api = await startApiServer()
  cluster = talkTo(api)
  folder = await mkdtemp(join(tmpdir(), 'sidecar-first-sets-'))
  await writeFile(join(folder, 'tls.crt'), api.pair.certificate)
  await writeFile(join(folder, 'tls.key'), api.pair.key)
  await withNamespaces(cluster)
})
after(async () => {
  await serve?.[Symbol.asyncDispose]()
  cluster?.close()
  await api?.stop()
  if (folder) await rm(folder, { recursive: true })
})

/** Serves with these rules, and has the API server call it. */
async function install(rules: readonly string[], more = ''): Promise<Configuration> {
  const text = `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${more}rules:\n${rules.map((rule) => `- {${rule}}\n`).join('')}`
  const read = readConfiguration(text, '0.1.0')
  assert.ok(read.ok, JSON.stringify(read))
  await writeFile(join(folder, 'configuration.yaml'), text)
  await serve?.[Symbol.asyncDispose]()
  const flags = { cert: 'tls.crt', key: 'tls.key', config: 'configuration.yaml' }
  serve = await startServe(Object.entries(flags).flatMap(([flag, file]) => [`--${flag}`, join(folder, file)]))
  const url = serve.url
  await put(
    cluster.send,
    webhookConfigurations(read.configuration, text, {
      mode: 'namespace-opt-in',
      namespace: 'sidecar-first',
      endpoint: { url },
      caBundle: api.ca,
    }),
  )
  // A pod that every webhook marks, plans and validates: the API server has taken up the whole of both configurations.
  const seen = () => ['admission', 'validation'].every((what) => serve?.output().includes(`"msg":"${what}"`))
  for (let tries = 0; tries < 100 && !seen(); tries++) {
    await create(pod({ sidecars: 'app', 'check/app': 'none' }, [app]), 'ab')
    await sleep(50)
  }
  await sleep(300)
  return read.configuration
}

let count = 0
async function create(given: Pod, namespace: string): Promise<{ status: number; message: string; pod: Pod }> {
  const metadata = { ...given.metadata, name: `pod-${count++}` }
  const { status, body } = await cluster.send('POST', `/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
    ...given,
    metadata,
  })
  return { status, message: body.message, pod: body }
}

/** What a reader would compare: the order of the containers and their hooks. */
const shape = ({ spec }: Pod) =>
  [spec.containers, (spec.initContainers ?? []) as readonly Container[]].map((list) =>
    list.map(({ name, lifecycle, restartPolicy }) => [name, lifecycle ?? null, restartPolicy ?? null]),
  )

test('two selectors, four kinds of namespaces: each pod gets what its own rules say, is let through, and is settled', async () => {
  const seen = { patched: 0, refused: 0, left: 0 }
  for (const [turn, texts] of fc.sample(rules, { numRuns: 12, seed: 14 }).entries()) {
    const configuration = await install(texts)
    for (const given of fc.sample(pods, { numRuns: 12, seed: turn })) {
      for (const [namespace, sets] of Object.entries(namespaces)) {
        const what = JSON.stringify({ texts, namespace, annotations: given.metadata.annotations })
        const expected = admit(given, configuration, sets)
        const { status, message, pod: made } = await create(given, namespace)
        if (expected.decision.verdict === 'refused') {
          assert.equal(status, 400, `${what}: ${message}`)
          seen.refused++
          continue
        }
        assert.equal(status, 201, `${what}: ${message}`)
        assert.deepEqual(shape(made), shape(expected.pod), what)
        // Asked about what was stored, there is nothing to do but to note the same again.
        const again = decide(made, configuration, { job: false, sets })
        assert.ok(again.verdict === 'unchanged' || again.verdict === 'skipped', `${what}: ${JSON.stringify(again)}`)
        // Rules of selectors that don't select the namespace change nothing.
        const applicable = texts.filter(
          (text) => (!text.includes('A: "1"') || sets.includes(a)) && (!text.includes('B: "1"') || sets.includes(b)),
        )
        assert.deepEqual(shape(made), shape(admit(given, configured(applicable), sets).pod), what)
        seen[again.verdict === 'unchanged' ? 'patched' : 'left']++
      }
    }
  }
  assert.ok(Math.min(...Object.values(seen)) > 20, JSON.stringify(seen))
})

function configured(texts: readonly string[]): Configuration {
  const read = readConfiguration(
    `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules:\n${texts.map((text) => `- {${text}}\n`).join('')}`,
    '0.1.0',
  )
  assert.ok(read.ok, JSON.stringify(read))
  return read.configuration
}
