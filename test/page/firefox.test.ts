import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { freePort } from '../free-port.ts'
import { type ServeProcess, startServe } from '../server/process.ts'
import { violations } from './axe.ts'
import { example } from './browser.ts'
import { type Firefox, launchFirefox } from './firefox.ts'
import { pod } from './pod.ts'

// What somebody does first with the page, in Firefox. test/page/*.test.ts look at everything in Chromium.

let firefox: Firefox
let server: ServeProcess
let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sidecar-first-page-'))
  server = await startServe()
  firefox = await launchFirefox()
})
after(async () => {
  await firefox?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

/** As the page packs it into a link. */
const packed = (content: string | Buffer) => deflateRawSync(content).toString('base64url')
const button = (name: string) => ({ role: 'button', name })
const text = 'manifest.value'
const texts = (selector: string) =>
  `[...document.querySelectorAll('${selector}')].map((each) => each.textContent.trim())`
const count = (selector: string) => `document.querySelectorAll('${selector}').length`

test('a pod is pasted: the decision, its picture, and a patch with reasons, to be copied and downloaded', async () => {
  await using tab = await firefox.open(server.url)
  await tab.says(/^Deployment checkout: patched/)
  await tab.paste('#manifest', await example('native'))
  await tab.says(/^Pod reports: patched/)
  await tab.until(`${count('figure svg rect')} > 4`)
  assert.match((await tab.evaluate<string[]>(texts('figcaption'))).join(), /starts before .*starts once /)
  await tab.click('.patch > summary')
  for (const line of await tab.evaluate<string[]>(texts('.operations li'))) assert.match(line, /^\w+ \w+.*\{"op":/)
  await tab.click(button('Copy the patch'))
  await tab.until(`${texts('.patch button')}[0] === 'Copied'`)
  await tab.click(button('Download the patch'))
  const saved = await tab.downloaded()
  assert.match(saved, /reports\.patch\.json$/)
  const patch = await readFile(saved, 'utf8')
  assert.equal(JSON.parse(patch).length, await tab.evaluate(count('.operations li')))
  await tab.click(button('Download'))
  assert.match(await readFile(await tab.downloaded(1), 'utf8'), /restartPolicy: Always/)
  // What was copied is what was downloaded.
  await tab.click('#manifest')
  await tab.press('Control+a')
  await tab.press('Control+v')
  assert.equal(await tab.evaluate(text), patch)
})

test('a suggestion is one click; undo takes it back, and an example too', async () => {
  await using tab = await firefox.open(server.url)
  await tab.says(/^Deployment checkout/)
  await tab.paste('#manifest', pod('mine', 'proxy'))
  await tab.says(/^Pod mine: patched/)
  await tab.click(button('Says nothing'))
  await tab.says(/^Deployment reviews: skipped; there is a suggestion$/)
  const silent = await tab.evaluate(text)
  await tab.click(button('Add this line'))
  await tab.says(/^Deployment reviews: patched/)
  assert.match(await tab.evaluate(text), /sidecar-first\.dev\/sidecars: istio-proxy/)
  const before = await tab.evaluate<string>('manifest.value.slice(0, manifest.selectionStart)')
  assert.match(before, /sidecar-first\.dev\/sidecars: istio-proxy$/, 'the cursor is where it was put in')
  await tab.press('Control+z')
  await tab.says(/^Deployment reviews: skipped/)
  assert.equal(await tab.evaluate(text), silent)
  await tab.press('Control+z')
  await tab.says(/^Pod mine: patched/)
  assert.equal(await tab.evaluate(text), pod('mine', 'proxy'))
  await tab.click(button('Job'))
  await tab.says(/^Job nightly-export/)
  await tab.click(button('Back to my manifest'))
  await tab.says(/^Pod mine: patched/)
})

test('what is typed and set survives a reload; a link brings both to somebody else', async () => {
  await using tab = await firefox.open(server.url)
  await tab.says(/^Deployment checkout/)
  await tab.paste('#manifest', pod('draft', 'proxy'))
  await tab.says(/^Pod draft: patched/)
  await tab.click('#drawer > summary')
  await tab.press('Tab')
  await tab.type('n')
  await tab.until("document.getElementById('what-if').textContent === 'gate native'")
  const configuration = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
  await tab.paste('#configuration', `${configuration}defaults: {gate: 5}\n`)
  await tab.says(/^The configuration can not be read; line 3: SF\d+ defaults\.gate/)
  assert.deepEqual(await tab.evaluate(texts('#configuration-editor .gutter .marked')), ['3'])
  await tab.click(button('line 3'))
  assert.equal(await tab.evaluate('document.activeElement.id'), 'configuration')
  await tab.paste('#configuration', `${configuration}waiter: {delivery: shell}\n`)
  await tab.says(/^Pod draft: patched/)
  await tab.reload()
  await tab.says(/^Pod draft: patched/)
  assert.equal(
    await tab.evaluate("document.getElementById('what-if').textContent"),
    'your configuration file, gate native',
  )
  await tab.click('#link')
  await tab.until("document.getElementById('link').textContent === 'Copied'")
  const link = await tab.evaluate<string>('location.href')
  await using other = await firefox.open(link)
  await other.says(/^Pod draft: patched/)
  assert.equal(await other.evaluate(text), pod('draft', 'proxy'))
  assert.equal(await other.evaluate("document.querySelector('select[name=gate]').value"), 'native')
  await tab.click('#keep')
  await tab.go(server.url)
  await tab.says(/^Deployment checkout/)
})

test('a link that is copied opens, however long; one that would not is not made', async () => {
  await using tab = await firefox.open(server.url)
  await tab.says(/^Deployment checkout/)
  const file = join(folder, 'noise.yaml')
  const copied = async (bytes: number) => {
    await writeFile(file, `kind: Secret\n# ${randomBytes(bytes).toString('hex')}\n`)
    await tab.choose('#file', file)
    await tab.says(/^Secret: skipped/)
    await tab.click('#link')
    await tab.until("document.getElementById('link').textContent !== 'Copy a link'")
    return tab.evaluate("document.getElementById('link').textContent")
  }
  assert.equal(await copied(655_000), 'Copied')
  const link = await tab.evaluate<string>('location.href')
  await using other = await firefox.open(link)
  await other.says(/^Secret: skipped/)
  assert.equal(await other.evaluate('location.href.length'), link.length)
  await tab.until("document.getElementById('link').textContent === 'Copy a link'")
  assert.equal(await copied(900_000), 'Too large for a link')
})

test('a server that was away is asked again by itself, or at once', async () => {
  // One that nobody else is handed meanwhile.
  const port = String(await freePort())
  const first = await startServe(['--port', port])
  await using tab = await firefox.open(first.url)
  await tab.says(/^Deployment checkout/)
  await first[Symbol.asyncDispose]()
  await tab.paste('#manifest', pod('patient', 'proxy'))
  await tab.says(/^The server does not answer; trying again/)
  assert.equal(await tab.evaluate(text), pod('patient', 'proxy'))
  {
    await using second = await startServe(['--port', port])
    assert.equal(second.url, first.url)
    await tab.says(/^Pod patient: patched/)
  }
  await tab.paste('#manifest', pod('eager', 'proxy'))
  await tab.says(/^The server does not answer/)
  await using third = await startServe(['--port', port])
  assert.equal(third.url, first.url)
  await tab.click(button('Try again'))
  await tab.says(/^Pod eager: patched/)
})

test('three hundred documents are folded, three megabytes of a file answered, and undo works after', async () => {
  await using tab = await firefox.open(server.url)
  await tab.says(/^Deployment checkout/)
  const services = Array.from({ length: 300 }, (_, index) => `kind: Service\nmetadata: {name: x${index}}\n`)
  await tab.paste('#manifest', [...services, pod('one', 'proxy')].join('---\n'))
  await tab.says(/^301 objects: 300 skipped, 1 patched/)
  assert.equal(await tab.evaluate(count('#results > details')), 2)
  await tab.click('.card.skipped summary')
  assert.equal(await tab.evaluate(count('.idle li')), 1)
  const file = join(folder, 'big.yaml')
  const block = `${pod('big', 'proxy')}---\nkind: ConfigMap\ndata: {a: "${'x'.repeat(9800)}"}\n---\n`
  await writeFile(file, block.repeat(300))
  await tab.choose('#file', file)
  await tab.says(/^600 objects: 300 patched, 300 skipped/)
  await tab.paste('#manifest', pod('small', 'proxy'))
  await tab.says(/^Pod small: patched/)
})

test('hostile text is shown as text, and a damaged link is called that', async () => {
  await using tab = await firefox.open(server.url)
  await tab.says(/^Deployment checkout/)
  const nasty = '<img src=x onerror=alert(1)>'
  await tab.paste('#manifest', `kind: ConfigMap\nmetadata: {name: "${nasty}"}\ndata: {a: "${nasty}"}\n`)
  await tab.says(/^ConfigMap <img/)
  assert.equal(await tab.evaluate(count('main img')), 0)
  const good = packed(pod('linked', 'proxy'))
  const damaged = [
    '#m=%%%',
    '#m=AAAA',
    `#m=${good.slice(0, -9)}`,
    `#m=${good}&x=1`,
    `#m=${good}&w=${packed('[]')}`,
    `#m=${packed(Buffer.from([0xff, 0xfe, 0xfd]))}`,
    `#m=${packed(Buffer.alloc(50_000_000, 'a'))}`,
  ]
  for (const fragment of damaged) {
    await tab.evaluate(`location.hash = ${JSON.stringify(fragment)}`)
    await tab.says(/^The link is damaged/)
    await tab.paste('#manifest', 'kind: Secret')
    await tab.says(/^Secret: skipped/)
  }
})

test('everything works with the keyboard alone, and the focus is visible', async () => {
  await using tab = await firefox.open(server.url)
  await tab.says(/^Deployment checkout/)
  const reached: string[] = []
  for (let stop = 0; stop < 60; stop++) {
    await tab.press('Tab')
    const [where, visible] = await tab.evaluate<[string, boolean]>(`(() => {
      const at = document.activeElement
      const look = getComputedStyle(at.id === 'manifest' ? at.closest('.editor') : at)
      return [at === document.body ? '' : at.textContent.trim().slice(0, 30) || at.id, at.id === 'manifest' || look.outlineStyle !== 'none']
    })()`)
    // Past the last element.
    if (where === '') break
    reached.push(where)
    assert(visible, where)
    if (where === 'Job') await tab.press('Enter')
    if (where === 'Job') await tab.says(/^Job nightly-export/)
    if (where.startsWith('Patch:')) await tab.press('Enter')
  }
  assert.deepEqual(
    reached.filter((where) => !/^(?:line|What to do)/.test(where)),
    [
      'Skip to the result',
      'API',
      'Open files',
      'Copy a link',
      'Database proxy',
      'Two tiers',
      'Native',
      'Job',
      'Refused',
      'Says nothing',
      'manifest',
      'keep',
      'What if: as this server is con',
      'Annotations',
      '1.36 (the newest; none is conf',
      'Job nightly-export 3 warnings ',
      'Patch: 7 operations',
      'copies the waiter, which the h',
      'Copy the patch',
      'Download the patch',
      'Show all lines',
      'Copy the result',
      'Download',
    ],
  )
})

test('an annotation is completed while it is typed, and each completion is one step back', async () => {
  await using tab = await firefox.open(server.url)
  await tab.says(/^Deployment checkout/)
  await tab.paste('#manifest', pod('typed', 'proxy'))
  await tab.evaluate(`manifest.setSelectionRange(...Array(2).fill(manifest.value.indexOf('\\nspec')))`)
  await tab.press('Enter')
  await tab.type('    ga')
  assert.equal((await tab.find({ role: 'option', name: 'sidecar-first.dev/gate what holds the app back' })).length, 1)
  await tab.press('Enter')
  await tab.press('Control+Space')
  await tab.press('ArrowDown')
  await tab.press('Enter')
  await tab.says(/^Pod typed: patched/)
  const line = `${text}.split('\\n')[5]`
  assert.equal(await tab.evaluate(line), '    sidecar-first.dev/gate: native')
  await tab.press('Control+z')
  assert.equal(await tab.evaluate(line), '    sidecar-first.dev/gate: ')
  await tab.press('Control+z')
  assert.equal(await tab.evaluate(line), '    ga')
})

const dark = { 'layout.css.prefers-color-scheme.content-override': 0 }
for (const scheme of ['light', 'dark'] as const) {
  test(`${scheme}, 320 pixels wide: axe reports no problems, nothing is wider than the screen, good and bad differ`, async () => {
    await using own = scheme === 'dark' ? await launchFirefox(dark) : undefined
    await using tab = await (own ?? firefox).open(server.url)
    await tab.resize(320, 740)
    await tab.says(/^Deployment checkout/)
    const ground = await tab.evaluate('getComputedStyle(document.body).backgroundColor')
    assert.equal(ground, scheme === 'light' ? 'rgb(245, 246, 248)' : 'rgb(15, 20, 25)')
    const shown = async (what: string) => {
      if (process.env.SCREENSHOTS) await tab.screenshot(join(process.env.SCREENSHOTS, `${scheme}-${what}.png`))
      assert.deepEqual(await violations((expression) => tab.evaluate(expression)), [], what)
      assert.equal(
        await tab.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
        0,
        what,
      )
    }
    await tab.click('#drawer > summary')
    await tab.click('#reference > summary')
    await tab.click('.patch > summary')
    await tab.until(`${count('figure svg rect')} > 4`)
    const looks = (selectors: string, property: string) =>
      tab.evaluate<string[]>(
        `${JSON.stringify(selectors.split(', '))}.map((each) => getComputedStyle(document.querySelector(each)).${property})`,
      )
    assert.equal(new Set(await looks('figcaption .good, figcaption .bad', 'color')).size, 2)
    assert.equal(new Set(await looks('rect.ready, rect.early, rect.hook', 'fill')).size, 3)
    await shown('patched')
    await tab.click(button('Refused'))
    await tab.says(/^Pod mistakes: refused/)
    await tab.until(`${count('.explanation[open] p')} > 0`)
    await shown('refused')
    await tab.click(button('Says nothing'))
    await tab.says(/there is a suggestion$/)
    await shown('suggestion')
  })
}
