import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { openPage, says, useBrowser } from './browser.ts'

useBrowser()

const silent =
  'kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: app\n  - name: istio-proxy\n    readinessProbe: {tcpSocket: {port: 1}}\n'
const asking = silent.replace('{name: p}', '{name: p, annotations: {sidecar-first.dev/sidecars: istio-proxy}}')
const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'

/** As the page packs it. */
const packed = (text: string) => deflateRawSync(Buffer.from(text)).toString('base64url')

test('settings change the result without an edit, are named in the closed drawer, and reset', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(silent)
  await says(page, /^Pod p: skipped; there is a suggestion/)
  await page.locator('#drawer > summary').click()
  await page.getByRole('checkbox', { name: 'Istio' }).check()
  await says(page, /^Pod p: patched/)
  await page.getByLabel('For Kubernetes').selectOption('1.34')
  await page.getByLabel('Default gate').selectOption('native')
  await page.locator('.gates strong', { hasText: 'gate native' }).waitFor()
  await page.locator('#drawer > summary').click()
  assert.equal(await page.locator('#what-if').textContent(), 'gate native, presets istio, Kubernetes 1.34')
  await page.locator('#drawer > summary').click()
  await page.getByLabel('Containers that an injector adds later').fill('no name!')
  await says(page, /^These settings can not be; settings\.injected: "name!"/)
  await page.getByRole('button', { name: 'Reset' }).click()
  await says(page, /^Pod p: skipped; there is a suggestion/)
  assert.equal(await page.locator('#what-if').textContent(), 'as this server is configured')
})

test('the version is chosen in plain sight: the newest where none is configured, and what it opens is shown for it alone', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(asking)
  await says(page, /^Pod p: patched/)
  const choice = page.getByLabel('For Kubernetes')
  const chosen = () => page.evaluate("document.querySelector('#under select').selectedOptions[0].textContent")
  assert.equal(await chosen(), '1.36 (the newest; none is configured)')
  const gate = "gate lock: the app starts without istio-proxy only ifit isn't ready within 5s when the app starts again"
  assert.equal(await page.locator('.gates').textContent(), gate)
  await choice.selectOption('1.34')
  await page.locator('.gates li', { hasText: 'it crashes' }).first().waitFor()
  await page.getByRole('button', { name: 'Copy a link' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const link = page.url()
  await choice.selectOption('')
  await page.locator('.gates strong', { hasText: 'gate lock' }).waitFor()
  await page.locator('#drawer > summary').click()
  await page.locator('#configuration').fill(`${head}kubernetesVersion: "1.33"\n`)
  await page.locator('.gates strong', { hasText: 'gate hook' }).waitFor()
  assert.equal(await chosen(), '1.33 (as configured)')
  await using other = await openPage({}, link.slice(link.indexOf('#')))
  await other.page.locator('.gates strong', { hasText: 'gate hook' }).waitFor()
  assert.equal(await other.page.getByLabel('For Kubernetes').inputValue(), '1.34')
  // What an older page let somebody write.
  const whatIf = JSON.stringify({ settings: { kubernetesVersion: 'v1.29.3' } })
  await other.page.evaluate(`location.hash = '#m=${packed(asking)}&w=${packed(whatIf)}'`)
  await says(other.page, /^Pod p: patched/)
  assert.equal(await other.page.getByLabel('For Kubernetes').inputValue(), 'v1.29.3')
})

test('a container that an injector adds later is named in a field, with the verdict of --expect', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(asking.replace('sidecars: istio-proxy', 'sidecars: "istio-proxy, vault, otel"'))
  await says(page, /^Pod p: refused unless an injector adds vault, otel/)
  await page.locator('#drawer > summary').click()
  const field = page.getByLabel('Containers that an injector adds later')
  await field.fill('vault')
  await says(page, /^Pod p: refused unless an injector adds vault, otel, 1 warning/)
  await field.fill('vault otel,')
  await says(page, /^Pod p: patched/)
  assert.equal(await page.locator('#what-if').textContent(), 'injected vault, otel')
  await page.reload()
  await says(page, /^Pod p: patched/)
  assert.equal(await field.inputValue(), 'vault, otel')
  await page.locator('#drawer > summary').click()
  await field.fill('')
  await says(page, /^Pod p: refused unless an injector adds vault, otel/)
})

