import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Names } from '../../certs/kubernetes.ts'
import type { Asked, Lifetimes } from '../../certs/next.ts'
import type { Settings } from '../../certs/run.ts'
import { quote } from '../admission/quote.ts'
import { ClusterError } from '../kubernetes/failure.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { createLog, levels } from '../server/log.ts'
import { type Command, type ExitCode, type Terminal, UsageError } from './command.ts'
import { oneOf, port } from './flag.ts'
import { interrupted } from './interrupted.ts'
import { longDuration } from './long-duration.ts'

const help = `Keeps the webhook's certificate, and what the API server trusts, valid without losing a call.

Usage: sidecar-first certs ACTION [flags]

  run                   keep them, for ever; any number of replicas, one leads
  once                  make what is missing, wait until it is trusted, end
  status                what is trusted, what each endpoint serves, until when; 1 if something is wrong
  rotate leaf | ca      have the running certs replace the leaf, or the CA, now
  issue --dir DIR       write ca.crt, ca.key, tls.crt and tls.key; no cluster needed

  -n, --namespace NAME  where the Secret, the Lease and the Service are (sidecar-first)
  --context NAME        the kubeconfig's context (default: its current one)
  --service NAME        the webhook's Service (sidecar-first)
  --dns-name NAME       one more name for the leaf, for a webhook called by URL; may be repeated
  --ca-life DURATION    how long a CA lives (365d)
  --leaf-life DURATION  how long a leaf lives (30d)
  --settle DURATION     how long until every API server has a changed caBundle, at most (5m)
  --lease DURATION      run, once: how long a leader may be silent (15s)
  --metrics-port PORT   run: metrics and health over HTTP (8080); 0 picks a free port
  --timeout DURATION    once: how long to wait (15m)
  --via WAY             status: direct or port-forward (direct in a pod, port-forward elsewhere)
  --dir DIR             issue: the folder
  --force               issue: replace a CA that is there
  --log-level LEVEL     ${levels.join(', ')} (info)

Example: sidecar-first certs issue --dir pki
`

const options = {
  namespace: { type: 'string', short: 'n', default: 'sidecar-first' },
  context: { type: 'string' },
  service: { type: 'string', default: 'sidecar-first' },
  'dns-name': { type: 'string', multiple: true, default: [] as string[] },
  'ca-life': { type: 'string', default: '365d' },
  'leaf-life': { type: 'string', default: '30d' },
  settle: { type: 'string', default: '5m' },
  lease: { type: 'string', default: '15s' },
  'metrics-port': { type: 'string', default: '8080' },
  timeout: { type: 'string', default: '15m' },
  via: { type: 'string' },
  dir: { type: 'string' },
  force: { type: 'boolean', default: false },
  'log-level': { type: 'string', default: 'info' },
} as const

const parse = (args: readonly string[]) => parseArgs({ args: [...args], options, allowPositionals: true })
type Flags = ReturnType<typeof parse>['values']

export const certs: Command = {
  help,
  async run(args, terminal) {
    const { values, positionals } = parse(args)
    const [action, ...rest] = positionals
    if (rest.length > (action === 'rotate' ? 1 : 0))
      throw new UsageError(`${action} takes no ${quote(rest.at(-1) ?? '')}`)
    try {
      switch (action) {
        case 'run':
          return await run(values)
        case 'once':
          return await once(values, terminal)
        case 'status':
          return await status(values, terminal)
        case 'rotate':
          return await rotate(rest[0], values, terminal)
        case 'issue':
          return await issue(values, terminal)
        default:
          throw new UsageError(
            `what shall be done: run, once, status, rotate or issue${action ? `, not ${quote(action)}` : ''}?`,
          )
      }
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error
      terminal.stderr.write(`sidecar-first: ${error.message}\n`)
      return 1
    }
  },
}

async function run(flags: Flags): Promise<ExitCode> {
  const metricsPort = port('--metrics-port', flags['metrics-port'])
  const { settings, flush } = await settingsOf(flags, interrupted())
  const certificates = await import('../../certs/run.ts')
  await certificates.run(settings, metricsPort)
  await flush()
  return 0
}

async function once(flags: Flags, terminal: Terminal): Promise<ExitCode> {
  const limit = AbortSignal.timeout(longDuration('--timeout', flags.timeout, { most: '7d', such: '5m or 1h' }))
  const { settings, flush } = await settingsOf(flags, AbortSignal.any([interrupted(), limit]))
  const { bootstrap } = await import('../../certs/run.ts')
  const finished = await bootstrap(settings)
  await flush()
  if (!finished)
    terminal.stderr.write('sidecar-first: certificates are not there yet; the log says what is in the way\n')
  return finished ? 0 : 1
}

async function status(flags: Flags, terminal: Terminal): Promise<ExitCode> {
  const { kubernetes } = await import('../../certs/kubernetes.ts')
  const { servedCertificate } = await import('../../certs/served.ts')
  const { statusOf } = await import('../../certs/status.ts')
  const { serviceNames } = await import('../../certs/x509.ts')
  const { kubeconfig, inside } = await loadKubeconfig(flags.context)
  const via = oneOf('--via', flags.via ?? (inside ? 'direct' : 'port-forward'), ['direct', 'port-forward'])
  const names = namesOf(flags)
  const dnsNames = [...serviceNames(names.service, names.namespace), ...flags['dns-name']]
  const servername = dnsNames[0] ?? names.service
  const { cluster } = kubernetes({ kubeconfig, names })
  const found = await statusOf({
    cluster,
    names: dnsNames,
    lifetimes: lifetimesOf(flags),
    async ask({ host, port, pod }) {
      if (via === 'direct') return await servedCertificate({ host, port }, servername)
      if (pod === undefined) return undefined
      const { forward } = await import('../kubernetes/port-forward.ts')
      const socket = await forward(kubeconfig, { namespace: names.namespace, pod, port })
      return await servedCertificate({ socket }, servername)
    },
  })
  terminal.stdout.write(`${found.lines.join('\n')}\n`)
  if (found.problems.length === 0) return 0
  terminal.stdout.write(`\nWrong:\n${found.problems.map((problem) => `  ${problem}\n`).join('')}`)
  return 1
}

