import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { run } from '../../cli/process.ts'
import { launch } from '../../page/chromium.ts'
import { openOffline } from '../../page/offline.ts'
import { create, createNamespace, deleteNamespaces, kubectl, until } from '../cluster.ts'
import { type Series, startExporter } from '../exporter.ts'
import { app, type Container, firstLineOf, getLog, getPods, markOf, podSpec, sidecar, statusOf } from '../pod.ts'
import { startWebhook, type Webhook } from '../webhook.ts'

const home = 'scan'
const replicas = 10
/** Where the pages and pictures of them go, to be looked at. */
const { SCAN_PAGES: pages } = process.env

const readinessProbe = { httpGet: { path: '/ready', port: 9901 }, periodSeconds: 1 }
const envoy = (readyAfter: string) => sidecar('envoy', { HTTP: ':9901', READY_AFTER: readyAfter }, { readinessProbe })
const asks = 'wget -q -O - http://127.0.0.1:9901/ready'
/** It gives up where its sidecar doesn't answer, like many an app; late enough for its second start, whatever the machine. */
const impatient = `${asks} || { sleep 5; until ${asks}; do sleep 1; done; exit 1; }; date; exec sleep 3600`
/** This one at once, so it has been restarted twice before its sidecar is ready. */
const hasty = `${asks} || exit 1; date; exec sleep 3600`
const deployments = [
  deployment('checkout', replicas, [app(impatient), envoy('3500ms')]),
  deployment('basket', 1, [app(hasty), envoy('9s')]),
]

function deployment(name: string, replicas: number, containers: readonly Container[]) {
  const template = { metadata: { labels: { app: name } }, spec: podSpec(containers) }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: home },
    spec: { replicas, selector: { matchLabels: { app: name } }, template },
  }
}

type Line = { key: string; value: string }
/** What `scan -o json` says of a workload, as far as it is looked at here. */
type Workload = {
  name: string
  standing: string
  sidecars: { today: { text: string } }[]
  seen: { certainty: string; text: string; some: number }[]
  mend: { lines?: Line[] }
}
type Scanned = { code: number | null; text: string; html: string; counts: object; workloads: Workload[] }

/** `sidecar-first scan` of the namespace in each of its forms. */
async function scan(name: string, failOn: string): Promise<Scanned> {
  const found = await run(['scan', '-n', home, '-o', 'json', '--fail-on', failOn])
  assert.equal(found.stderr, '')
  const { stdout: text } = await run(['scan', '-n', home, '--all'])
  const { stdout: html } = await run(['scan', '-n', home, '-o', 'html'])
  if (pages) {
    await writeFile(join(pages, `${name}.html`), html)
    await writeFile(join(pages, `${name}.txt`), text)
  }
  return { code: found.code, text, html, ...JSON.parse(found.stdout) }
}

const told = ({ seen }: Workload) => seen.map(({ certainty, text }) => `${certainty}: ${text}`)

/** Once all pods of both are ready, and no others are left. */
async function rolledOut() {
  for (const { metadata } of deployments)
    await kubectl('rollout', 'status', '-n', home, `deploy/${metadata.name}`, '--timeout=180s')
  return until('the former pods to be gone', async () => {
    const found = await getPods(home)
    return found.size === replicas + 1 ? found : undefined
  })
}

/** When the kubelet first said so of a container, in ms since 1970: an event's name ends in its time in nanoseconds. */
function eventOf(pod: string, reason: string, container: string): Promise<number> {
  const selector = `involvedObject.name=${pod},reason=${reason},involvedObject.fieldPath=spec.containers{${container}}`
  return until(`${reason} of ${container} in ${pod}`, async () => {
    const found = await kubectl('get', 'events', '-n', home, '--field-selector', selector, '-o', 'name')
    const digits = /\.([0-9a-f]{16})\s*$/.exec(found)?.[1]
    return digits === undefined ? undefined : Number(BigInt(`0x${digits}`) / 1_000_000n)
  })
}

/** The numbers at the head of the page. */
async function numbersOf(page: Page): Promise<Record<string, number>> {
  const [names, values] = await Promise.all(['dt', 'dd'].map((tag) => page.locator(`.numbers ${tag}`).allInnerTexts()))
  return Object.fromEntries((names ?? []).map((name, index) => [name, Number(values?.[index])]))
}

/** The lines about workloads that can be seen, with the colours of their labels. */
function rowsOf(page: Page): Promise<readonly { label: string; text: string; colour: string }[]> {
  return page.evaluate(`[...document.querySelectorAll('.rows > div')].filter((row) => row.checkVisibility()).map((row) => {
    const [label, text] = row.children
    return { label: label.innerText, text: text.innerText, colour: getComputedStyle(label).color }
  })`)
}

async function shoot(page: Page, name: string): Promise<void> {
  if (pages) await page.screenshot({ path: join(pages, `${name}.png`), fullPage: true })
}