test('a configuration of wrong types is marked at its lines, with what to do; a right one is used', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(asking)
  await page.locator('#drawer > summary').click()
  await page.locator('#configuration').fill(`${head}defaults:\n  gate: 5\n  timeout: [1]\nrules: {}\n`)
  await says(page, /^The configuration can not be read; line 4: SF\d+ defaults\.gate/)
  assert.deepEqual(await page.locator('#configuration-editor .gutter .marked').allTextContents(), ['4', '5', '6'])
  assert.equal(await page.locator('#editor .gutter .marked').count(), 0)
  assert.equal(await page.locator('#configuration').getAttribute('aria-invalid'), 'true')
  await page.locator('.explanation[open] p').first().waitFor()
  await page.getByRole('button', { name: 'line 5' }).click()
  assert.equal(await page.evaluate('document.activeElement.id'), 'configuration')
  await page
    .locator('#configuration')
    .fill(`${head}kubernetesVersion: "1.34"\ndefaults: {gate: native}\nenforced: {failurePolicy: Fail}\n`)
  await says(page, /^Pod p: patched/)
  assert.match((await page.locator('#configuration-messages').textContent()) ?? '', /line 5 SF332/)
  assert.match((await page.locator('.gates').textContent()) ?? '', /gate native/)
  assert.equal(await page.locator('#configuration').getAttribute('aria-invalid'), 'false')
})

test('a link brings its configuration along, and the drawer shows that it does', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(silent)
  await page.locator('#drawer > summary').click()
  await page.getByRole('checkbox', { name: 'Istio' }).check()
  await page.locator('#configuration').fill(`${head}waiter: {delivery: shell}\n`)
  await says(page, /^Pod p: patched/)
  await page.getByRole('button', { name: 'Copy a link' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const link = page.url()
  await using other = await openPage({}, link.slice(link.indexOf('#')))
  await says(other.page, /^Pod p: patched/)
  assert.equal(await other.page.locator('#what-if').textContent(), 'your configuration file, presets istio')
  assert.equal(await other.page.locator('#drawer').getAttribute('open'), '')
  assert.doesNotMatch((await other.page.locator('.changes').textContent()) ?? '', /sidecar-first-waiter/)
  // A screen reader says each text of the status line: here only the answer.
  await other.page.goto('about:blank')
  await other.page.addInitScript(
    `addEventListener('DOMContentLoaded', () => {
       globalThis.said = []
       const status = document.querySelector('#status')
       new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true, characterData: true })
     })`,
  )
  await other.page.goto(link)
  await says(other.page, /^Pod p: patched/)
  const said = (await other.page.evaluate('said')) as string[]
  assert(!said.includes('Nothing yet.'), said.join('; '))
})

test('a damaged or hostile link is called that, and harms nothing', async () => {
  await using opened = await openPage()
  const { page } = opened
  const good = packed(asking)
  for (const fragment of [
    '#m=%%%',
    '#m=AAAA',
    `#m=${good.slice(0, -9)}`,
    `#m=${good}&x=1`,
    `#m=${good}&w=${packed('{')}`,
    `#m=${good}&w=${packed('[]')}`,
    `#m=${good}&w=${packed('{"settings":{"__proto__":{"a":"b"},"constructor":"x"}}')}`,
    `#m=${good}&w=${packed('{"configuration":5}')}`,
    `#m=${packed('\xff\xfe').slice(0, 4)}`,
    `#m=${deflateRawSync(Buffer.from([0xff, 0xfe, 0xfd])).toString('base64url')}`,
  ]) {
    await page.locator('#manifest').fill('kind: Secret')
    await says(page, /^Secret: skipped/)
    await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`)
    await says(page, /^The link is damaged/)
    await page.evaluate("history.replaceState(null, '', '/')")
  }
  const nasty = '<img src=x onerror=alert(1)>'
  const whatIf = { configuration: `${nasty}: 1\n`, settings: { gate: nasty } }
  await page.evaluate(`location.hash = '#m=${packed(nasty)}&w=${packed(JSON.stringify(whatIf))}'`)
  await says(page, /^The configuration can not be read/)
  assert.equal(await page.locator('main img').count(), 0)
})
