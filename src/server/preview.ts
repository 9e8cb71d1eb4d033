import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { createPreviewer } from '../preview/previewer.ts'
import { receive } from './admission.ts'
import type { InFlight } from './in-flight.ts'
import type { LiveConfiguration } from './live-configuration.ts'
import { createPage, type Handler } from './page.ts'
import { sendText } from './send.ts'

export interface PreviewContext {
  readonly configuration: LiveConfiguration
  readonly inFlight: InFlight
  readonly log: Logger
}

/** `POST /preview`, and what is to be had by GET for it, by path: the page, its parts, the description of the endpoint. */
export function createPreviewRoutes({ configuration, inFlight, log }: PreviewContext): {
  readonly answer: Handler
  readonly files: ReadonlyMap<string, Handler>
  stop(): void
} {
  const previewer = createPreviewer((what) => log.error({ what }, 'preview failed'))

  function answer(request: IncomingMessage, response: ServerResponse): void {
    receive(request, response, undefined, inFlight, async (body) => {
      const { 'content-type': contentType, accept } = request.headers
      const query = request.url?.split('?')[1] ?? ''
      const gone = new AbortController()
      response.once('close', () => gone.abort())
      const asked = { body, contentType, accept, query }
      const {
        status,
        contentType: type,
        body: text,
        headers,
      } = await previewer.answer(asked, configuration.current, gone.signal)
      sendText(response, status, type, text, { 'x-content-type-options': 'nosniff', ...headers })
    })
  }

  return { answer, files: createPage(previewer.warm), stop: previewer.stop }
}
