import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { example, openPage, says, serverUrl, useBrowser } from './browser.ts'
import { pod } from './pod.ts'

useBrowser()

const text = "document.getElementById('manifest').value"

test('an example takes nothing away: undo and a button bring the manifest back', async () => {
  await using opened = await openPage()
  const { page } = opened
  const mine = pod('mine', 'proxy')
  await page.locator('#manifest').fill(mine)
  await says(page, /^Pod mine: patched/)
  await page.locator('[data-example=job]').click()
  await says(page, /^Job nightly-export/)
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Job', 'the focus stays')
  await page.locator('#manifest').focus()
  await page.keyboard.press('Control+z')
  assert.equal(await page.evaluate(text), mine)
  await page.locator('[data-example=native]').click()
  await says(page, /^Pod reports/)
  await page.getByRole('button', { name: 'Back to my manifest' }).click()
  await says(page, /^Pod mine: patched/)
  assert.equal(await page.evaluate(text), mine)
})

test('what is typed survives a reload and a link, in this browser alone, unless that is not wanted', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(pod('draft', 'proxy'))
  await page.locator('#drawer > summary').click()
  await page.getByLabel('Default gate').selectOption('native')
  await says(page, /^Pod draft: patched/)
  await page.reload()
  await says(page, /^Pod draft: patched/)
  assert.equal(await page.getByLabel('Default gate').inputValue(), 'native')
  // A link comes from somebody else: it takes the place of a draft, but the draft is there.
  await page.evaluate("location.hash = '#m=AAAA'")
  await says(page, /^The link is damaged/)
  await page.goto(`${serverUrl()}/#m=${deflateRawSync('kind: Secret').toString('base64url')}`)
  await page.reload()
  await says(page, /^Secret: skipped/)
  assert.equal(await page.locator('#what-if').textContent(), 'as this server is configured')
  await page.getByRole('button', { name: 'Back to my manifest' }).click()
  await says(page, /^Pod draft: patched/)
  assert.equal(await page.locator('#what-if').textContent(), 'gate native')
  await page.getByRole('checkbox', { name: 'Keep what I type' }).uncheck()
  assert.equal(await page.evaluate("localStorage.getItem('sidecar-first.draft')"), '{"keep":false}')
  for (const kept of [
    '{',
    'null',
    '{"version":1,"text":5,"whatIf":{"settings":{"gate":[]}}}',
    '{"version":9,"text":"x"}',
  ]) {
    await page.evaluate(`localStorage.setItem('sidecar-first.draft', ${JSON.stringify(kept)})`)
    await page.goto('about:blank')
    await page.goto(serverUrl())
    await says(page, /^Deployment checkout: patched/)
  }
})

test('a result that is out of date can not be copied, and a slow answer is said', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(pod('first', 'proxy'))
  await says(page, /^Pod first: patched/)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/preview?*', async (route) => {
    await released
    await route.continue()
  })
  const copy = page.getByRole('button', { name: 'Copy the result' })
  assert(await copy.isEnabled())
  await page.locator('#manifest').fill(pod('second', 'proxy'))
  assert(await copy.isDisabled())
  await says(page, /^Working…$/)
  release()
  await says(page, /^Pod second: patched/)
  assert(await copy.isEnabled())
})

test('after an outage it asks again by itself, or at once with a button', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.route('**/preview?*', (route) => route.abort(), { times: 1 })
  await page.locator('#manifest').fill(pod('patient', 'proxy'))
  await says(page, /^The server does not answer; trying again/)
  await says(page, /^Pod patient: patched/)
  await page.route('**/preview?*', (route) => route.abort(), { times: 1 })
  await page.locator('#manifest').fill(pod('eager', 'proxy'))
  await page.getByRole('button', { name: 'Try again' }).click()
  await says(page, /^Pod eager: patched/)
})

