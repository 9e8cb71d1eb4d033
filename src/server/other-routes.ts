import express, { type ErrorRequestHandler } from 'express'
import { serverMetrics } from './metrics.ts'
import { sendBad, sendText, wrongMethod } from './send.ts'
import type { Serving } from './serving.ts'

/** Everything but admissions and probes. */
export async function createPages(context: Serving) {
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing')

  const metrics = serverMetrics(context)
  get('/metrics', async (_request, response) => {
    sendText(response, 200, metrics.contentType, await metrics.text())
  })
  // Most servers of a cluster answer admissions alone.
  const preview = context.preview ? (await import('./preview.ts')).createPreviewRoutes(context) : undefined
  if (preview !== undefined) {
    app.all('/preview', preview.answer)
    for (const [path, handler] of preview.files) get(path, handler)
  }
  app.use((request, response) =>
    sendBad(response, { kind: 'unknown-path', error: `not found: ${request.path.slice(0, 200)}` }),
  )
  const onError: ErrorRequestHandler = (error, _request, response, _next) => {
    // A broken URL is the client's fault; express says so with a status.
    if (typeof error?.status === 'number' && error.status < 500) {
      sendBad(response, { kind: 'not-http', error: error.message })
      return
    }
    context.log.error({ err: error }, 'request failed')
    sendBad(response, { kind: 'server-fault' })
  }
  app.use(onError)
  return { listener: app, stop: () => preview?.stop() }

  function get(path: string, handler: express.RequestHandler): void {
    app
      .route(path)
      .get(handler)
      .all(({ method }, response) => sendBad(response, wrongMethod(method, 'GET, HEAD')))
  }
}
