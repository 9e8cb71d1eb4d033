import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

/**
 * Opens a page in one file as somebody opens it from a disk. When it closes, it must have asked nothing of any network, and its policy must have
 * refused nothing.
 */
export async function openOffline(
  browser: Browser,
  text: string,
  options: BrowserContextOptions = {},
): Promise<AsyncDisposable & { readonly page: Page }> {
  const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-page-'))
  const file = join(folder, 'page.html')
  await writeFile(file, text)
  const context = await browser.newContext({ ...options, bypassCSP: false })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const url = String(pathToFileURL(file))
  const faults: string[] = []
  page.on('request', (request) => request.url() !== url && faults.push(`asked ${request.url()}`))
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  await page.goto(url)
  return {
    page,
    async [Symbol.asyncDispose]() {
      await context.close()
      await rm(folder, { recursive: true })
      assert.deepEqual(faults, [])
    },
  }
}
