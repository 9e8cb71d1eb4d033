import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import openapi from '../preview/openapi.json' with { type: 'json' }
import { vocabulary } from '../preview/vocabulary.ts'
import { version } from '../version.ts'
import { pageFiles } from './page-files.ts'
import { type Handler, sendText } from './send.ts'

/** The page uses only its own files, and talks only to this server. */
const policy = [
  "default-src 'none'",
  ...['script-src', 'style-src', 'connect-src', 'img-src'].map((source) => `${source} 'self'`),
  ...['base-uri', 'form-action', 'frame-ancestors'].map((directive) => `${directive} 'none'`),
].join('; ')

const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // The browser asks each time, and is answered 304 while nothing has changed.
  'cache-control': 'no-cache',
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  yaml: 'text/plain; charset=utf-8',
}

const description = JSON.stringify({ ...openapi, info: { ...openapi.info, version } })

/** The handlers, by path, for GET of the page, its files and the description of `/preview`. `opened` is called when somebody opens the page. */
export function createPage(opened: () => void): ReadonlyMap<string, Handler> {
  const handlers = new Map<string, Handler>()
  handlers.set('/openapi.json', sender('application/json', description))
  handlers.set('/page/vocabulary.json', sender('application/json', JSON.stringify(vocabulary)))
  handlers.set('/page/messages.json', sendMessages)
  for (const [name, text] of pageFiles) {
    const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
    const send = sender(type, text)
    if (name !== 'index.html') handlers.set(new URL(name, 'file:///page/').pathname, send)
    else {
      handlers.set('/', (request, response) => {
        opened()
        send(request, response)
      })
    }
  }
  return handlers
}

let messages: Promise<Handler> | undefined
/** What `explain` says. Loaded when it is first asked for: no other part of the server needs it. */
function sendMessages(request: IncomingMessage, response: ServerResponse): void {
  messages ??= import('../messages/catalogue.ts').then(({ catalogue }) => {
    const told = catalogue.map(({ code, means, next }) => [code, { means, next }])
    return sender('application/json', JSON.stringify(Object.fromEntries(told)))
  })
  void messages.then((send) => send(request, response))
}

function sender(type: string, text: string): Handler {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  return (request, response) => {
    if (request.headers['if-none-match']?.split(/, */).includes(etag)) {
      response.writeHead(304, { ...headers, etag }).end()
    } else sendText(response, 200, type, text, { ...headers, etag })
  }
}
