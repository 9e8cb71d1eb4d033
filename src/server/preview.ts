import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import { offered } from '../preview/failure.ts'
import { Previewer } from '../preview/previewer.ts'
import { createPage } from './page.ts'
import { receive } from './receive.ts'
import { sendBad, sendText } from './send.ts'
import type { Serving } from './serving.ts'

/** In bytes. Three megabytes of manifests are what the process that previews has the time for; the page has the same limit. */
const limit = 7 * 1024 * 1024

/** `POST /preview`, and by path what GET serves: the page, its files and the description of the endpoint. */
export function createPreviewRoutes(context: Serving) {
  const { configuration, log } = context
  const previewer = new Previewer((what) => log.error({ what }, 'preview failed'))

  function answer(request: Request, response: ServerResponse): void {
    receive(request, response, { limit }, context, async (received) => {
      if (!received.whole)
        return sendBad(response, { kind: 'body-too-large', error: `the body is larger than ${limit} bytes` })
      const body = received.bytes.toString('utf8')
      const best = request.accepts([...offered])
      const wanted = offered.find((each) => each === best)
      const query = request.url?.split('?')[1] ?? ''
      const gone = new AbortController()
      response.once('close', () => gone.abort())
      const asked = { body, contentType: request.headers['content-type'], wanted, query }
      const {
        status,
        contentType: type,
        body: text,
        headers,
      } = await previewer.answer(asked, configuration.current, gone.signal)
      sendText(response, status, type, text, { 'x-content-type-options': 'nosniff', ...headers })
    })
  }

  return { answer, files: createPage(() => previewer.warm()), stop: () => previewer.stop() }
}
