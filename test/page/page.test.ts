import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { whatIfType } from '../../src/preview/what-if.ts'
import { call } from '../server/call.ts'
import { example, exampleNames, openPage, says, serverUrl, useBrowser } from './browser.ts'
import { pod } from './pod.ts'

useBrowser()

test('it opens with an example, and answers as you type', async () => {
  await using opened = await openPage()
  const { page } = opened
  await says(page, /^Deployment checkout: patched/)
  await page.locator('#manifest').fill('')
  await says(page, /^Nothing yet/)
  await page.locator('#manifest').pressSequentially('kind: ConfigMap')
  await says(page, /^ConfigMap: skipped$/)
  assert.match((await page.locator('.reasons').textContent()) ?? '', /a ConfigMap has no pod template/)
  assert.equal(await page.locator('#editor .gutter').textContent(), '1\n')
})

const outcomes: Record<(typeof exampleNames)[number], RegExp> = {
  'database-proxy': /^Deployment checkout: patched$/,
  'two-tiers': /^Deployment shop: patched/,
  native: /^Pod reports: patched/,
  job: /^Job nightly-export: patched, 3 warnings$/,
  refused: /^Pod mistakes: refused$/,
}
test('each example shows what its name promises, and the same as the endpoint', async () => {
  await using opened = await openPage()
  const { page } = opened
  for (const name of exampleNames) {
    await page.locator(`[data-example=${name}]`).click()
    await says(page, outcomes[name])
    assert.equal(await page.locator('#manifest').inputValue(), await example(name))
    const headers = { accept: 'application/yaml', 'content-type': whatIfType }
    const body = JSON.stringify({ manifests: await example(name), settings: { kubernetesVersion: '1.36' } })
    const { status, text } = await call(`${serverUrl()}/preview`, { body, headers })
    if (name === 'refused') {
      assert.equal(status, 422)
      assert.equal(await page.locator('.bars').count(), 0)
      continue
    }
    // All lines except the removed ones are the patched manifest, line for line.
    await page.getByRole('button', { name: 'Show all lines' }).click()
    const shown = await page.evaluate(
      `[...document.querySelectorAll('.row:not(.old) code')].map(({ lastChild }) => lastChild.data)`,
    )
    assert.deepEqual(shown, text.replace(/\n$/, '').split('\n'))
    if (name === 'two-tiers') {
      assert.equal(await page.locator('.marks').textContent(), '90 added 5 moved 0 removed')
    }
    const [without, withUs] = await page.locator('figure').all()
    assert.match((await without?.locator('figcaption').textContent()) ?? '', /starts before .* ready\./)
    assert.match((await withUs?.locator('figcaption').textContent()) ?? '', /starts once .* ready\./)
    assert.notEqual(await without?.locator('svg rect.early').count(), 0)
    assert.equal(await withUs?.locator('svg rect.early').count(), 0)
    assert.match((await page.locator('.gates').textContent()) ?? '', /the app (?:never )?starts without/)
    // A startupProbe that holds the app needs no hook.
    if (!text.includes('startupProbe:')) assert.notEqual(await withUs?.locator('svg rect.hook').count(), 0)
  }
})

test('a cost comes after the warnings, is not counted as one, and looks different', async () => {
  await using opened = await openPage()
  const { page } = opened
  const warnings = page.getByRole('list', { name: 'Warnings' })
  const costs = page.getByText('costs: the waiter adds an emptyDir')
  await page.locator('#manifest').fill(pod('priced', 'proxy'))
  await says(page, /^Pod priced: patched$/)
  assert.deepEqual([await costs.count(), await warnings.count(), await page.locator('.count').count()], [1, 0, 0])
  await page.locator('[data-example=job]').click()
  await says(page, /^Job nightly-export: patched, 3 warnings$/)
  assert.equal(await page.locator('.count').textContent(), '3 warnings')
  assert.doesNotMatch((await warnings.allTextContents()).join(), /emptyDir/)
  const [warned, priced] = (await page.evaluate(`[...document.querySelectorAll('.warnings li, .costs li')].slice(2).map(
    (item) => [item.textContent, getComputedStyle(item).color, getComputedStyle(item, '::before').content])`)) as string[][]
  assert.match(priced?.[0] ?? '', /^ ?SF219 costs: the waiter adds an emptyDir/)
  assert.notEqual(priced?.[1], warned?.[1], 'the colour of a warning')
  assert.equal(priced?.[2], 'none', 'the sign of a warning')
})

