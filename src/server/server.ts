import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import type { Logger } from 'pino'
import { admissionPath, answerAdmission } from './admission.ts'
import { type Material, openCertificate, type Sources } from './certificate.ts'
import { createInFlight } from './in-flight.ts'
import type { LiveConfiguration } from './live-configuration.ts'
import { createReadiness } from './readiness.ts'
import type { Routes } from './routes.ts'
import { sendProblem } from './send.ts'
import { createTallies } from './tally.ts'
import { watchFiles } from './watch.ts'

export const routes = ['admission', 'preview'] as const
export type Route = (typeof routes)[number]

export interface ServerOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  readonly routes: ReadonlySet<Route>
  readonly sources: Sources
  readonly configuration: LiveConfiguration
  readonly maxInFlight: number
  readonly log: Logger
  /** Milliseconds. */
  readonly times?: Partial<typeof times>
}

export interface RunningServer {
  readonly address: AddressInfo
  /**
   * Tells probes to send nothing more, serves for `wait` ms, each answer closing its connection, then answers what is in flight and ends.
   * Called again, it ends at once. Resolves to whether everything was answered.
   */
  drain(wait: number): Promise<boolean>
}

const times = {
  /** The API server keeps idle connections for 90 s and never repeats a POST on one that was closed under it. */
  keepAlive: 100_000,
  /** An API server sends a request in one go, and waits for its answer for 30 s at most. */
  headers: 10_000,
  request: 30_000,
  /** A body comes at once from an API server; slower ones give way to others once all places are taken. */
  patience: 1000,
  handshake: 10_000,
  /** How often slow senders are looked for. */
  checks: 2000,
  /** How often files are looked at, beside being watched. */
  files: 15_000,
  /** How long a connection that was accepted may still take to send its request, once the server stops. */
  end: 5000,
}

/**
 * Starts to serve.
 * @throws CertificateError; what `listen` throws, as EADDRINUSE
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { configuration, log, sources } = options
  const time = { ...times, ...options.times }
  const now = () => new Date()
  const tallies = createTallies()
  const inFlight = createInFlight(options.maxInFlight, time.patience, () => performance.now())
  const certificate = await openCertificate(sources, {
    now,
    swapped(material) {
      server.setSecureContext(secure(material))
      log.info({ notAfter: certificate.leaf.validToDate }, 'certificate reloaded')
    },
    rejected(problems) {
      tallies.reloadFailures.certificate++
      log.error({ problems }, 'certificate not reloaded; the last good one stays')
    },
  })
  let state: 'serving' | 'draining' | 'ended' = 'serving'
  const readiness = createReadiness({
    certificate,
    address: () => server.address() as AddressInfo,
    isDraining: () => state !== 'serving',
    now,
  })
  const preview = options.routes.has('preview')
  const context = { configuration, inFlight, tallies, log, certificate, readiness, preview }

  // Loaded with the first request that needs it: admissions don't.
  let express: Promise<Routes> | undefined
  const rest = (request: IncomingMessage, response: ServerResponse) => {
    express ??= import('./routes.ts').then(({ createRoutes }) => createRoutes(context))
    express.then(({ listener }) => listener(request, response))
  }

  const server = createServer(
    {
      ...secure(certificate.material),
      ALPNProtocols: ['http/1.1'],
      requestCert: sources.clientCa !== undefined,
      // Probes have no certificate: who needs one is looked at below.
      rejectUnauthorized: false,
      handshakeTimeout: time.handshake,
      keepAliveTimeout: time.keepAlive,
      headersTimeout: time.headers,
      requestTimeout: time.request,
      connectionsCheckingInterval: time.checks,
      requireHostHeader: false,
    },
    (request, response) => {
      if (state !== 'serving') response.shouldKeepAlive = false
      const path = admissionPath(request.url ?? '')
      if (path === undefined) rest(request, response)
      else if (!options.routes.has('admission')) {
        sendProblem(response, 404, 'admissions are not served here (--routes)')
      } else if (sources.clientCa !== undefined && !(request.socket as TLSSocket).authorized) {
        sendProblem(response, 403, 'a client certificate is needed that one of the CAs of --client-ca has signed')
      } else answerAdmission(request, response, path, context)
    },
  )
  server.on('close', () => express?.then(({ stop }) => stop()))
  server.on('clientError', answerBrokenRequest)
  server.on('tlsClientError', (error) => log.debug({ err: error.message }, 'TLS handshake failed'))

  server.listen(options.port, options.host)
  await once(server, 'listening')
  server.on('error', (error) => log.error({ err: error }, 'server'))
  const address = server.address() as AddressInfo
  const paths = [...('made' in sources.pair ? [] : [sources.pair.cert, sources.pair.key]), sources.clientCa]
  const watched = [
    watchFiles(
      paths.filter((path) => path !== undefined),
      time.files,
      () => void certificate.refresh(),
    ),
    ...(configuration.path === undefined ? [] : [watchFiles([configuration.path], time.files, () => void reload())]),
  ]

  if (configuration.notices.length > 0) log.warn({ notices: configuration.notices }, 'configuration')
  async function reload(): Promise<void> {
    const refreshed = await configuration.refresh()
    switch (refreshed.kind) {
      case 'unchanged':
        return
      case 'taken':
        log.info({ hash: configuration.hash }, 'configuration reloaded')
        if (refreshed.notices.length > 0) log.warn({ notices: refreshed.notices }, 'configuration')
        return
      case 'rejected':
        tallies.reloadFailures.configuration++
        // A file can have as many problems as lines.
        log.error({ problems: refreshed.problems.slice(0, 20) }, 'configuration not reloaded; the last good one stays')
        return
      default:
        refreshed satisfies never
    }
  }

  const cut = new AbortController()
  return {
    address,
    async drain(wait) {
      if (state !== 'serving') {
        cut.abort()
        return false
      }
      state = 'draining'
      inFlight.closeAfter()
      const closed = once(server, 'close')
      try {
        await sleep(wait, undefined, { signal: cut.signal })
        state = 'ended'
        for (const each of watched) each.stop()
        server.close()
        await Promise.race([closed, sleep(time.end, undefined, { signal: cut.signal })])
      } catch {
        // Asked a second time.
      }
      const answered = inFlight.count === 0
      server.close()
      server.closeAllConnections()
      await closed
      return answered
    },
  }
}

const secure = ({ certificate, key, clientCa }: Material) => ({
  cert: certificate,
  key,
  minVersion: 'TLSv1.2' as const,
  ...(clientCa !== undefined && { ca: clientCa }),
})

/** What Node's parser refused gets JSON as well. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, text] = brokenRequests[error.code ?? ''] ?? ['400 Bad Request', 'this is no HTTP request']
  const body = `${JSON.stringify({ error: text, problems: [] })}\n`
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  )
}
const brokenRequests: Readonly<Record<string, readonly [status: string, text: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the header is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request came too slowly'],
}