describe('a Deployment of ten, whose app fails when its sidecar is not ready', () => {
  let webhook: Webhook | undefined
  let browser: Browser
  let found: Scanned
  let mended: Scanned
  let exporter: Awaited<ReturnType<typeof startExporter>>
  /** How long each pod's app has waited by the kubelet's events, in s. */
  let waited: readonly number[] = []
  before(async () => {
    browser = await launch()
    webhook = await startWebhook(home)
    exporter = await startExporter()
    await createNamespace(home, { test: home })
    await create(...deployments)
    await rolledOut()
    found = await scan('before', 'sure')
  })
  after(async () => {
    await browser?.close()
    await exporter?.[Symbol.asyncDispose]()
    await deleteNamespaces(home)
    await webhook?.remove()
  })

  test('is found by a scan: what was seen for sure, what is probable, and the line that would mend it', () => {
    assert.equal(found.code, 1, found.text)
    assert.deepEqual(found.counts, {
      workloads: 2,
      pods: replicas + 1,
      known: 2,
      unguarded: 2,
      asks: 0,
      sure: sureOnes().length,
      probable: 0,
    })
    const [checkout] = found.workloads
    assert.equal(checkout?.name, 'checkout')
    assert.equal(checkout.sidecars[0]?.today.text, 'app, then envoy; nothing waits')
    assert.match(
      told(checkout).join('\n'),
      /^sure: \d+ of 10 apps (ran while envoy wasn't ready|started before envoy did)/m,
    )
    assert.match(
      told(checkout).join('\n'),
      /^probable: \d+ of 10 apps ended with code 1 within \d+ s, then ran \(probably: envoy wasn't ready\)$/m,
    )
    assert.match(found.text, /started like this:\n {2}app /)
    for (const { mend } of found.workloads)
      assert.deepEqual(mend.lines, [{ key: 'sidecar-first.dev/sidecars', value: 'envoy' }])
  })

  test('of an app that was restarted twice nothing is claimed: the status has lost its first start', () => {
    const [, basket] = found.workloads
    assert.equal(basket?.name, 'basket')
    const certain = told(basket).filter((line) => !isLater(line))
    assert.deepEqual(certain, ['unknown: app of its pod restarted twice or more: the status has lost the first start'])
  })
  // On a busy machine two containers start more than a second apart.
  const isLater = (line: string) => /^sure: .* started before envoy did/.test(line)
  const sureOnes = () => found.workloads.filter(({ seen }) => seen.some(({ certainty }) => certainty === 'sure'))

  for (const path of ['README.md', 'docs/scan.md']) {
    test(`is what ${path} shows`, async () => {
      const page = await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8')
      const [, sample = ''] = /```\n\$ sidecar-first scan -n scan --all\n(.*?)```/s.exec(page) ?? []
      // Numbers differ, and the drawing with them.
      const alike = (shown: string) =>
        shown
          .split('\n\n')
          .filter((paragraph) => !paragraph.includes('started like this'))
          .join('\n\n')
          .replaceAll(/.* SF911 .*\n/g, '')
          .replaceAll(/\d+/g, 'N')
      assert.equal(alike(sample), alike(found.text))
    })
  }

  test('is a page on which somebody sees which harm is proven and which is only probable, and a start that was too early', async () => {
    await using opened = await openOffline(browser, found.html, { colorScheme: 'light' })
    const { page } = opened
    await shoot(page, 'before')
    assert.equal(await page.locator('h1').innerText(), 'Which apps start before their sidecars?')
    assert.deepEqual(await numbersOf(page), {
      workloads: 2,
      'with a known sidecar': 2,
      unguarded: 2,
      'harm seen': sureOnes().length,
      'harm probable': 0,
    })
    const article = page.locator('article').first()
    assert.equal(await article.locator('h2').innerText(), `${home}/checkout`)
    assert.ok(await article.isVisible())
    const rows = await rowsOf(page)
    const [sure, probable] = ['seen', 'probably'].map((label) => rows.find((row) => row.label === label))
    // On a busy machine one of the ten may have been restarted twice, too.
    const unknown = rows.find(({ label, text }) => label === 'unknown' && text.includes(' of its pod '))
    assert.match(sure?.text ?? '', /^SF91[12] \d+ of 10 apps/)
    assert.match(probable?.text ?? '', /^SF921 \d+ of 10 apps ended with code 1/)
    assert.match(unknown?.text ?? '', /^SF932 app of its pod restarted/)
    assert.equal(new Set([sure, probable, unknown].map((row) => row?.colour)).size, 3)
    assert.deepEqual(
      (await page.locator('pre:visible').allInnerTexts()).map((text) => text.trim()),
      ['sidecar-first.dev/sidecars: envoy', 'sidecar-first.dev/sidecars: envoy'],
    )
    const bar = article.getByRole('img', { name: /^app: / })
    assert.match((await bar.getAttribute('aria-label')) ?? '', /runs too early, .*; failed, /)
    const early = await bar.locator('rect.early').boundingBox()
    assert.ok((early?.width ?? 0) > 40, `${early?.width} px of a start that was seconds too early`)
  })

  test('starts in order with that line, and no harm is seen any more', async () => {
    for (const { name, mend } of found.workloads) {
      const annotations = Object.fromEntries((mend.lines ?? []).map(({ key, value }) => [key, value]))
      const patch = JSON.stringify({ spec: { template: { metadata: { annotations } } } })
      await kubectl('patch', 'deployment', '-n', home, name, '--type=merge', '-p', patch)
    }
    const pods = await rolledOut()
    waited = await Promise.all(
      [...pods].map(async ([name, pod]) => {
        assert.equal(statusOf(pod, 'app')?.restartCount, 0, name)
        const log = await getLog(home, name)
        assert.ok(firstLineOf(log) >= markOf(log, 'envoy', 'ready'), `${name} started before envoy was ready`)
        const started = await eventOf(name, 'Started', 'envoy')
        const wentOn = await eventOf(name, 'Pulled', 'app')
        assert.ok(started < wentOn && wentOn <= firstLineOf(log), `the events of ${name}`)
        return (wentOn - started) / 1000
      }),
    )
    mended = await scan('after', 'unguarded')
    assert.equal(mended.code, 0, mended.text)
    for (const { standing, seen, sidecars } of mended.workloads) {
      assert.deepEqual([standing, seen], ['guarded', []])
      assert.equal(sidecars[0]?.today.text, 'envoy, then app; a hook of sidecar-first waits')
    }
  })

  test('is then a page without harm, and what is guarded is folded away', async () => {
    await using opened = await openOffline(browser, mended.html, { colorScheme: 'dark' })
    const { page } = opened
    await shoot(page, 'after')
    assert.deepEqual(await numbersOf(page), {
      workloads: 2,
      'with a known sidecar': 2,
      unguarded: 0,
      'harm seen': 0,
      'harm probable': 0,
    })
    assert.deepEqual(await rowsOf(page), [])
    await page.locator('summary').click()
    await shoot(page, 'after-opened')
    assert.deepEqual(
      (await rowsOf(page)).map(({ label, text }) => `${label}: ${text}`),
      Array(2).fill('today: SF907 envoy, then app; a hook of sidecar-first waits'),
    )
  })

  test('is counted by the exporter: who started too early and failed, and then how long the apps waited', async (t) => {
    const ours = (series: readonly Series[], name: string) =>
      series.filter((each) => each.name === `sidecar_first_${name}` && each.labels.sidecar === 'envoy')
    const sum = (series: readonly Series[]) => series.reduce((all, { value }) => all + value, 0)
    // A pod that is gone is counted at once.
    await kubectl('scale', '-n', home, 'deploy', '--all', '--replicas=0')
    const all = await until('all of them to be counted', async () => {
      const found = await exporter.scrape()
      return sum(ours(found, 'start_wait_seconds_count')) >= waited.length ? found : undefined
    })
    const counts = ours(all, 'start_wait_seconds_count').filter(({ value }) => value > 0)
    assert.deepEqual(
      counts.map(({ labels: { gate, outcome }, value }) => [gate, outcome, value]),
      [['hook', 'ready', replicas + 1]],
    )
    assert.equal(sum(ours(all, 'start_waits_coarse_total')), 0)
    const total = sum(ours(all, 'start_wait_seconds_sum'))
    const expected = waited.reduce((sum, each) => sum + each, 0)
    assert.ok(Math.abs(total - expected) < 0.002 * waited.length, `${total} s in all, by the events ${expected} s`)
    t.diagnostic(`${waited.length} waits: ${total} s`)
    const buckets = ours(all, 'start_wait_seconds_bucket').filter(({ labels }) => labels.outcome === 'ready')
    for (const { labels, value } of buckets) {
      const edge = Number(labels.le === '+Inf' ? Infinity : labels.le)
      assert.equal(value, waited.filter((each) => each <= edge).length, `at most ${edge} s`)
    }
    // At least those of which the scan knew. It may have seen more: what a status has lost by then.
    const known = (certainty: string) =>
      Math.max(
        0,
        ...found.workloads.flatMap(({ seen }) => seen).map((each) => (each.certainty === certainty ? each.some : 0)),
      )
    const within = (value: number, least: number) =>
      assert.ok(value >= least && value <= replicas + 1, `${value}, and the scan knew of ${least}`)
    const here = all.filter(({ labels, value }) => labels.namespace === home && value > 0)
    const early = ours(here, 'early_starts_total')
    within(sum(early), known('sure'))
    assert.ok(
      early.every(({ labels }) => labels.gate === 'none'),
      'with the line none was too early',
    )
    const crashed = here.filter(({ name }) => name === 'sidecar_first_start_crashes_total')
    within(sum(crashed), known('probable'))
    assert.ok(known('probable') > 0)
  })
})
