import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fastJsonPatch from 'fast-json-patch'
import { app, type Container, type Fields, type Pod, pod, ready } from '../admission/pods.ts'
import { call } from '../server/call.ts'
import { folder, startPaired } from '../server/pairs.ts'
import type { ServeProcess } from '../server/process.ts'
import { review } from '../server/reviews.ts'
import { checkOut } from './check-out.ts'

// Replicas from before locks named a sidecar, beside those of today, as in an upgrade and on the way back.
const dir = await folder()
const replicas = { old: undefined, new: undefined } as unknown as Record<'old' | 'new', ServeProcess>
before(async () => {
  const file = join(dir.path, 'configuration.yaml')
  await writeFile(file, 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nkubernetesVersion: 1.36\n')
  const program = await checkOut('unnamed', join(dir.path, 'old'))
  replicas.old = await startPaired(['--config', file], [], program)
  replicas.new = await startPaired(['--config', file])
})
after(async () => {
  await replicas.old?.[Symbol.asyncDispose]()
  await replicas.new?.[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

type Which = keyof typeof replicas
const both = ['old', 'new'] as const

interface Answer {
  readonly allowed: boolean
  readonly patch?: string
  readonly warnings?: readonly string[]
  readonly status?: { readonly message: string }
}

async function ask(which: Which, path: string, object: Pod): Promise<Answer> {
  const { status, json } = await call(`${replicas[which].url}${path}?timeout=5s`, {
    body: JSON.stringify(review(object)),
  })
  assert.equal(status, 200, path)
  return (json as { response: Answer }).response
}

async function patched(which: Which, path: string, object: Pod): Promise<Pod> {
  const { allowed, patch, status } = await ask(which, path, object)
  assert.ok(allowed, status?.message)
  const operations = JSON.parse(Buffer.from(patch ?? 'W10=', 'base64').toString())
  return fastJsonPatch.applyPatch(structuredClone(object), operations).newDocument
}

async function assertAllowed(by: Which, object: Pod, when: string): Promise<void> {
  const { allowed, status } = await ask(by, '/validate', object)
  assert.ok(allowed, `${when}, judged by the ${by} one: ${status?.message}`)
}

const keysIn = (made: Pod) => [...new Set(JSON.stringify(made).match(/SIDECAR_FIRST_READY_\w+/g))].sort()

const envoy: Container = { name: 'envoy', image: 'envoy', readinessProbe: ready }
const vault: Container = { name: 'vault-agent', image: 'vault', startupProbe: ready }
const samples = ['shell', 'init-container', 'image-volume'].flatMap((waiter): readonly Pod[] =>
  [
    { sidecars: 'envoy' },
    { sidecars: 'vault-agent, envoy' },
    { sidecars: 'envoy + vault-agent', gate: 'native' },
    { sidecars: 'vault-agent, envoy', lock: 'on' },
  ].map((annotations: Fields) => pod({ ...annotations, waiter }, [app, envoy, vault])),
)

test('at the paths of before, either replica accepts what either has made', async () => {
  for (const path of ['/mutate', '/mutate/lock']) {
    for (const given of samples) {
      for (const first of both) {
        const made = await patched(first, path, given)
        for (const again of both) {
          const final = await patched(again, path, made)
          for (const judge of both) await assertAllowed(judge, final, `${path} of ${first}, then ${again}`)
          assert.ok(keysIn(final).every((key) => /^SIDECAR_FIRST_READY_\d$/.test(key)))
        }
      }
    }
  }
})

test('once a lock names its sidecar, only the new replicas take it, so only a path of their own asks for that', async () => {
  for (const given of samples) {
    const named = await patched('new', '/mutate/lock-by-name', given)
    assert.equal(keysIn(named)[0], `SIDECAR_FIRST_READY_1_${firstOf(given)}`)
    await assertAllowed('new', named, 'named')
    const { allowed, status } = await ask('old', '/validate', named)
    assert.equal(allowed, false)
    assert.match(status?.message ?? '', /hasn't exactly the variables/)
    // On the way back the webhook calls the path of before first. Templates with a name are put right there, whoever is asked.
    for (const which of both) {
      const put = await patched(which, '/mutate/lock', named)
      for (const judge of both) await assertAllowed(judge, put, `named, then at ${which}`)
    }
  }
})

test('an old replica that is called for names refuses nothing', async () => {
  for (const given of samples) {
    const { warnings = [] } = await ask('old', '/mutate/lock-by-name', given)
    assert.match(warnings.join(), /behind the configuration/)
    const made = await patched('old', '/mutate/lock-by-name', given)
    for (const judge of both) await assertAllowed(judge, made, 'called for names')
  }
})

const firstOf = ({ metadata }: Pod) => {
  const annotations = metadata.annotations as Fields
  return String(annotations['sidecar-first.dev/sidecars']).split(/[ ,+]/)[0]?.replaceAll('-', '_').toUpperCase()
}