test('annotations, values and container names are completed with the keyboard, and told to screen readers', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(pod('typed', 'proxy'))
  const list = page.getByRole('listbox', { name: 'Completions' })
  const area = page.locator('#manifest')
  // At the end of the line of the annotation.
  await page.evaluate(
    `manifest.focus(); manifest.setSelectionRange(...Array(2).fill(manifest.value.indexOf('\\nspec')))`,
  )
  await page.keyboard.press('Enter')
  await page.keyboard.type('    ga')
  await list.waitFor()
  assert.equal(await area.getAttribute('aria-activedescendant'), 'manifest-completions-0')
  assert.match((await list.locator('[aria-selected=true]').textContent()) ?? '', /^sidecar-first\.dev\/gate what holds/)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Control+Space')
  await page.keyboard.press('ArrowDown')
  assert.equal(await list.locator('[aria-selected=true]').textContent(), 'native')
  await page.keyboard.press('Enter')
  await says(page, /^Pod typed: patched/)
  assert.match((await page.evaluate(text)) as string, /^ {4}sidecar-first\.dev\/gate: native$/m)
  await page.keyboard.press('Enter')
  await page.keyboard.type('    check')
  await page.keyboard.press('Escape')
  await list.waitFor({ state: 'hidden' })
  assert.equal(await area.getAttribute('aria-activedescendant'), null)
  await page.keyboard.press('Control+Space')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Control+Space')
  await page.keyboard.press('Enter')
  assert.match((await page.evaluate(text)) as string, /^ {4}check\.sidecar-first\.dev\/app: $/m)
  // Each completion is one step back.
  await page.keyboard.press('Control+z')
  assert.match((await page.evaluate(text)) as string, /^ {4}check\.sidecar-first\.dev\/$/m)
  await page.keyboard.press('Control+Space')
  await page.keyboard.press('Tab')
  await list.waitFor({ state: 'hidden' })
  assert.notEqual(await page.evaluate('document.activeElement.id'), 'manifest', 'Tab leaves the text')
})

test('every line of the patch says what it is for; patch and result can be downloaded', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('[data-example=native]').click()
  await says(page, /^Pod reports/)
  await page.locator('.patch > summary').click()
  const lines = page.locator('.operations li')
  for (const line of await lines.all()) {
    assert.match((await line.locator('span').textContent()) ?? '', /\w+ \w+/)
    assert.match((await line.locator('pre').textContent()) ?? '', /^\{"op":/)
  }
  const downloaded = async (name: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name, exact: true }).click(),
    ])
    return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')] as const
  }
  const [patchName, patch] = await downloaded('Download the patch')
  assert.equal(patchName, 'reports.patch.json')
  assert.equal(JSON.parse(patch).length, await lines.count())
  const [name, result] = await downloaded('Download')
  assert.equal(name, 'manifests.yaml')
  assert.match(result, /restartPolicy: Always/)
  // What is open stays open while one types.
  await page.locator('#manifest').fill((await example('native')).replace('name: reports', 'name: reports2'))
  await says(page, /^Pod reports2/)
})

test('a refused pod says what to do next', async () => {
  await using opened = await openPage()
  const { page } = opened
  await page.locator('#manifest').fill(pod('wrong', '"a,,b"'))
  await says(page, /^Pod wrong: refused/)
  const next = page.locator('.reasons .explanation[open] p')
  await next.first().waitFor()
  assert.match((await next.first().textContent()) ?? '', /\w+ \w+/)
})

