import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Asked, Lifetimes } from '../../certs/decide-step.ts'
import type { Names } from '../../certs/kubernetes.ts'
import type { CertsSettings } from '../../certs/run.ts'
import { formatDuration } from '../admission/check/duration.ts'
import { quote } from '../admission/words/quote.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { objectKeys, objectNames } from '../kubernetes/names.ts'
import { type ExitCode, ExpectedError, type Terminal, UsageError } from '../terminal/command.ts'
import { defineCommand, type Values } from '../terminal/define-command.ts'
import { actionOf, duration, durationWithin } from '../terminal/flag.ts'
import { interrupted } from '../terminal/interrupted.ts'
import { createLog } from '../terminal/log.ts'
import { lookOf } from '../terminal/look.ts'
import { runFlags, untilStopped } from '../terminal/until-stopped.ts'

const help = `Keeps the webhook's certificate, and what the API server trusts, valid without
losing a call.

Usage: sidecar-first certs ACTION [flags]

  run                   keep them until stopped; of several replicas, one leads
  once                  create what is missing, wait until it is trusted, exit
  status                what is trusted, what each endpoint serves, until when;
                        exits with 1 if something is wrong
  rotate leaf | ca      have the running certs replace the leaf or the CA now
  issue --dir DIR       write ca.crt, ca.key, tls.crt and tls.key, without a
                        cluster

  -n, --namespace NAME  where the Secret, Lease and Service are (${objectNames.namespace})
  --context NAME        kubeconfig context (default: the current one)
  --service NAME        the webhook's Service (${objectNames.service})
  --dns-name NAME       another name for the leaf, for a webhook that is called
                        by URL; can be repeated
  --ca-life DURATION    how long a CA lives (365d)
  --leaf-life DURATION  how long a leaf lives (30d)
  --settle DURATION     how long API servers may take to see a changed caBundle
                        (5m)
  --lease DURATION      run, once: how long a leader may be silent (15s)
  --metrics-port PORT   run: metrics and health over HTTP (8080); 0 picks a free
                        port
  --timeout DURATION    once: how long to wait (15m)
  --via WAY             status: direct or port-forward (default: direct in a
                        pod, port-forward elsewhere)
  --dir DIR             issue: the folder
  --force               issue: replace an existing CA
${runFlags.help.log}

Example: sidecar-first certs issue --dir pki
`

const life = durationWithin('1s', '3650d')
const options = {
  namespace: { type: 'string', short: 'n', default: objectNames.namespace },
  context: { type: 'string' },
  service: { type: 'string', default: objectNames.service },
  'dns-name': { type: 'string', multiple: true, default: [] as string[] },
  'ca-life': { type: 'string', read: life, default: '365d' },
  'leaf-life': { type: 'string', read: life, default: '30d' },
  settle: { type: 'string', read: life, default: '5m' },
  lease: { type: 'string', read: durationWithin('1s', '1d'), default: '15s' },
  timeout: { type: 'string', read: duration, default: '15m' },
  via: { type: 'string', choices: ['direct', 'port-forward'] },
  dir: { type: 'string' },
  force: { type: 'boolean', default: false },
  ...runFlags.options,
} as const

type Flags = Values<typeof options>

const actions = ['run', 'once', 'status', 'rotate', 'issue'] as const

export const certs = defineCommand({
  help,
  options,
  names: actions,
  async run(flags, [word, ...rest], terminal) {
    const action = actionOf(word, actions)
    if (rest.length > (action === 'rotate' ? 1 : 0)) {
      throw new UsageError('wrong-arguments', `${action} takes no ${quote(rest.at(-1) ?? '')}`)
    }
    switch (action) {
      case 'run':
        return await run(flags)
      case 'once':
        return await once(flags)
      case 'status':
        return await status(flags, terminal)
      case 'rotate':
        return await rotate(rest[0], flags, terminal)
      case 'issue':
        return await issue(flags, terminal)
      default:
        return action satisfies never
    }
  },
})

async function run(flags: Flags): Promise<ExitCode> {
  return await untilStopped(flags, async ({ log, signal, metricsPort }) => {
    const certificates = await import('../../certs/run.ts')
    await certificates.run({ ...(await settingsOf(flags)), log, signal }, metricsPort)
  })
}

async function once(flags: Flags): Promise<ExitCode> {
  const limit = AbortSignal.timeout(flags.timeout)
  const { log, flush } = createLog(flags['log-level'])
  const settings = { ...(await settingsOf(flags)), log, signal: AbortSignal.any([interrupted(), limit]) }
  const { bootstrap } = await import('../../certs/run.ts')
  const finished = await bootstrap(settings)
  await flush()
  if (!finished) throw new ExpectedError('not-in-time', 'the certificates are not ready yet; the log says why')
  return 0
}

