import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Measured, serverMetrics } from './metrics.ts'
import type { createPreviewRoutes } from './preview.ts'
import type { Readiness } from './readiness.ts'
import type { Receiver } from './receive.ts'
import { type Handler, sendBad, sendJson, sendText, wrongMethod } from './send.ts'

/** What the routes need. */
export interface RoutesContext extends Measured, Receiver {
  readonly log: Logger
  readonly preview: boolean
  readonly readiness: () => Promise<Readiness>
}

/** Everything but admissions. Probes have no place among the requests in flight, so that a busy server isn't taken for a dead one. */
export function createRoutes(context: RoutesContext): { readonly answer: Handler; stop(): void } {
  const { readiness, log } = context
  // Most servers of a cluster answer admissions and probes alone: the rest is loaded when it is first asked for.
  let metrics: Promise<ReturnType<typeof serverMetrics>> | undefined
  let preview: Promise<ReturnType<typeof createPreviewRoutes>> | undefined

  const pages = new Map<string, Handler>([
    ['/healthz', (_request, response) => sendJson(response, 200, { alive: true })],
    [
      '/readyz',
      async (_request, response) => {
        const found = await readiness()
        sendJson(response, found.ready ? 200 : 503, found)
      },
    ],
    [
      '/metrics',
      async (_request, response) => {
        metrics ??= import('./metrics.ts').then((module) => module.serverMetrics(context))
        const { contentType, text } = await metrics
        sendText(response, 200, contentType, await text())
      },
    ],
  ])

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', method } = request
    const path = url.replace(/\?.*$/, '').replace(/(?<=.)\/$/, '')
    let page = pages.get(path)
    if (page === undefined && context.preview) {
      preview ??= import('./preview.ts').then((module) => module.createPreviewRoutes(context))
      const { files, answer } = await preview
      if (path === '/preview') return await answer(request, response)
      page = files.get(path)
    }
    if (page === undefined) sendBad(response, { kind: 'unknown-path', error: `not found: ${path.slice(0, 200)}` })
    else if (method === 'GET' || method === 'HEAD') await page(request, response)
    else sendBad(response, wrongMethod(method, 'GET, HEAD'))
  }

  return {
    answer: (request, response) =>
      answer(request, response).catch((error) => {
        log.error({ err: error }, 'request failed')
        sendBad(response, { kind: 'server-fault' })
      }),
    stop: () => void preview?.then(({ stop }) => stop()),
  }
}