test('each object gets its own card, and many cards start closed', async () => {
  await using opened = await openPage()
  const { page } = opened
  const list = Array.from({ length: 12 }, (_, index) => pod(`p${index}`, 'proxy'))
  await page.locator('#manifest').fill([...list, pod('bad', '"a,,b"')].join('---\n'))
  await says(page, /^13 objects: 12 patched, 1 refused$/)
  assert.equal(await page.locator('#results > details').count(), 13)
  assert.equal(await page.locator('.tiers').count(), 0)
  await page.getByText('Pod p3', { exact: true }).click()
  await page.locator('.tiers').waitFor()
  assert.match((await page.locator('.changes').textContent()) ?? '', / moved/)
})

test('the coloured text follows every edit', async () => {
  await using opened = await openPage()
  const { page } = opened
  const same = async (what: string) => {
    await page.evaluate('new Promise(requestAnimationFrame)')
    const [text, painted, numbers] = (await page.evaluate(
      `[manifest.value, document.querySelector('.paint').textContent, document.querySelector('.gutter').textContent]`,
    )) as string[]
    assert.equal(painted, `${text}\n`, what)
    assert.equal(numbers?.trim().split('\n').length, text?.split('\n').length, what)
  }
  await same('at first')
  await page.locator('#manifest').focus()
  for (const keys of [
    'Control+End',
    'Enter',
    'a',
    'Control+Home',
    'Enter',
    'b',
    'ArrowDown',
    'Shift+ArrowDown',
    'Delete',
    'Control+z',
    'Control+a',
    'x',
    'Enter',
    'Enter',
    'x',
    'ArrowUp',
    'Backspace',
  ]) {
    await page.keyboard.press(keys)
    await same(keys)
  }
  await page.locator('#manifest').fill('')
  await same('nothing')
  const long = `# ${'x'.repeat(500)}\n`.repeat(210)
  await page.evaluate(`manifest.value = ${JSON.stringify(long)}; manifest.dispatchEvent(new Event('input'))`)
  await page.locator('.editor.plain').waitFor()
  assert.equal(await page.locator('#editor .paint').textContent(), '')
  await page.locator('#manifest').fill('short: again')
  await same('short again')
})

test('mistakes are marked in their lines, and a button goes there', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(`${pod('one', 'proxy')}---\nkind: Pod\nmetadata:\n\tname: two\n`)
  await says(page, /^The manifests can not be read; line 14: .*tabs/)
  assert.equal(await page.locator('.gutter .marked').textContent(), '14')
  assert.equal(await page.locator('#manifest').getAttribute('aria-invalid'), 'true')
  await page.getByRole('button', { name: 'line 14' }).click()
  assert.equal(await page.evaluate('document.activeElement.id'), 'manifest')
  const before = (await page.evaluate('manifest.value.slice(0, manifest.selectionStart)')) as string
  assert.equal(before.split('\n').length, 14)
  // An invalid annotation is marked in its line too.
  await page.locator('[data-example=refused]').click()
  await says(page, /refused/)
  assert.deepEqual(await page.locator('.gutter .marked').allTextContents(), ['7', '8', '9', '10'])
  await page.locator('#manifest').fill(pod('fine', 'proxy'))
  await says(page, /^Pod fine: patched/)
  assert.equal(await page.locator('.gutter .marked').count(), 0)
  assert.equal(await page.locator('#manifest').getAttribute('aria-invalid'), 'false')
})

