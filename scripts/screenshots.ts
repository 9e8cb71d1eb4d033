// node scripts/screenshots.ts [FOLDER]: takes the pictures of the page for the README and the docs, at twice the size at which they are shown.
import { resolve } from 'node:path'
import type { BrowserContextOptions } from 'playwright-core'
import { launch } from '../test/page/chromium.ts'
import { startServe } from '../test/server/process.ts'

const folder = resolve(process.argv[2] ?? new URL('../docs', import.meta.url).pathname)

const wide = { viewport: { width: 1280, height: 950 } }
const pictures: Record<string, BrowserContextOptions & { example: string; pattern: RegExp }> = {
  'preview-light': { ...wide, example: 'two-tiers', pattern: /shop/, colorScheme: 'light' },
  'preview-dark': { ...wide, example: 'two-tiers', pattern: /shop/, colorScheme: 'dark' },
  'preview-refused': {
    viewport: { width: 1280, height: 720 },
    example: 'refused',
    pattern: /refused/,
    colorScheme: 'light',
  },
}

await using server = await startServe()
const browser = await launch()
for (const [name, { example, pattern, ...options }] of Object.entries(pictures)) {
  const context = await browser.newContext({ ...options, ignoreHTTPSErrors: true, deviceScaleFactor: 2 })
  const page = await context.newPage()
  await page.goto(server.url)
  await page.locator(`[data-example=${example}]`).click()
  await page.getByRole('status').filter({ hasText: pattern }).waitFor()
  // What to do about a mistake comes with a request of its own.
  await page.waitForLoadState('networkidle')
  await page.mouse.move(0, 0)
  await page.evaluate('document.activeElement.blur()')
  await page.screenshot({ path: resolve(folder, `${name}.png`) })
  await context.close()
}
await browser.close()
