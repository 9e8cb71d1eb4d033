import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { violations } from './axe.ts'
import { openPage, says, useBrowser } from './browser.ts'

useBrowser()

const indent = '    '
/** The completions of its fifth line are keys. */
const suggested = `kind: Pod
metadata:
  name: silent
  annotations:
${indent}
spec:
  containers:
  - name: app
  - name: istio-proxy
    readinessProbe: {httpGet: {port: 15021, path: /healthz/ready}}
`

const screens: Record<string, BrowserContextOptions> = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  narrow: { viewport: { width: 320, height: 740 }, hasTouch: true, isMobile: true, colorScheme: 'dark' },
}
for (const [name, options] of Object.entries(screens)) {
  test(`${name}: axe reports no problems, and nothing is wider than the screen`, async () => {
    await using opened = await openPage(options)
    const { page } = opened
    for (const [show, pattern] of [
      ['two-tiers', /shop: patched/],
      ['job', /nightly-export: patched/],
      ['refused', /refused/],
    ] as const) {
      await page.locator(`[data-example=${show}]`).click()
      await says(page, pattern)
      for (const closed of await page.locator('.patch > summary').all()) await closed.click()
      assert.deepEqual(await violations((expression) => page.evaluate(expression)), [], show)
      const wide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
      assert.equal(wide, 0, show)
    }
    await page.locator('#manifest').fill('kind: Pod\n\ta: 1\n')
    await says(page, /can not be read/)
    assert.deepEqual(await violations((expression) => page.evaluate(expression)), [])
    // All that can be opened, with a mistake in the configuration, the completions and a suggestion.
    await page.locator('#manifest').fill(suggested)
    await says(page, /there is a suggestion/)
    for (const closed of await page.locator('.drawer > summary').all()) await closed.click()
    assert.deepEqual(await violations((expression) => page.evaluate(expression)), [], 'a suggestion')
    await page.locator('#configuration').fill('apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules: 5\n')
    await says(page, /^The configuration can not be read/)
    await page.evaluate(
      "manifest.focus(); manifest.setSelectionRange(...Array(2).fill(manifest.value.indexOf('\\nspec')))",
    )
    await page.keyboard.press('Control+Space')
    await page.locator('.completions:not([hidden])').waitFor()
    assert.deepEqual(await violations((expression) => page.evaluate(expression)), [], 'all open')
    const wide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.equal(wide, 0, 'all open')
  })
}

test('everything works with the keyboard alone, and the focus is visible', async () => {
  await using opened = await openPage()
  const { page } = opened
  const reached: string[] = []
  for (let count = 0; count < 60; count++) {
    await page.keyboard.press('Tab')
    const [where, visible] = (await page.evaluate(`(() => {
      const at = document.activeElement
      const look = getComputedStyle(at.id === 'manifest' ? at.closest('.editor') : at)
      return [at === document.body ? '' : at.textContent.trim().slice(0, 30) || at.id, at.id === 'manifest' || look.outlineStyle !== 'none']
    })()`)) as [string, boolean]
    // Past the last element.
    if (where === '') break
    reached.push(where)
    assert(visible, where)
    if (where === 'Job') await page.keyboard.press('Enter')
    if (where === 'Job') await says(page, /^Job nightly-export/)
    if (where.startsWith('Patch:')) await page.keyboard.press('Enter')
  }
  for (const stop of [
    'Skip to the result',
    'API',
    'What if: as this server is con',
    'Annotations',
    'Open files',
    'Copy a link',
    'Job',
    'manifest',
    'Copy the patch',
    'Copy the result',
  ]) {
    assert(reached.includes(stop), `${stop} is not among ${reached.join(', ')}`)
  }
})

test('reduced motion turns off all transitions', async () => {
  await using opened = await openPage({ reducedMotion: 'reduce' })
  const moving = await opened.page.evaluate(
    "[...document.querySelectorAll('*')].filter((node) => getComputedStyle(node).transitionDuration !== '0s').length",
  )
  assert.equal(moving, 0)
})

test('the chart is also available as text', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('[data-example=two-tiers]').click()
  await says(page, /shop/)
  const bar = page.locator('figure').nth(1).getByRole('listitem').filter({ hasText: 'otel' }).first()
  assert.equal(await bar.locator('.note').textContent(), 'the lock waits for it')
  const told = await bar.getByRole('img').getAttribute('aria-label')
  assert.match(
    told ?? '',
    /^its hook waits, nothing else starts, step \d+ to \d+; not ready yet, step.*; ready, step \d+ to \d+$/,
  )
  const colours = page.getByRole('listitem').filter({ hasText: /^its hook waits, nothing else starts$/ })
  assert.equal(await colours.count(), 0, 'nobody is read what a colour means')
})