async function status(flags: Flags, terminal: Terminal): Promise<ExitCode> {
  const { kubernetes } = await import('../../certs/kubernetes.ts')
  const { servedCertificate } = await import('../../certs/served.ts')
  const { statusText } = await import('../../certs/show.ts')
  const { statusOf } = await import('../../certs/status.ts')
  const { serviceNames } = await import('../../certs/x509.ts')
  const { kubeconfig, inside } = await loadKubeconfig(flags.context)
  const via = flags.via ?? (inside ? 'direct' : 'port-forward')
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
  terminal.stdout.write(statusText(found, lookOf(terminal, process.env)))
  return found.problems.length === 0 ? 0 : 1
}

async function rotate(what: string | undefined, flags: Flags, terminal: Terminal): Promise<ExitCode> {
  if (what !== 'leaf' && what !== 'ca') throw new UsageError('wrong-arguments', 'rotate takes leaf or ca')
  const { kubernetes } = await import('../../certs/kubernetes.ts')
  const { kubeconfig } = await loadKubeconfig(flags.context)
  const { cluster } = kubernetes({ kubeconfig, names: namesOf(flags) })
  const secret = await cluster.readSecret()
  if (!secret)
    throw new ExpectedError(
      'not-there',
      `there is no Secret in namespace ${flags.namespace}; sidecar-first check says why`,
    )
  const configurations = await cluster.readConfigurations()
  if (configurations.some(({ keptBy }) => keptBy !== undefined))
    throw new ExpectedError(
      'not-there',
      `cert-manager keeps this certificate, and no certs runs that could be asked: cmctl renew -n ${flags.namespace} NAME, with the name of its Certificate`,
    )
  await cluster.updateSecret(secret.version, { data: {}, annotations: { [objectKeys.rotate]: what satisfies Asked } })
  const which = what === 'ca' ? `the CA, in steps, which takes ${formatDuration(flags.settle)} and more` : 'the leaf'
  terminal.stdout.write(
    `The running sidecar-first certs is asked to replace ${which}; see sidecar-first certs status\n`,
  )
  return 0
}

async function issue(flags: Flags, terminal: Terminal): Promise<ExitCode> {
  const { dir } = flags
  if (dir === undefined) throw new UsageError('flags-together', 'issue needs --dir, the folder to write to')
  const { issueAuthority, issueLeaf, serviceNames } = await import('../../certs/x509.ts')
  const { checkAuthorityPair } = await import('../../certs/faults.ts')
  const lifetimes = lifetimesOf(flags)
  const at = new Date()
  const path = (name: string) => join(dir, name)
  const read = (name: string) => readFile(path(name), 'utf8').catch(() => '')
  const keeps = !flags.force && (existsSync(path('ca.crt')) || existsSync(path('ca.key')))
  let authority: { certificate: string; key: string }
  if (keeps) {
    authority = { certificate: await read('ca.crt'), key: await read('ca.key') }
    const [problem] = checkAuthorityPair({ ...authority, at })
    if (problem)
      throw new ExpectedError('bad-certificate', `the CA in ${dir} can't sign: ${problem.message}; --force replaces it`)
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
  terminal.stdout.write(`${keeps ? 'New leaf from the CA' : 'New CA and leaf'} in ${dir}: ${names.join(', ')}\n`)
  return 0
}

/** Writes all or nothing; a key is readable only by its owner from the first byte on. */
async function write(path: string, text: string, mode: number) {
  const half = `${path}.new`
  await rm(half, { force: true })
  await writeFile(half, text, { mode, flag: 'wx' })
  await rename(half, path)
}

async function settingsOf(flags: Flags): Promise<Omit<CertsSettings, 'log' | 'signal'>> {
  const lifetimes = lifetimesOf(flags)
  const { kubeconfig } = await loadKubeconfig(flags.context)
  return { kubeconfig, names: namesOf(flags), lifetimes, lease: flags.lease, extraNames: flags['dns-name'] }
}

const namesOf = ({ namespace, service }: Flags): Names => ({ ...objectNames, namespace, service })

function lifetimesOf({ 'ca-life': authority, 'leaf-life': leaf, settle }: Flags): Lifetimes {
  // A CA is replaced under two leaf lives: one that lives less than four would be replaced halfway.
  if (authority < 4 * leaf) throw new UsageError('flags-together', '--ca-life must be at least four times --leaf-life')
  if (settle > leaf / 3) throw new UsageError('flags-together', '--settle must be at most a third of --leaf-life')
  return { authority, leaf, settle }
}
