import type { RequestListener } from 'node:http'
import express, { type ErrorRequestHandler } from 'express'
import type { Logger } from 'pino'
import { requestFaults } from '../requests/faults.ts'
import { type Measured, serverMetrics } from './metrics.ts'
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

  const metrics = serverMetrics(context)
  get('/metrics', async (_request, response) => {
    response.set('content-type', metrics.contentType).end(await metrics.text())
  })
  // Most servers of a cluster answer admissions alone.
  const preview = context.preview ? (await import('./preview.ts')).createPreviewRoutes(context) : undefined
  if (preview !== undefined) {
    app.all('/preview', preview.answer)
    for (const [path, handler] of preview.files) get(path, handler)
  }
  app.use((request, response) =>
    sendProblem(response, requestFaults['unknown-path'], `not found: ${request.path.slice(0, 200)}`),
  )
  const onError: ErrorRequestHandler = (error, _request, response, _next) => {
    // A broken URL is the client's fault; express says so with a status.
    if (typeof error?.status === 'number' && error.status < 500) {
      sendProblem(response, requestFaults['not-http'], error.message)
      return
    }
    context.log.error({ err: error }, 'request failed')
    sendProblem(response, requestFaults['server-fault'], 'internal error; the log of sidecar-first has more')
  }
  app.use(onError)
  return { listener: app, stop: () => preview?.stop() }

  function get(path: string, handler: express.RequestHandler): void {
    app
      .route(path)
      .get(handler)
      .all((request, response) => {
        sendProblem(response, requestFaults['wrong-method'], `use GET, not ${request.method}`, {
          headers: { allow: 'GET, HEAD' },
        })
      })
  }
}
