import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openPage, says, useBrowser } from './browser.ts'

useBrowser()

/** As Istio's injector leaves it: the proxy last, and its agent answers the probe of cache. `probe`: what cache's readinessProbe asks. */
const injected = (
  name: string,
  { probe = 'port: 15020, path: /app-health/cache/readyz', sidecars = 'cache', gate = 'hook' },
) => `kind: Pod
metadata:
  name: ${name}
  annotations:
    sidecar-first.dev/sidecars: ${sidecars}
    sidecar-first.dev/gate: ${gate}
    sidecar-first.dev/waiter: image-volume
    sidecar-first.dev/lock: "off"
spec:
  containers:
  - name: app
  - name: cache
    readinessProbe: {httpGet: {${probe}}}
  - name: istio-proxy
    readinessProbe: {httpGet: {port: 15021, path: /healthz/ready}}
`

const cases = {
  'waits-in-vain': {
    what: 'a deadlock under gate hook: red',
    asks: {},
    captions: [
      ['bad', 'cache waits in vain for istio-proxy, which starts later.'],
      ['bad', 'app starts before cache is ready.'],
    ],
    bars: ['stuck', 'early', 'ready', 'starting', 'ready'],
  },
  'never-starts': {
    what: 'a deadlock under gate native: red, and what never starts has no other bar',
    asks: { gate: 'native' },
    captions: [
      ['bad', 'cache waits in vain for istio-proxy, which starts later.'],
      ['bad', 'app never starts: what it waits for needs istio-proxy.'],
      ['bad', 'istio-proxy never starts: what it waits for needs istio-proxy.'],
    ],
    bars: ['stuck', 'never', 'never'],
  },
  perhaps: {
    what: 'a sidecar in front of a mesh proxy that it may need: amber, and never green',
    asks: { probe: 'port: 8080, path: /ready' },
    captions: [
      ['doubtful', 'cache may need istio-proxy, which starts later.'],
      ['doubtful', 'app may start late: what it waits for may need istio-proxy.'],
    ],
    bars: ['hook', 'doubtful', 'starting', 'doubtful', 'starting', 'doubtful'],
  },
  right: {
    what: 'with the proxy named first, as the warning says: green',
    asks: { sidecars: '"istio-proxy, cache"' },
    captions: [['good', 'app starts once istio-proxy and cache are ready.']],
    bars: ['hook', 'ready', 'hook', 'ready', 'starting', 'ready'],
  },
} as const

async function show(page: Page, name: keyof typeof cases): Promise<void> {
  await page.locator('#manifest').fill(injected(name, cases[name].asks))
  await says(page, new RegExp(`^Pod ${name}: patched`))
  await page.locator('figure').nth(1).locator('svg rect').first().waitFor()
}

const inPatched = (page: Page, selector: string, what: string) =>
  page.evaluate(
    `[...[...document.querySelectorAll('figure')].at(1).querySelectorAll('${selector}')].map((each) => ${what})`,
  )

for (const [name, { what, captions, bars }] of Object.entries(cases)) {
  test(what, async () => {
    await using opened = await openPage()
    const { page } = opened
    await show(page, name as keyof typeof cases)
    const told = (await inPatched(page, 'figcaption span', '[each.className, each.textContent.trim()]')) as string[][]
    for (const caption of captions)
      assert.deepEqual(
        told.find(([, text]) => text === caption[1]),
        caption,
      )
    assert.deepEqual([...new Set(told.map(([mood]) => mood))], [captions[0][0]])
    const drawn = (await inPatched(page, 'svg rect', "each.getAttribute('class')")) as string[]
    assert.deepEqual(
      drawn.filter((kind) => kind !== 'init'),
      bars,
    )
  })
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`good, doubtful and bad look different, ${colorScheme}`, async () => {
    await using opened = await openPage({ colorScheme })
    const { page } = opened
    const fills = new Map<string, string>()
    const colors = new Map<string, string>()
    for (const name of ['never-starts', 'perhaps', 'right'] as const) {
      await show(page, name)
      const bars = await inPatched(page, 'svg rect', "[each.getAttribute('class'), getComputedStyle(each).fill]")
      for (const [kind = '', fill = ''] of bars as string[][]) fills.set(kind, fill)
      const captions = await inPatched(page, 'figcaption span', '[each.className, getComputedStyle(each).color]')
      for (const [mood = '', color = ''] of captions as string[][]) colors.set(mood, color)
    }
    assert.equal(new Set(['good', 'doubtful', 'bad'].map((mood) => colors.get(mood))).size, 3, [...colors].join())
    assert.equal(new Set(['ready', 'doubtful', 'stuck'].map((kind) => fills.get(kind))).size, 3, [...fills].join())
    assert.notEqual(fills.get('never'), fills.get('ready'))
  })
}

test('how the pod ends is drawn below how it starts, with a code where an app may miss its sidecar', async () => {
  await using opened = await openPage()
  const { page } = opened
  const end = page.locator('figure').nth(2)
  const shown = async (gate: string) => {
    const asks = { gate, sidecars: 'istio-proxy' }
    await page.locator('#manifest').fill(injected(gate, asks))
    await says(page, new RegExp(`^Pod ${gate}: patched`))
    await end.locator('svg rect').first().waitFor()
    return {
      caption: (await end.locator('figcaption').allTextContents()).join(),
      app: await end
        .getByRole('listitem')
        .filter({ hasText: 'app' })
        .locator('rect')
        .evaluateAll((all) => all.map((each) => each.getAttribute('class'))),
    }
  }
  const hook = await shown('hook')
  assert.match(hook.caption, /SF682: when the pod ends, istio-proxy and .*app.* get SIGTERM together/)
  assert.deepEqual(hook.app, ['ending', 'alone'])
  const native = await shown('native')
  assert.equal(native.caption, '')
  assert.deepEqual(native.app, ['ending'])
})
