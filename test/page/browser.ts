import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { type ServeProcess, startServe } from '../server/process.ts'
import { launch } from './chromium.ts'

let browser: Browser
let server: ServeProcess

/** Starts one browser and one server for all tests of a file. */
export function useBrowser(): void {
  before(async () => {
    ;[browser, server] = await Promise.all([launch(), startServe()])
  })
  after(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })
}

export const serverUrl = () => server.url

/** Opens a new page and waits until it shows the result of its first manifest. When it closes, it must not have sent a request to any other server. */
export async function openPage(options: BrowserContextOptions = {}, fragment = ''): Promise<Opened> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('request', (request) => {
    const { origin } = new URL(request.url())
    if (origin !== server.url) faults.push(`asked ${request.url()}`)
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  await page.exposeFunction('violated', (what: string) => faults.push(`CSP: ${what}`))
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', (event) => violated(event.violatedDirective + ' ' + event.blockedURI))`,
  )
  await page.goto(`${server.url}/${fragment}`)
  await page.locator('#results > *').first().waitFor()
  return {
    page,
    async [Symbol.asyncDispose]() {
      await context.close()
      assert.deepEqual(faults, [])
    },
  }
}
interface Opened extends AsyncDisposable {
  readonly page: Page
}

export const exampleNames = ['database-proxy', 'two-tiers', 'native', 'job', 'refused'] as const

export const example = (name: string): Promise<string> =>
  readFile(new URL(`../../src/page/examples/${name}.yaml`, import.meta.url), 'utf8')

/** The status line, which screen readers announce when an answer arrives. */
const status = (page: Page) => page.getByRole('status')

/** Resolves when the status line matches. */
export async function says(page: Page, pattern: RegExp): Promise<void> {
  await status(page).filter({ hasText: pattern }).waitFor()
}
