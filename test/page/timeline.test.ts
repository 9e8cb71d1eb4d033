import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { htmlMany, htmlTimeline } from '../../src/timeline/html.ts'
import { together } from '../../src/timeline/many.ts'
import { recordedNames, recordedPod } from '../outcome/recorded.ts'
import { timelineOf } from '../outcome/seen.ts'
import { violations } from './axe.ts'
import { launch } from './chromium.ts'
import { openOffline } from './offline.ts'

// The page of `timeline -o html`, as somebody opens it from a disk.
const all = recordedNames.map((name) => timelineOf(recordedPod(name)))
const crashed = timelineOf(recordedPod('crashed-once'))
const about = { now: Date.parse('2026-11-22T07:00:00Z'), version: '1.0.0' }
const pages = {
  workload: htmlMany(together(all, { kind: 'Deployment', namespace: 'shop', name: 'web' }), about),
  pod: htmlTimeline(crashed, about),
}
let browser: Browser
before(async () => {
  browser = await launch()
})
after(async () => {
  await browser?.close()
})

for (const [name, text] of Object.entries(pages)) {
  for (const [screen, options] of Object.entries({
    light: { colorScheme: 'light' },
    dark: { colorScheme: 'dark' },
    narrow: { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
  } as const)) {
    test(`${name}, ${screen}: axe reports no problems, nothing is asked of a network or refused by the page's policy`, async () => {
      await using opened = await openOffline(browser, text, options)
      const { page } = opened
      assert.notEqual(await page.locator('.bar rect').count(), 0)
      const [bar, axis] = await Promise.all(
        ['.bar svg', '.axis'].map((each) => page.locator(each).first().boundingBox()),
      )
      assert.deepEqual([axis?.x, axis?.width], [bar?.x, bar?.width])
      const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      assert.equal(ground, screen === 'light' ? 'rgb(245, 246, 248)' : 'rgb(15, 20, 25)')
      assert.equal(
        await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
        0,
      )
      assert.deepEqual(await violations((expression) => page.evaluate(expression)), [])
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}-${screen}.png`) })
    })
  }
}
