import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { run } from '../cli/process.ts'
import { create, createNamespace, deleteNamespaces, kubectl, until } from './cluster.ts'
import { app, getPods, podSpec, sidecar, statusOf } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

const home = 'scan'
const replicas = 10
/** Where the pages go, to be looked at. */
const { SCAN_PAGES: pages } = process.env

/** It gives up where its sidecar doesn't answer, like many an app. */
const impatient = 'wget -q -O - http://127.0.0.1:9901/ready || { sleep 5; exit 1; }; exec sleep 3600'
const readinessProbe = { httpGet: { path: '/ready', port: 9901 }, periodSeconds: 1 }
const containers = [app(impatient), sidecar('envoy', { HTTP: ':9901', READY_AFTER: '3s' }, { readinessProbe })]
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'checkout', namespace: home },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'checkout' } },
    template: { metadata: { labels: { app: 'checkout' } }, spec: podSpec(containers) },
  },
}

/** `sidecar-first scan` of the namespace: as text, and what it has found. */
async function scan(name: string, ...flags: readonly string[]) {
  const found = await run(['scan', '-n', home, '-o', 'json', ...flags])
  assert.equal(found.stderr, '')
  const { stdout } = await run(['scan', '-n', home, '--all'])
  if (pages) await writeFile(join(pages, `${name}.html`), (await run(['scan', '-n', home, '-o', 'html'])).stdout)
  if (pages) await writeFile(join(pages, `${name}.txt`), stdout)
  return { code: found.code, text: stdout, ...JSON.parse(found.stdout) }
}

/** Once all its pods are ready. */
const rolledOut = () => kubectl('rollout', 'status', '-n', home, 'deploy/checkout', '--timeout=180s')

describe('a Deployment of ten, whose app fails when its sidecar is not ready', () => {
  let webhook: Webhook | undefined
  let line: { key: string; value: string } | undefined
  let shown = ''
  before(async () => {
    webhook = await startWebhook(home)
    await createNamespace(home, { test: home })
    await create(deployment)
    await rolledOut()
  })
  after(async () => {
    await deleteNamespaces(home)
    await webhook?.remove()
  })

  test('is found by a scan: what was seen for sure, what is probable, and the line that would mend it', async () => {
    const { code, text, counts, workloads } = await scan('before', '--fail-on', 'sure')
    assert.equal(code, 1, text)
    shown = text
    assert.deepEqual(counts, { workloads: 1, pods: replicas, known: 1, unguarded: 1, sure: 1, probable: 0 })
    const [{ sidecars, seen, mend }] = workloads
    assert.equal(sidecars[0].today.text, 'app, then envoy; nothing waits')
    const told: readonly string[] = seen.map(
      (each: { certainty: string; text: string }) => `${each.certainty}: ${each.text}`,
    )
    assert.match(told.join('\n'), /^sure: \d+ of 10 apps (ran while envoy wasn't ready|started before envoy did)/m)
    assert.match(
      told.join('\n'),
      /^probable: \d+ of 10 apps ended with code 1 within \d+ s, then ran \(probably: envoy wasn't ready\)$/m,
    )
    assert.match(text, /started like this:\n {2}app /)
    line = mend.lines[0]
    assert.deepEqual(line, { key: 'sidecar-first.dev/sidecars', value: 'envoy' })
  })

  test('is what docs/scan.md shows', async () => {
    const page = await readFile(new URL('../../docs/scan.md', import.meta.url), 'utf8')
    const [, sample = ''] = /```\n\$ sidecar-first scan -n scan --all\n(.*?)```/s.exec(page) ?? []
    assert.notEqual(sample, '')
    // Numbers differ, and the drawing with them; on a quiet machine no two starts are a second apart.
    const alike = (shown: string) =>
      shown
        .split('\n\n')
        .slice(0, 2)
        .join('\n')
        .replaceAll(/.* SF911 .*\n/g, '')
        .replaceAll(/\d+/g, 'N')
    assert.equal(alike(shown), alike(sample))
  })

  test('starts in order with that line, and no harm is seen any more', async () => {
    const { key = '', value } = line ?? {}
    const patch = JSON.stringify({ spec: { template: { metadata: { annotations: { [key]: value } } } } })
    await kubectl('patch', 'deployment', '-n', home, 'checkout', '--type=merge', '-p', patch)
    await rolledOut()
    const pods = await until('the former pods to be gone', async () => {
      const found = await getPods(home)
      return found.size === replicas ? found : undefined
    })
    for (const pod of pods.values()) assert.equal(statusOf(pod, 'app')?.restartCount, 0, pod.metadata.name)
    const { code, text, workloads } = await scan('after', '--fail-on', 'unguarded')
    assert.equal(code, 0, text)
    const [{ sidecars, seen, standing }] = workloads
    assert.deepEqual([standing, seen], ['guarded', []])
    assert.equal(sidecars[0].today.text, 'envoy, then app; a hook of sidecar-first waits')
  })
})
