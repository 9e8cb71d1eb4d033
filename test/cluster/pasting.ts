import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { launch } from '../page/chromium.ts'
import { until } from './cluster.ts'

/** The page of a webhook's server in a real browser. */
export type Pasting = {
  /**
   * Pastes manifests into the page, as a user does, and presses the button that adds what is suggested, if there is one.
   * @param too the one that also adds what only serves if the sidecar is configured for it
   */
  paste(manifests: string, too?: boolean): Promise<Pasted>
  close(): Promise<void>
}

/** What the page then has. */
type Pasted = {
  /** How many times a button had to be pressed, until none was left. */
  clicks: number
  /** The text in the editor. */
  text: string
  /** What its button "Download" gives: the manifests as the webhook would make them. */
  download(): Promise<string>
}

export async function openPage(url: string): Promise<Pasting> {
  const browser = await launch()
  const permissions = ['clipboard-read', 'clipboard-write']
  const page = await browser.newPage({ ignoreHTTPSErrors: true, permissions })
  // Chromium gives up what it loads when a network interface comes or goes, as those of pods do.
  await until('the whole page', async () => {
    let whole = true
    const missed = () => {
      whole = false
    }
    page.on('requestfailed', missed)
    await page.goto(url).catch(missed)
    page.off('requestfailed', missed)
    return whole || undefined
  })
  return {
    async paste(manifests, too = false) {
      await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(manifests)})`)
      await page.locator('#manifest').focus()
      await page.keyboard.press('Control+a')
      await page.keyboard.press('Control+v')
      await until('the pasted text', async () => ((await page.evaluate(text)) === manifests ? true : undefined))
      await answered(page)
      const name = too ? /^Add (?:this line|these lines), too$/ : /^Add (?:this line|these lines|all suggested lines)$/
      const adds = page.getByRole('button', { name })
      let clicks = 0
      for (; clicks < 5 && (await adds.count()) > 0; clicks++) {
        await adds.first().click()
        await answered(page)
      }
      return { clicks, text: (await page.evaluate(text)) as string, download: () => download(page) }
    },
    close: () => browser.close(),
  }
}

const text = "document.getElementById('manifest').value"

/** Resolves when the answer to what is in the editor is shown, and not that there is none yet. The page's policy forbids to wait in it. */
async function answered(page: Page): Promise<void> {
  const shown = `results.ariaBusy === 'false' && /patched|unchanged|skipped|refused/.test(document.getElementById('status').textContent)`
  await until('the page’s answer', async () => ((await page.evaluate(shown)) ? true : undefined))
}

async function download(page: Page): Promise<string> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download', exact: true }).click(),
  ])
  return readFile(await file.path(), 'utf8')
}
