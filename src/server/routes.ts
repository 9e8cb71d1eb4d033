import type { RequestListener } from 'node:http'
import express, { type ErrorRequestHandler } from 'express'
import type { Logger } from 'pino'
import { createMetrics, type Measured } from './metrics.ts'
import type { Receiver } from './receive.ts'
import { sendProblem } from './send.ts'

/** What the routes of express need. */
export interface RoutesContext extends Measured, Receiver {
  readonly log: Logger
  readonly preview: boolean
}

export interface Routes {
  readonly listener: RequestListener
  /** Ends what was started for the answers. */
  stop(): void
}

/** Everything but admissions and probes, which are answered before express is loaded. */
export async function createRoutes(context: RoutesContext): Promise<Routes> {
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing')

  const metrics = createMetrics(context)
  get('/metrics', async (_request, response) => {
    response.set('content-type', metrics.contentType).end(await metrics.text())
  })
  // Most servers of a cluster answer admissions alone.
  const preview = context.preview ? (await import('./preview.ts')).createPreviewRoutes(context) : undefined
  if (preview !== undefined) {
    app.all('/preview', preview.answer)
    for (const [path, handler] of preview.files) get(path, handler)
  }
  app.use((request, response) => sendProblem(response, 404, `not found: ${request.path.slice(0, 200)}`))
  const onError: ErrorRequestHandler = (error, _request, response, _next) => {
    // A broken URL is the client's fault; express says so with a status.
    const status = typeof error?.status === 'number' && error.status < 500 ? error.status : 500
    if (status === 500) context.log.error({ err: error }, 'request failed')
    sendProblem(response, status, status === 500 ? 'internal error; the log of sidecar-first has more' : error.message)
  }
  app.use(onError)
  return { listener: app, stop: () => preview?.stop() }

  function get(path: string, handler: express.RequestHandler): void {
    app
      .route(path)
      .get(handler)
      .all((request, response) => {
        sendProblem(response, 405, `use GET, not ${request.method}`, { headers: { allow: 'GET, HEAD' } })
      })
  }
}
