// Firefox itself, driven in WebDriver BiDi over Node's own WebSocket. Playwright drives only a Firefox that it has patched, which no distribution has.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Debian's path; set FIREFOX to use another one. */
const program = process.env.FIREFOX ?? '/usr/bin/firefox-esr'
/** How long a test waits for what it expects, in milliseconds. */
const patience = 60_000

/** Light, no requests of its own, and on a busy machine, too, a click counts as the user's doing long enough. */
const settled = {
  'layout.css.prefers-color-scheme.content-override': 1,
  'dom.user_activation.transient.timeout': 60_000,
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
}

/** A CSS selector, or what a screen reader would say of it: Firefox's own role and name. */
type Target = string | { readonly role: string; readonly name: string }

// biome-ignore lint/suspicious/noExplicitAny: answers of a protocol, read where they arrive; a wrong one fails the test
type Answer = any

export interface Firefox extends AsyncDisposable {
  /** A tab with storage of its own. */
  open(url: string): Promise<Tab>
}

/** `settings`: as in about:config. */
export async function launchFirefox(settings: Readonly<Record<string, number | boolean>> = {}): Promise<Firefox> {
  const home = await mkdtemp(join(tmpdir(), 'sidecar-first-firefox-'))
  const all = { ...settled, ...settings }
  const lines = Object.entries(all).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${value});\n`)
  await writeFile(join(home, 'user.js'), lines.join(''))
  const child = spawn(program, ['--headless', '--no-remote', '--profile', home, '--remote-debugging-port', '0'], {
    env: { ...process.env, HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit').catch(() => {})
  let said = ''
  for await (const part of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    said += part
    if (said.includes('BiDi listening on ')) break
  }
  child.stderr.resume()
  const address = /BiDi listening on (ws:\S+)/.exec(said)?.[1]
  assert(address, `${program} does not listen; apt-get install firefox-esr, or set FIREFOX\n${said}`)
  const { send, heard } = await connect(`${address}/session`)
  await send('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } })
  await send('session.subscribe', {
    events: ['log.entryAdded', 'network.beforeRequestSent', 'browsingContext.downloadEnd'],
  })
  const folder = { type: 'allowed', destinationFolder: home }
  await send('browser.setDownloadBehavior', { downloadBehavior: folder })
  const report = `() => addEventListener('securitypolicyviolation',
    ({ violatedDirective, blockedURI }) => console.error('CSP:', violatedDirective, blockedURI))`
  await send('script.addPreloadScript', { functionDeclaration: report })
  return {
    async open(url) {
      const { userContext } = await send('browser.createUserContext', {})
      const { context } = await send('browsingContext.create', { type: 'tab', userContext })
      const tab = new Tab(context, send, heard, new URL(url).origin)
      await tab.go(url)
      return tab
    },
    async [Symbol.asyncDispose]() {
      await send('browser.close', {}).catch(() => child.kill('SIGKILL'))
      await ended
      await rm(home, { recursive: true, force: true })
    },
  }
}

type Send = (method: string, params: object) => Promise<Answer>

async function connect(address: string): Promise<{ send: Send; heard: Answer[] }> {
  const socket = new WebSocket(address)
  const waiting = new Map<number, PromiseWithResolvers<Answer>>()
  const heard: Answer[] = []
  let last = 0
  const fail = (error: Error) => {
    for (const each of waiting.values()) each.reject(error)
  }
  socket.addEventListener('close', () => fail(new Error('Firefox has closed the connection')))
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data)
    if (message.type === 'event') heard.push(message)
    else if (message.type === 'success') waiting.get(message.id)?.resolve(message.result)
    else waiting.get(message.id)?.reject(new Error(`${message.error}: ${message.message}`))
    waiting.delete(message.id)
  })
  await once(socket, 'open')
  return {
    heard,
    send(method, params) {
      const answer = Promise.withResolvers<Answer>()
      waiting.set(++last, answer)
      socket.send(JSON.stringify({ id: last, method, params }))
      return answer.promise
    },
  }
}

/** WebDriver's names of keys that write nothing. */
const keys: Readonly<Record<string, string>> = {
  Tab: '\uE004',
  Enter: '\uE007',
  Shift: '\uE008',
  Control: '\uE009',
  Escape: '\uE00C',
  Space: ' ',
  End: '\uE010',
  Home: '\uE011',
  ArrowLeft: '\uE012',
  ArrowUp: '\uE013',
  ArrowDown: '\uE015',
  Delete: '\uE017',
}

/** When it closes, its page must not have sent a request to any other server, nor reported an error. */
class Tab implements AsyncDisposable {
  readonly #context: string
  readonly #send: Send
  readonly #heard: Answer[]
  readonly #origin: string

  constructor(context: string, send: Send, heard: Answer[], origin: string) {
    this.#context = context
    this.#send = send
    this.#heard = heard
    this.#origin = origin
  }

  async go(url: string): Promise<void> {
    await this.#send('browsingContext.navigate', { context: this.#context, url, wait: 'complete' })
  }

  async reload(): Promise<void> {
    await this.#send('browsingContext.reload', { context: this.#context, wait: 'complete' })
  }

  /** What an expression of the page is, as JSON. `userActivation`: it counts as the user's own doing, for what a browser allows to nobody else. */
  async evaluate<T>(expression: string, userActivation = false): Promise<T> {
    const answer = await this.#send('script.evaluate', {
      expression: `(async () => JSON.stringify(await (${expression})) ?? 'null')()`,
      target: { context: this.#context },
      awaitPromise: true,
      userActivation,
    })
    if (answer.type === 'exception') throw new Error(answer.exceptionDetails.text)
    return JSON.parse(answer.result.value)
  }

  /** Resolves when an expression of the page is true. */
  async until(expression: string, what = expression): Promise<void> {
    await seen(() => this.evaluate(`Boolean(${expression})`), what)
  }

  /** The status line, which screen readers announce when an answer arrives. */
  async says(pattern: RegExp): Promise<void> {
    let last = ''
    try {
      await seen(async () => {
        last = await this.evaluate("document.querySelector('[role=status]')?.textContent ?? ''")
        return pattern.test(last)
      }, String(pattern))
    } catch (cause) {
      throw new Error(`the status is ${last}, not ${pattern}`, { cause })
    }
  }

  /** What Firefox finds, in the order of the page. */
  async find(target: Target): Promise<readonly { sharedId: string }[]> {
    const locator =
      typeof target === 'string' ? { type: 'css', value: target } : { type: 'accessibility', value: { ...target } }
    const { nodes } = await this.#send('browsingContext.locateNodes', { context: this.#context, locator })
    return nodes
  }

  async #one(target: Target): Promise<{ sharedId: string }> {
    let found: { sharedId: string } | undefined
    await seen(async () => {
      found = (await this.find(target))[0]
      return found !== undefined
    }, JSON.stringify(target))
    assert(found)
    return { sharedId: found.sharedId }
  }

  /** As a mouse does it, in the middle of it. */
  async click(target: Target): Promise<void> {
    const element = await this.#one(target)
    await this.#send('script.callFunction', {
      functionDeclaration: "(element) => element.scrollIntoView({ block: 'center', behavior: 'instant' })",
      arguments: [element],
      target: { context: this.#context },
      awaitPromise: false,
    })
    const move = { type: 'pointerMove', x: 0, y: 0, origin: { type: 'element', element } }
    const actions = [move, { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 }]
    await this.#act({ type: 'pointer', id: 'mouse', actions })
  }

  /** One key, or several together: `Control+z`. */
  async press(together: string): Promise<void> {
    const values = together.split('+').map((name) => keys[name] ?? name)
    const down = values.map((value) => ({ type: 'keyDown', value }))
    const up = values.toReversed().map((value) => ({ type: 'keyUp', value }))
    await this.#act({ type: 'key', id: 'keyboard', actions: [...down, ...up] })
  }

  async type(text: string): Promise<void> {
    const actions = [...text].flatMap((value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ])
    await this.#act({ type: 'key', id: 'keyboard', actions })
  }

  async #act(source: object): Promise<void> {
    await this.#send('input.performActions', { context: this.#context, actions: [source] })
  }

  /** Takes the place of all that is in a field, from the clipboard. */
  async paste(target: Target, text: string): Promise<void> {
    await this.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`, true)
    await this.click(target)
    await this.press('Control+a')
    await this.press('Control+v')
  }

  async choose(target: Target, ...files: readonly string[]): Promise<void> {
    await this.#send('input.setFiles', { context: this.#context, element: await this.#one(target), files })
  }

  /** The path of what comes after `before` downloads. */
  async downloaded(before = 0): Promise<string> {
    const ends = () => this.#events('browsingContext.downloadEnd')
    await seen(async () => ends().length > before, 'a download')
    return ends()[before].params.filepath
  }

  async resize(width: number, height: number): Promise<void> {
    await this.#send('browsingContext.setViewport', { context: this.#context, viewport: { width, height } })
  }

  async screenshot(path: string): Promise<void> {
    const { data } = await this.#send('browsingContext.captureScreenshot', { context: this.#context })
    await writeFile(path, data, 'base64')
  }

  #events(method: string): Answer[] {
    const ours = ({ params }: Answer) => (params.context ?? params.source?.context) === this.#context
    return this.#heard.filter((event) => event.method === method && ours(event))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const asked = this.#events('network.beforeRequestSent').map(({ params }) => params.request.url)
    const errors = this.#events('log.entryAdded').filter(({ params }) => params.level === 'error')
    await this.#send('browsingContext.close', { context: this.#context })
    assert.deepEqual(
      asked.filter((url: string) => new URL(url).origin !== this.#origin && !/^(?:blob|data):/.test(url)),
      [],
    )
    assert.deepEqual(
      errors.map(({ params }) => params.text),
      [],
    )
  }
}

async function seen(condition: () => Promise<boolean>, what: string): Promise<void> {
  const until = performance.now() + patience
  while (!(await condition())) {
    if (performance.now() > until) throw new Error(`not seen: ${what}`)
    await sleep(50)
  }
}