test('a pod that says nothing gets the lines for its known sidecars, added with one click, comments kept', async () => {
  await using opened = await openPage()
  const { page } = opened
  for (const [name, line] of [
    ['istio', /sidecar-first\.dev\/sidecars: istio-proxy/],
    ['bookinfo-injected', /sidecar-first\.dev\/sidecars: istio-proxy/],
    ['vault-late', /sidecar-first\.dev\/sidecars: vault-agent/],
    ['linkerd-no-await', /sidecar-first\.dev\/sidecars: linkerd-proxy/],
    ['dapr', /sidecar-first\.dev\/sidecars: daprd/],
  ] as const) {
    const manifest = `# mine\n${await readFile(new URL(`../admission/suggest/pods/${name}.yaml`, import.meta.url), 'utf8')}`
    await page.locator('#manifest').fill(manifest)
    await says(page, /there is a suggestion$/)
    assert.match((await page.locator('.suggestion').first().textContent()) ?? '', /the app starts/, name)
    await page
      .getByRole('button', { name: /^Add (?:this line|these lines|all suggested lines)$/ })
      .first()
      .click()
    await says(page, /patched/)
    const edited = (await page.evaluate(text)) as string
    assert.match(edited, line, name)
    for (const comment of manifest.match(/#.*$/gm) ?? []) assert(edited.includes(comment), `${name}: ${comment}`)
  }
  // Only its author knows whether the collector has the extension: that line comes with a button of its own.
  await page
    .locator('#manifest')
    .fill(await readFile(new URL('../admission/suggest/pods/opentelemetry-unknown.yaml', import.meta.url), 'utf8'))
  await says(page, /there is a suggestion$/)
  await page.getByRole('button', { name: 'Add this line, too' }).click()
  await says(page, /patched/)
  assert.match((await page.evaluate(text)) as string, /sidecars: telemetry\n.*check\S+telemetry: http:\/\/:13133\//)
  await page.locator('[data-example=silent]').click()
  await says(page, /^Deployment reviews: skipped; there is a suggestion$/)
  await page.getByRole('button', { name: 'Add this line' }).click()
  await says(page, /^Deployment reviews: patched/)
  // One step back for each edit, and the text is as it was.
  await page.keyboard.press('Control+z')
  await says(page, /there is a suggestion$/)
})

test('what the webhook has nothing to do with is folded away; many sidecars stay readable', async () => {
  await using opened = await openPage()
  const { page } = opened
  const others = Array.from(
    { length: 300 },
    (_, index) => `kind: ${index % 2 ? 'Service' : 'ConfigMap'}\nmetadata: {name: x${index}}\n`,
  )
  await page.locator('#manifest').fill([...others, pod('one', 'proxy')].join('---\n'))
  await says(page, /^301 objects: 300 skipped, 1 patched/)
  assert.equal(await page.locator('#results > details').count(), 2)
  assert.match(
    (await page.locator('.card.skipped summary').textContent()) ?? '',
    /300 other objects 150 ConfigMap and 150 Service/,
  )
  await page.locator('.card.skipped summary').click()
  // A line for each reason.
  assert.match(
    (await page.locator('.idle li').allTextContents()).join('\n'),
    /^ConfigMap x0, .* a ConfigMap has no pod template\nService x1, .* a Service has no pod template$/,
  )
  // What is alone is open: pods to which only an injector adds a sidecar are told so.
  const bare = (name: string) =>
    `kind: Deployment\nmetadata: {name: ${name}}\nspec: {template: {spec: {containers: [{name: app}]}}}\n`
  await page.locator('#manifest').fill([...others.slice(0, 2), bare('reviews'), bare('ratings')].join('---\n'))
  await says(page, /^4 objects: 4 skipped$/)
  await page.getByText('if its namespace has one injected').waitFor()
  const names = Array.from({ length: 40 }, (_, index) => `sidecar-with-a-long-name-${index}`)
  const containers = names.map(
    (name, index) => `  - name: ${name}\n    readinessProbe: {tcpSocket: {port: ${index + 1}}}\n`,
  )
  await page.locator('#manifest').fill(pod('many', names.join(', ')) + containers.join(''))
  await says(page, /^Pod many: patched/)
  const said = (await page.locator('figcaption').first().textContent()) ?? ''
  assert.match(said, /^Without app starts before sidecar-with-a-long-name-0, .+ and 36 more are ready/)
  const labels = await page.locator('figure').first().locator('.bars .name').allTextContents()
  assert.equal(new Set(labels).size, labels.length, 'names are told apart')
})

test('tabs, a byte order mark, CRLF, UTF-16 and three megabytes', async () => {
  await using opened = await openPage()
  const { page } = opened
  const choose = (content: Buffer) =>
    page.locator('#file').setInputFiles({ name: 'pod.yaml', mimeType: 'text/plain', buffer: content })
  await choose(Buffer.from(`\uFEFF${pod('marked', 'proxy').replaceAll('\n', '\r\n')}`))
  await says(page, /^Pod marked: patched/)
  await choose(Buffer.from(`\uFEFF${pod('wide', 'proxy')}`, 'utf16le'))
  await says(page, /^Pod wide: patched/)
  await page.locator('#manifest').fill('kind: Pod\n\tname: x\n')
  await says(page, /^The manifests can not be read; line 2: SF405 .*tabs/)
  const block = `${pod('big', 'proxy')}---\nkind: ConfigMap\ndata: {a: "${'x'.repeat(9800)}"}\n---\n`
  await choose(Buffer.from(block.repeat(300)))
  await says(page, /^600 objects: 300 patched, 300 skipped/)
  await choose(Buffer.from(`${pod('long', 'proxy')}${'\n'.repeat(300_000)}`))
  await says(page, /^Pod long: patched/)
  assert.match((await page.locator('.changes').textContent()) ?? '', /Too many lines to compare/)
  await page.locator('[data-example=job]').click()
  await says(page, /^Job nightly-export/)
  // Nothing is read aloud as one word that is two.
  const heading = await page.locator('h4', { hasText: 'Predicted start' }).textContent()
  assert.match(heading ?? '', /^Predicted start in steps/)
})
