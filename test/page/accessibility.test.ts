import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import type { AxeResults } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { openPage, says, useBrowser } from './browser.ts'

useBrowser()

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    'axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]})',
  )) as AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  )
}

const screens: Record<string, BrowserContextOptions> = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  narrow: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme: 'dark' },
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
      assert.deepEqual(await violations(page), [], show)
      const wide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
      assert.equal(wide, 0, show)
    }
    await page.locator('#manifest').fill('kind: Pod\n\ta: 1\n')
    await says(page, /can not be read/)
    assert.deepEqual(await violations(page), [])
  })
}

test('everything works with the keyboard alone, and the focus is visible', async () => {
  await using opened = await openPage()
  const { page } = opened
  const reached: string[] = []
  for (let count = 0; count < 40; count++) {
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
  const told = await page.locator('figure').last().locator('ol li').allTextContents()
  assert.match(told.join('\n'), /otel starts at step \d+; its hook runs until step \d+ and waits for envoy and otel/)
})
