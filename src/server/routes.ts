import type { IncomingMessage, ServerResponse } from 'node:http'
import type { createPages } from './other-routes.ts'
import { type Handler, sendBad, sendJson, wrongMethod } from './send.ts'
import type { Serving } from './serving.ts'

/**
 * Everything but admissions. The kubelet probes from the first second on, and most replicas never need express otherwise, so probes are
 * answered before it is loaded; and without a place among the requests in flight, so that a busy server isn't taken for a dead one.
 */
export function createRoutes(context: Serving): { readonly answer: Handler; stop(): void } {
  let pages: ReturnType<typeof createPages> | undefined

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', method } = request
    const [path] = url.split('?', 1)
    if (path !== '/healthz' && path !== '/readyz') {
      pages ??= import('./other-routes.ts').then((module) => module.createPages(context))
      const { listener } = await pages
      listener(request, response)
    } else if (method !== 'GET' && method !== 'HEAD') sendBad(response, wrongMethod(method, 'GET, HEAD'))
    else if (path === '/healthz') sendJson(response, 200, { alive: true })
    else {
      const found = await context.readiness()
      sendJson(response, found.ready ? 200 : 503, found)
    }
  }

  return {
    answer: (request, response) =>
      answer(request, response).catch((error) => {
        context.log.error({ err: error }, 'request failed')
        sendBad(response, { kind: 'server-fault' })
      }),
    stop: () => void pages?.then(({ stop }) => stop()),
  }
}
