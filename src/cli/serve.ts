import { isIP, isIPv6 } from 'node:net'
import { parseArgs } from 'node:util'
import { defaultConfiguration } from '../admission/configuration.ts'
import { parseDuration } from '../admission/duration.ts'
import { CertificateError, type Sources } from '../server/certificate.ts'
import { fixedConfiguration, type LiveConfiguration } from '../server/live-configuration.ts'
import { createLog, type Level, levels } from '../server/log.ts'
import { type Route, type RunningServer, routes, startServer } from '../server/server.ts'
import { version } from '../version.ts'
import { type Command, type ExitCode, UsageError } from './command.ts'
import { FileError, readText } from './files.ts'
import { oneOf, port, wholeNumber } from './flag.ts'
import { sampleManifest } from './sample.ts'

const help = `Answers admission requests and previews over HTTPS.

Usage: sidecar-first serve [flags]

  --host ADDRESS        address to listen on (127.0.0.1)
  --port PORT           port to listen on (8443); 0 picks a free one and prints it
  --cert FILE           certificate, PEM; reloaded when it changes. Without it one is made in memory
  --key FILE            its private key, PEM
  --client-ca FILE      CAs, PEM: /mutate and /validate then ask for a client certificate that one of them has signed
  --config FILE         configuration; reloaded when it changes, and a bad version is reported in the log
  --routes LIST         what to serve: admission, preview (both)
  --max-in-flight N     requests at one time; more are answered 429 (100)
  --drain DURATION      how long to go on after SIGTERM, while clients turn away (10s); Ctrl-C in a terminal doesn't wait
  --log-level LEVEL     ${levels.join(', ')} (info)

A second signal ends it at once.

Example: sidecar-first serve --port 8443
`

const options = {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '8443' },
  cert: { type: 'string' },
  key: { type: 'string' },
  'client-ca': { type: 'string' },
  config: { type: 'string' },
  routes: { type: 'string', default: routes.join(',') },
  'max-in-flight': { type: 'string', default: '100' },
  drain: { type: 'string', default: '10s' },
  'log-level': { type: 'string', default: 'info' },
} as const

export const serve: Command = {
  help,
  async run(args, terminal) {
    const flags = readFlags(args)
    const { log, flush } = createLog(flags.logLevel)
    let server: RunningServer
    let configuration: LiveConfiguration
    try {
      configuration = await configurationOf(flags.config)
      const sources: Sources = {
        pair: flags.pair ?? { made: await makeCertificate(flags.host) },
        clientCa: flags.clientCa,
      }
      server = await startServer({ ...flags, sources, configuration, log })
    } catch (error) {
      terminal.stderr.write(`sidecar-first: ${whyNot(error, flags)}\n`)
      return 1
    }
    // Before anybody hears that it is ready, and may ask it to end.
    const ended = untilAsked(server, flags.drain, () => log.info('shutting down'))
    const url = `https://${isIPv6(server.address.address) ? `[${server.address.address}]` : server.address.address}:${server.address.port}`
    const line = `sidecar-first ${version} serves on ${url}`
    if (flags.pair) log.info({ address: url }, line)
    else terminal.stdout.write(`${line}\n${flags.routes.has('preview') ? tryIt(url) : ''}`)
    await flush()
    const code = await ended
    await flush()
    return code
  },
}

interface Flags {
  readonly host: string
  readonly port: number
  readonly pair: { readonly cert: string; readonly key: string } | undefined
  readonly clientCa: string | undefined
  readonly config: string | undefined
  readonly routes: ReadonlySet<Route>
  readonly maxInFlight: number
  /** Milliseconds. */
  readonly drain: number
  readonly logLevel: Level
}

function readFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({ args: [...args], options, allowPositionals: false })
  const { cert, key } = values
  if ((cert === undefined) !== (key === undefined)) throw new UsageError('--cert and --key go together')
  return {
    host: values.host,
    port: port('--port', values.port),
    pair: cert !== undefined && key !== undefined ? { cert, key } : undefined,
    clientCa: values['client-ca'],
    config: values.config,
    routes: new Set(values.routes.split(',').map((name) => oneOf('--routes', name.trim(), routes))),
    maxInFlight: wholeNumber('--max-in-flight', values['max-in-flight'], 1, 10_000),
    drain: drainTime(values.drain),
    logLevel: oneOf('--log-level', values['log-level'], levels),
  }
}

function drainTime(text: string): number {
  if (text === '0' || text === '0s') return 0
  const duration = parseDuration(text)
  if (!duration.ok) throw new UsageError(`--drain: ${duration.problem}`)
  return duration.value
}

async function configurationOf(path: string | undefined): Promise<LiveConfiguration> {
  if (path === undefined) return fixedConfiguration(defaultConfiguration(version))
  const { openConfiguration } = await import('../server/configuration.ts')
  const opened = await openConfiguration(path, version, () => readText(path))
  if (!opened.ok) throw new FileError(opened.problems)
  return opened.configuration
}

/** A certificate for a laptop, from a CA that is thrown away at once. */
async function makeCertificate(host: string) {
  const { issueAuthority, issueLeaf } = await import('../../certs/x509.ts')
  const at = new Date()
  const life = 365 * 24 * 3_600_000
  const authority = await issueAuthority({ commonName: 'sidecar-first in memory', life, at })
  const ips = new Set(['127.0.0.1', '::1', ...(isIP(host) ? [host] : [])])
  const names = new Set(['localhost', ...(isIP(host) ? [] : [host])])
  return issueLeaf({ authority, names: [...names], ips: [...ips], life, at })
}

/** One line for what kept the server from starting; anything unforeseen is thrown on. */
function whyNot(error: unknown, { host, port }: Flags): string {
  if (error instanceof CertificateError || error instanceof FileError) return error.message
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE')
    return `port ${port} of ${host} is in use; choose another with --port, or 0 for any free one`
  if (code === 'EACCES') return `port ${port} needs more rights; choose one above 1023 with --port`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${host} is no address of this machine; see --host`
  throw error
}

/** A call that works when pasted. The certificate was made in memory, so curl can't know it: -k. */
const tryIt = (url: string) => `
Open it in a browser, or paste this:

curl -sk ${url}/preview -H 'Content-Type: application/yaml' -H 'Accept: application/yaml' --data-binary @- <<'EOF'
${sampleManifest}EOF
`

/** Serves until a signal, then drains; a second signal cuts it short. */
async function untilAsked(server: RunningServer, wait: number, stopping: () => void): Promise<ExitCode> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let asked = 0
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (asked === 0) {
      asked = now
      stopping()
      // Nobody behind a terminal waits for a load balancer.
      server.drain(signal === 'SIGINT' && process.stdin.isTTY ? 0 : wait).then(resolve)
      return
    }
    // npm passes on a Ctrl-C that the terminal has already sent to everybody.
    if (now - asked > 300) server.drain(0)
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  try {
    return (await promise) ? 0 : 1
  } finally {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
  }
}
