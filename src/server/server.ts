import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Logger } from 'pino'
import { type RequestFaultKind, refusedAs, requestFaults } from '../requests/faults.ts'
import type { Inform } from '../terminal/log.ts'
import { admissionPath, answerAdmission } from './admission.ts'
import { type Material, openCertificate, type Sources } from './certificate.ts'
import type { LiveConfiguration } from './configuration.ts'
import { createConnections } from './connections.ts'
import { createDrain, type Drain } from './drain.ts'
import { createInFlight } from './in-flight.ts'
import { createReadiness } from './readiness.ts'
import { watchSources } from './reload.ts'
import { createRoutes } from './routes.ts'
import { sendBad } from './send.ts'
import type { Serving } from './serving.ts'
import { createStrain, watchStrain } from './strain.ts'
import { createTallies } from './tally.ts'
import { createTurns } from './turns.ts'

export const routes = ['admission', 'preview'] as const
type Route = (typeof routes)[number]

interface ServerOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  readonly routes: ReadonlySet<Route>
  readonly sources: Sources
  readonly configuration: LiveConfiguration
  readonly maxInFlight: number
  readonly log: Logger
  readonly inform: Inform
  /** Milliseconds. */
  readonly times?: Partial<typeof times>
}

export type RunningServer = Awaited<ReturnType<typeof startServer>>

const times = {
  /** The API server keeps idle connections for 90 s and never repeats a POST on one that was closed under it. */
  keepAlive: 100_000,
  /** An API server sends a request in one go, and waits for its answer for 30 s at most. */
  headers: 10_000,
  request: 30_000,
  handshake: 10_000,
  /** How often Node looks for slow senders. */
  checks: 2000,
  /** How often files are read again even if nothing reported a change. */
  files: 15_000,
  /** How long a connection that was accepted may still take to send its request, once the server has stopped listening. */
  grace: 5000,
}

/** In bytes, of bodies and answers together: six of the largest, in an eighth of the container's 512 MiB. */
const mostHeld = 64 * 1024 * 1024

/** For each request in flight, how many connections may be open: 500 by default, and they take 100 KB each. An API server keeps 25. */
const connectionsEach = 5

/**
 * Starts to serve.
 * @throws CertificateError; what `listen` throws, as EADDRINUSE
 */
export async function startServer(options: ServerOptions) {
  const { configuration, log, inform, sources } = options
  const time = { ...times, ...options.times }
  const tallies = createTallies()
  const inFlight = createInFlight({ requests: options.maxInFlight, bytes: mostHeld })
  const certificate = await openCertificate(sources, {
    swapped(material) {
      server.setSecureContext(secure(material))
      log.info({ notAfter: certificate.leaf.validToDate }, 'certificate reloaded')
    },
    rejected(problems) {
      tallies.reloadFailures.certificate++
      log.error({ problems }, 'certificate not reloaded; the last good one stays')
    },
  })
  const connections = createConnections(options.maxInFlight * connectionsEach)
  const strain = createStrain()
  const samples = watchStrain(strain, inFlight.counts)
  const stopped = new AbortController()
  const drain = createDrain(() => server, inFlight, { grace: time.grace, stopping: () => stopped.abort() })
  const address = () => server.address() as AddressInfo
  const readiness = createReadiness(certificate, strain, drain, address)
  const preview = options.routes.has('preview')
  const listener = createListener(options, drain, {
    configuration,
    inFlight,
    turns: createTurns(),
    connections,
    tallies,
    log,
    inform,
    certificate,
    readiness,
    preview,
  })
  const server = createServer(
    {
      ...secure(certificate.material),
      ALPNProtocols: ['http/1.1'],
      requestCert: sources.clientCa !== undefined,
      // Probes have no certificate; the listener checks for one where it is needed.
      rejectUnauthorized: false,
      handshakeTimeout: time.handshake,
      keepAliveTimeout: time.keepAlive,
      headersTimeout: time.headers,
      requestTimeout: time.request,
      connectionsCheckingInterval: time.checks,
      requireHostHeader: false,
    },
    listener.listen,
  )
  connections.watch(server)
  server.on('close', listener.stop)
  server.on('close', () => clearInterval(samples))
  server.on('clientError', answerBrokenRequest)
  server.on('tlsClientError', (error) => log.debug({ err: error.message }, 'TLS handshake failed'))

  server.listen(options.port, options.host)
  await once(server, 'listening')
  server.on('error', (error) => log.error({ err: error }, 'server'))
  const { signal } = stopped
  watchSources(sources, certificate, configuration, { every: time.files, signal, log, tallies })
  return { address: address(), drain: drain.start }
}

/** Decides by path who answers a request. */
function createListener({ routes, sources }: ServerOptions, drain: Drain, context: Serving) {
  const rest = createRoutes(context)
  return {
    listen(request: IncomingMessage, response: ServerResponse): void {
      if (!context.connections.busy(request, response)) return
      if (request.headers['transfer-encoding'] !== undefined) {
        refuseChunks(request, response)
        return
      }
      if (drain.begun) response.shouldKeepAlive = false
      const path = admissionPath(request.url ?? '')
      if (path === undefined) rest.answer(request, response)
      else if (!routes.has('admission')) sendBad(response, { kind: 'no-admissions-here' })
      else if (sources.clientCa !== undefined && !(request.socket as TLSSocket).authorized) {
        sendBad(response, { kind: 'client-unknown' })
      } else answerAdmission(request, response, path, context)
    },
    stop: rest.stop,
  }
}

/**
 * A chunk of one byte takes six on the wire, and as much CPU as kilobytes of a plain body. API servers and browsers know the length of what
 * they send. The rest isn't waited for, so the connection has to end.
 */
function refuseChunks(request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false
  response.once('finish', () => request.destroy())
  // Dropped, what still comes until then: kept, each byte would take a hundred.
  request.resume()
  sendBad(response, { kind: 'length-missing' })
}

const secure = ({ certificate, key, clientCa }: Material) => ({
  cert: certificate,
  key,
  minVersion: 'TLSv1.2' as const,
  ...(clientCa !== undefined && { ca: clientCa }),
})

/**
 * Requests that Node's parser refuses are answered with JSON as well. Failed handshakes and sockets come here, too: they have nobody to answer,
 * and a handshake that goes on after its time would deliver this answer in place of the request's.
 */
function answerBrokenRequest({ code = '' }: NodeJS.ErrnoException, socket: Duplex): void {
  const kind = brokenRequests[code] ?? (code.startsWith('HPE_') ? 'not-http' : undefined)
  if (kind === undefined || !socket.writable) {
    socket.destroy()
    return
  }
  const { status } = requestFaults[kind]
  const body = `${JSON.stringify(refusedAs(kind))}\n`
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  )
}
const brokenRequests: Readonly<Record<string, RequestFaultKind>> = {
  HPE_HEADER_OVERFLOW: 'head-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'too-slow',
}