async function rotate(what: string | undefined, flags: Flags, terminal: Terminal): Promise<ExitCode> {
  if (what !== 'leaf' && what !== 'ca') throw new UsageError('rotate takes leaf or ca')
  const { kubernetes } = await import('../../certs/kubernetes.ts')
  const { ROTATE } = await import('../../certs/secret.ts')
  const { kubeconfig } = await loadKubeconfig(flags.context)
  const { cluster } = kubernetes({ kubeconfig, names: namesOf(flags) })
  const secret = await cluster.readSecret()
  if (!secret) {
    terminal.stderr.write(
      `sidecar-first: there is no Secret in namespace ${flags.namespace}; sidecar-first check says why\n`,
    )
    return 1
  }
  await cluster.updateSecret(secret.version, { data: {}, annotations: { [ROTATE]: what satisfies Asked } })
  const which = what === 'ca' ? `the CA, in steps, which takes ${flags.settle} and more` : 'the leaf'
  terminal.stdout.write(
    `The running sidecar-first certs is asked to replace ${which}; see sidecar-first certs status\n`,
  )
  return 0
}

async function issue(flags: Flags, terminal: Terminal): Promise<ExitCode> {
  const { dir } = flags
  if (dir === undefined) throw new UsageError('issue needs --dir, the folder to write to')
  const { issueAuthority, issueLeaf, serviceNames } = await import('../../certs/x509.ts')
  const { checkAuthorityPair } = await import('../../certs/check.ts')
  const lifetimes = lifetimesOf(flags)
  const at = new Date()
  const path = (name: string) => join(dir, name)
  const there = await Promise.all(
    ['ca.crt', 'ca.key'].map((name) =>
      stat(path(name)).then(
        () => true,
        () => false,
      ),
    ),
  )
  let authority: { certificate: string; key: string }
  if (there.some(Boolean) && !flags.force) {
    const [certificate, key] = await Promise.all(
      ['ca.crt', 'ca.key'].map((name) => readFile(path(name), 'utf8').catch(() => '')),
    )
    authority = { certificate: certificate ?? '', key: key ?? '' }
    const [problem] = checkAuthorityPair({ ...authority, at })
    if (problem) {
      terminal.stderr.write(`sidecar-first: the CA in ${dir} can't sign: ${problem.message}; --force replaces it\n`)
      return 1
    }
  } else {
    authority = await issueAuthority({ commonName: 'sidecar-first CA', life: lifetimes.authority, at })
  }
  const names = [...serviceNames(flags.service, flags.namespace), ...flags['dns-name']]
  const leaf = await issueLeaf({ authority, names, life: lifetimes.leaf, at })
  await mkdir(dir, { recursive: true })
  await write(path('ca.crt'), authority.certificate, 0o644)
  await write(path('ca.key'), authority.key, 0o600)
  await write(path('tls.crt'), leaf.certificate, 0o644)
  await write(path('tls.key'), leaf.key, 0o600)
  terminal.stdout.write(
    `${there.some(Boolean) && !flags.force ? 'New leaf from the CA' : 'New CA and leaf'} in ${dir}: ${names.join(', ')}\n`,
  )
  return 0
}

/** Whole or not at all, and a key readable by its owner alone from the first byte on. */
async function write(path: string, text: string, mode: number) {
  const half = `${path}.new`
  await rm(half, { force: true })
  await writeFile(half, text, { mode, flag: 'wx' })
  await rename(half, path)
}

async function settingsOf(flags: Flags, signal: AbortSignal) {
  const level = oneOf('--log-level', flags['log-level'], levels)
  const lifetimes = lifetimesOf(flags)
  const lease = longDuration('--lease', flags.lease, { most: '1d', such: '15s or 1m' })
  const { kubeconfig } = await loadKubeconfig(flags.context)
  const { log, flush } = createLog(level)
  const settings: Settings = {
    kubeconfig,
    names: namesOf(flags),
    lifetimes,
    lease,
    extraNames: flags['dns-name'],
    log,
    signal,
  }
  return { settings, flush }
}

const namesOf = ({ namespace, service }: Flags): Names => ({
  namespace,
  service,
  secret: 'sidecar-first',
  lease: 'sidecar-first',
  mutating: 'zz-sidecar-first',
  validating: 'sidecar-first',
})

function lifetimesOf(flags: Flags): Lifetimes {
  const life = (flag: string, text: string) => longDuration(flag, text, { most: '3650d', such: '365d, 12h or 5m' })
  const authority = life('--ca-life', flags['ca-life'])
  const leaf = life('--leaf-life', flags['leaf-life'])
  const settle = life('--settle', flags.settle)
  // Due under two leaf lives, a CA of less than four would be replaced from half of its life on.
  if (authority < 4 * leaf) throw new UsageError('--ca-life must be at least four times --leaf-life')
  if (settle > leaf / 3) throw new UsageError('--settle must be at most a third of --leaf-life')
  return { authority, leaf, settle }
}
