import { isIP, isIPv6 } from 'node:net'
import { defaultConfiguration } from '../admission/intent/configuration.ts'
import { FileError, readText } from '../files/files.ts'
import { fixedConfiguration, type LiveConfiguration } from '../server/configuration.ts'
import { type RunningServer, routes, startServer } from '../server/server.ts'
import { type ExitCode, ExpectedError, UsageError } from '../terminal/command.ts'
import { defineCommand } from '../terminal/define-command.ts'
import { durationWithin, oneOf, port, wholeNumber } from '../terminal/flag.ts'
import { createLog, levels } from '../terminal/log.ts'
import { version } from '../version.ts'

const help = `Answers admission requests and previews over HTTPS.

Usage: sidecar-first serve [flags]

  --host ADDRESS        address to listen on (127.0.0.1)
  --port PORT           port to listen on (8443); 0 picks a free one
  --cert FILE           certificate, PEM; reloaded when it changes. Without it,
                        one is made in memory
  --key FILE            its private key, PEM
  --client-ca FILE      CAs, PEM: /mutate and /validate then require a client
                        certificate signed by one of them
  --config FILE         configuration; reloaded when it changes; a bad version
                        is reported in the log and not used
  --routes LIST         what to serve: admission, preview (default: both)
  --max-in-flight N     requests at a time; more are answered 429 (100)
  --drain DURATION      how long to go on serving after SIGTERM, while clients
                        turn away (10s); Ctrl-C in a terminal doesn't wait
  --log-level LEVEL     ${levels.join(', ')} (info)

A second signal stops it at once.

Example: sidecar-first serve --port 8443
`

const drain = durationWithin('0s', '10m')
const readDrain = (flag: string, text: string) => drain(flag, text === '0' ? '0s' : text)
const readRoutes = (flag: string, text: string) =>
  new Set(text.split(',').map((name) => oneOf(flag, name.trim(), routes)))
const options = {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', read: port, default: '8443' },
  cert: { type: 'string' },
  key: { type: 'string' },
  'client-ca': { type: 'string' },
  config: { type: 'string' },
  routes: { type: 'string', choices: routes, read: readRoutes, default: routes.join(',') },
  'max-in-flight': { type: 'string', read: wholeNumber(1, 10_000), default: '100' },
  drain: { type: 'string', read: readDrain, default: '10s' },
  'log-level': { type: 'string', choices: levels, default: 'info' },
} as const

export const serve = defineCommand({
  help,
  options,
  async run({ host, port, cert, key, routes, ...flags }, _, terminal) {
    if ((cert === undefined) !== (key === undefined))
      throw new UsageError('flags-together', '--cert and --key go together')
    const given = cert !== undefined && key !== undefined ? { cert, key } : undefined
    const { log, inform, flush } = createLog(flags['log-level'])
    const configuration = await configurationOf(flags.config)
    const pair = given ?? { made: await makeCertificate(host) }
    const server = await startServer({
      host,
      port,
      routes,
      maxInFlight: flags['max-in-flight'],
      sources: { pair, clientCa: flags['client-ca'] },
      configuration,
      log,
      inform,
    }).catch(explained(host, port))
    // Set up before anybody can hear that it is ready and send a signal.
    const ended = untilAsked(server, flags.drain, () => log.info('shutting down'))
    const url = `https://${isIPv6(server.address.address) ? `[${server.address.address}]` : server.address.address}:${server.address.port}`
    const line = `sidecar-first ${version} serves on ${url}`
    if (given) log.info({ address: url }, line)
    else terminal.stdout.write(`${line}\n${routes.has('preview') ? await tryIt(url) : ''}`)
    await flush()
    const code = await ended
    await flush()
    return code
  },
})

async function configurationOf(path: string | undefined): Promise<LiveConfiguration> {
  if (path === undefined) return fixedConfiguration(defaultConfiguration(version))
  const { openConfiguration } = await import('../server/configuration.ts')
  const opened = await openConfiguration(path, version, () => readText(path))
  if (!opened.ok) throw new FileError(opened.problems)
  return opened.configuration
}

/** A certificate for use on a laptop, signed by a CA that is thrown away at once. */
async function makeCertificate(host: string) {
  const { issueAuthority, issueLeaf } = await import('../../certs/x509.ts')
  const at = new Date()
  const life = 365 * 24 * 3_600_000
  const authority = await issueAuthority({ commonName: 'sidecar-first in memory', life, at })
  const ips = new Set(['127.0.0.1', '::1', ...(isIP(host) ? [host] : [])])
  const names = new Set(['localhost', ...(isIP(host) ? [] : [host])])
  return issueLeaf({ authority, names: [...names], ips: [...ips], life, at })
}

/** Explains why the system doesn't let us listen. */
function explained(host: string, port: number): (error: unknown) => never {
  const reasons: Partial<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is in use; choose another with --port, or 0 for any free one`,
    EACCES: `port ${port} needs privileges; choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; see --host`,
    ENOTFOUND: `${host} is not an address of this machine; see --host`,
  }
  return (error) => {
    const reason = error instanceof Error && 'code' in error ? reasons[String(error.code)] : undefined
    throw reason === undefined ? error : new ExpectedError('cannot-listen', reason, { cause: error })
  }
}

/** A call that works when pasted. -k, because the certificate was made in memory and curl can't trust it. */
async function tryIt(url: string): Promise<string> {
  const { sampleManifest } = await import('../preview/show/sample.ts')
  return `
Open it in a browser, or paste this:

curl -sk ${url}/preview -H 'Content-Type: application/yaml' -H 'Accept: application/yaml' --data-binary @- <<'EOF'
${sampleManifest}EOF
`
}

/** Serves until a signal comes, then drains; a second signal cuts that short. */
async function untilAsked(server: RunningServer, wait: number, stopping: () => void): Promise<ExitCode> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let asked = 0
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (asked === 0) {
      asked = now
      stopping()
      // In a terminal there is no load balancer to wait for.
      server.drain(signal === 'SIGINT' && process.stdin.isTTY ? 0 : wait).then(resolve)
      return
    }
    // The terminal sends Ctrl-C to the whole process group, and npm passes it on once more.
    if (now - asked > 300) server.drain(0)
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  try {
    return (await promise) ? 0 : 1
  } finally {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
  }
}
