import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { requestFaults } from '../requests/faults.ts'
import type { Readiness } from './readiness.ts'
import { sendJson, sendProblem } from './send.ts'

type Probe = 'healthz' | 'readyz'

/** Which probe a URL is for, if any. */
export function probePath(url: string): Probe | undefined {
  const query = url.indexOf('?')
  const path = query < 0 ? url : url.slice(0, query)
  if (path === '/healthz') return 'healthz'
  return path === '/readyz' ? 'readyz' : undefined
}

/**
 * Answers `/healthz` and `/readyz`. Before express, because the kubelet asks from the first second on and most replicas never need express
 * otherwise; and without a place among the requests in flight, so that a busy server isn't taken for a dead one.
 */
export function answerProbe(
  { method }: IncomingMessage,
  response: ServerResponse,
  probe: Probe,
  { readiness, log }: { readonly readiness: () => Promise<Readiness>; readonly log: Logger },
): void {
  if (method !== 'GET' && method !== 'HEAD') {
    sendProblem(response, requestFaults['wrong-method'], `use GET, not ${method}`, { headers: { allow: 'GET, HEAD' } })
  } else if (probe === 'healthz') sendJson(response, 200, { alive: true })
  else {
    readiness().then(
      (found) => sendJson(response, found.ready ? 200 : 503, found),
      (error) => {
        log.error({ err: error }, 'readiness failed')
        sendProblem(response, requestFaults['server-fault'], 'internal error; see the log of sidecar-first')
      },
    )
  }
}