test('input is always shown as text', async () => {
  await using opened = await openPage()
  const { page } = opened
  const nasty = '<img src=x onerror=alert(1)>'
  await page.locator('#manifest').fill(`kind: ConfigMap\nmetadata: {name: "${nasty}"}\ndata: {a: "${nasty}"}\n`)
  await says(page, /^ConfigMap <img/)
  assert.equal(await page.locator('#results img').count(), 0)
})

test('a stale answer does not replace a newer one', async () => {
  await using opened = await openPage()
  const { page } = opened
  let held: (() => Promise<void>) | undefined
  const { promise: arrived, resolve } = Promise.withResolvers<void>()
  await page.route('**/preview?*', (route) => {
    if (!route.request().postData()?.includes('name: slow')) {
      route.continue()
      return
    }
    held = () => route.continue()
    resolve()
  })
  await page.locator('#manifest').fill(pod('slow', 'proxy'))
  await arrived
  await page.locator('#manifest').fill(pod('quick', 'proxy'))
  await says(page, /^Pod quick/)
  await held?.().catch(() => {})
  await page.waitForTimeout(300)
  await says(page, /^Pod quick/)
})

test('a link contains the manifest, and the server never sees it', async () => {
  await using opened = await openPage()
  const { page } = opened
  const text = `${pod('linked', 'proxy')}# naïve ✓\r\n`
  await page.locator('#manifest').fill(text)
  await page.getByRole('button', { name: 'Copy a link' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const link = (await page.evaluate('navigator.clipboard.readText()')) as string
  assert.equal(link, page.url())
  await using other = await openPage({}, link.slice(link.indexOf('#')))
  await says(other.page, /^Pod linked: patched/)
  assert.equal(await other.page.locator('#manifest').inputValue(), text.replaceAll('\r\n', '\n'))
  await other.page.evaluate("location.hash = '#m=AAAA'")
  await says(other.page, /^The link is damaged/)
  await other.page.locator('#manifest').fill('kind: Secret')
  await says(other.page, /^Secret: skipped/)
  const bomb = deflateRawSync(Buffer.alloc(50_000_000, 'a')).toString('base64url')
  await other.page.evaluate(`location.hash = '#m=${bomb}'`)
  await says(other.page, /^The link is damaged/)
})

test('files can be dropped or chosen, several at once; a huge one is not read', async () => {
  await using opened = await openPage()
  const { page } = opened
  const transfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    transfer.items.add(new File([${JSON.stringify(pod('dropped', 'proxy'))}], 'pod.yaml'))
    return transfer
  })()`)
  await page.dispatchEvent('.outcome', 'drop', { dataTransfer: transfer })
  await says(page, /^Pod dropped: patched/)
  const file = (name: string, text: string | Buffer) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
  await page.locator('#file').setInputFiles([file('a.yaml', pod('a', 'proxy')), file('b.yaml', pod('b', 'proxy'))])
  await says(page, /^2 objects: 2 patched/)
  await page.locator('#file').setInputFiles(file('huge.yaml', Buffer.alloc(8 * 1024 * 1024, 'x')))
  await says(page, /^Huge.yaml: more than 7 MiB/)
})

test('a server that is gone or too busy gives a message, not a blank page', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.route('**/preview?*', (route) => route.abort())
  await page.locator('#manifest').fill(pod('lost', 'proxy'))
  await says(page, /^The server does not answer; trying again; if it was restarted/)
  await page.unroute('**/preview?*')
  await page.route(
    '**/preview?*',
    (route) => route.fulfill({ status: 429, headers: { 'retry-after': '0' }, json: {} }),
    {
      times: 2,
    },
  )
  await page.locator('#manifest').fill(pod('patient', 'proxy'))
  await says(page, /^Pod patient: patched/)
})
