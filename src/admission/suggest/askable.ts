import { type Check, formatCheck, parseCheck } from '../check/grammar.ts'
import { repositoryOf } from '../intent/glob.ts'
import { portNumber } from '../plan/resolve.ts'
import type { Container, Metadata } from '../pod/pod.ts'
import type { KnownSidecar } from './known.ts'

/** What a sidecar without a usable probe could be asked. */
type Askable =
  /**
   * `always`: the pod itself shows that it answers; `if-configured`: only if an endpoint is on, which a manifest doesn't show; `to-complete`: the same
   * with a part that only the pod's author knows.
   */
  | { readonly kind: 'always' | 'if-configured' | 'to-complete'; readonly check: Check }
  /** Only its manifest shows that it may answer there. */
  | { readonly kind: 'by-port'; readonly check: Check; readonly port: string; readonly others: readonly string[] }
  | { readonly kind: 'by-liveness'; readonly check: Check }
  | { readonly kind: 'nothing'; readonly why: Nothing }

/** Why nothing tells when a sidecar is ready. */
type Nothing = 'health-off' | 'no-port'

const always = (check: Check): Askable => ({ kind: 'always', check })
const http = (port: number, path: string): Check => ({ kind: 'http', host: '', port, path })

export function askable({ preset, container }: KnownSidecar, metadata: Metadata): Askable {
  switch (preset.name) {
    case 'dapr':
      return always(http(daprPort(container, metadata), '/v1.0/healthz/outbound'))
    case 'cloud-sql-proxy':
      return cloudSql(container)
    case 'vault-agent':
      return secrets(metadata)
    case 'istio':
      return istio(metadata, preset.check)
    default: {
      const { explicit } = preset
      if (explicit?.kind !== 'http') return byManifest(container)
      // The kubelet asks the same endpoint, so it is on.
      const liveness = container?.liveness()
      const port = liveness && container && portNumber(liveness.port, container)
      if (port !== undefined && (liveness?.path || '/') === explicit.path) return always({ ...explicit, port })
      return { kind: 'if-configured', check: explicit }
    }
  }
}

/** The injector leaves out the proxy's probes where nothing serves its health, and otherwise has them ask this port. */
function istio({ annotations }: Metadata, check: Check): Askable {
  const told = annotations.get('status.sidecar.istio.io/port')
  if (told === '0') return { kind: 'nothing', why: 'health-off' }
  const port = typeof told === 'string' ? portOf(told) : undefined
  return always(check.kind === 'http' && port !== undefined ? { ...check, port } : check)
}

/** What its manifest shows that it may answer: a livenessProbe, which the kubelet asks already, or a port. */
function byManifest(container: Container | undefined): Askable {
  const liveness = container?.liveness()
  const asked = liveness && container && portNumber(liveness.port, container)
  if (liveness && asked !== undefined) {
    const check: Check = { kind: liveness.https ? 'https' : 'http', host: '', port: asked, path: liveness.path || '/' }
    if (parseCheck(formatCheck(check)).ok) return { kind: 'by-liveness', check }
  }
  const ports = container?.ports.filter(({ number, tcp }) => tcp && number >= 1 && number <= 65_535) ?? []
  const first = ports.find(({ name }) => /health|ready|status|admin/.test(name)) ?? ports[0]
  if (first === undefined) return { kind: 'nothing', why: 'no-port' }
  const shown = ({ name, number }: (typeof ports)[number]) => (isPortName(name) ? `${number} (${name})` : `${number}`)
  const others = ports.filter((each) => each !== first).map(shown)
  return { kind: 'by-port', check: { kind: 'tcp', host: '', port: first.number }, port: shown(first), others }
}

/** Anything else can't be one, and may be long. */
const isPortName = (name: string): boolean => /^[a-z0-9-]{1,15}$/.test(name)

const daprPublicPort = 3501

/** Over a unix socket, only the public port has HTTP. */
function daprPort(container: Container | undefined, { annotations }: Metadata): number {
  if (container === undefined) return annotations.has('dapr.io/unix-domain-socket-path') ? daprPublicPort : 3500
  if (flag(container, 'unix-domain-socket') !== undefined) {
    return portOf(flag(container, 'dapr-public-port')) ?? daprPublicPort
  }
  return portOf(flag(container, 'dapr-http-port')) ?? 3500
}

/** `/startup` where the proxy is told to serve its health, else the one port on which it listens for the database. */
function cloudSql(container: Container | undefined): Askable {
  if (container === undefined) return byManifest(container)
  const isFirst = repositoryOf(container.image).endsWith('gce-proxy')
  const { serves, port: told, standard, listens } = isFirst ? cloudSql1(container) : cloudSql2(container)
  const liveness = container.liveness()
  const probed = liveness && portNumber(liveness.port, container)
  if (probed !== undefined || serves) return always(http(probed ?? portOf(told) ?? standard, '/startup'))
  const port = portOf(listens)
  if (port !== undefined) return always({ kind: 'tcp', host: '', port })
  return { kind: 'if-configured', check: http(standard, '/startup') }
}

/** What its command line and environment say of a proxy. */
interface ProxyFlags {
  /** Whether it serves its health, and on which port if that isn't the standard one. */
  readonly serves: boolean
  readonly port: string | undefined
  readonly standard: number
  /** A port on which it listens for a database. */
  readonly listens: string | undefined
}

function cloudSql2(container: Container): ProxyFlags {
  const on = flag(container, 'health-check') ?? container.env().get('CSQL_PROXY_HEALTH_CHECK')
  return {
    serves: on !== undefined && on !== 'false',
    port: flag(container, 'http-port') ?? container.env().get('CSQL_PROXY_HTTP_PORT'),
    standard: 9090,
    listens: flag(container, 'port') ?? container.env().get('CSQL_PROXY_PORT'),
  }
}

/** Version 1 listens where each instance says: `PROJECT:REGION:NAME=tcp:5432`, `=tcp:0.0.0.0:5432`; or on sockets in a folder. It opens them in this order. */
function cloudSql1(container: Container): ProxyFlags {
  const on = flag(container, 'use_http_health_check')
  const instances = flag(container, 'instances') ?? container.env().get('INSTANCES') ?? ''
  return {
    serves: on !== undefined && on !== 'false',
    port: flag(container, 'health_check_port'),
    standard: 8090,
    listens: /=tcp:(?:[^,]*:)?(\d{1,5})$/.exec(instances.slice(-mostInstances))?.[1],
  }
}

/** Characters of a list of instances in which the last one is looked for. */
const mostInstances = 512

/** More secrets than a hook should ask for in one command. */
const mostSecrets = 32
const secretKey = 'vault.hashicorp.com/agent-inject-secret-'
const fileKey = 'vault.hashicorp.com/agent-inject-file-'
const pathKey = 'vault.hashicorp.com/secret-volume-path'
const plainName = /^[A-Za-z0-9._-]{1,128}$/
const plainPath = /^(\/[A-Za-z0-9._-]{1,128}){1,8}$/

/** The files that the injector's annotations name. */
function secrets({ annotations }: Metadata): Askable {
  const text = (key: string) => {
    const value = annotations.get(key)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const names = [...annotations.keys()]
    .filter((key) => key.startsWith(secretKey))
    .map((key) => key.slice(secretKey.length))
  const files = names.map((name) => {
    const folder = text(`${pathKey}-${name}`) ?? text(pathKey) ?? '/vault/secrets'
    const file = text(fileKey + name) ?? name
    return plainName.test(file) && plainPath.test(folder) ? `${folder}/${file}` : undefined
  })
  const [first, ...others] = files
  if (first === undefined || files.length > mostSecrets || !files.every((file) => file !== undefined)) {
    return { kind: 'to-complete', check: { kind: 'file', path: '/vault/secrets/NAME' } }
  }
  if (others.length === 0) return always({ kind: 'file', path: first })
  return always({
    kind: 'exec',
    command: ['test', ...files.flatMap((file, index) => [...(index > 0 ? ['-a'] : []), '-f', file])],
  })
}

/** Words of a command line that are looked at. */
const mostWords = 128

/** The value of `--name=value` or `--name value`; empty if it stands alone. With one dash, too, as Go's flags are. */
function flag({ command, args }: Container, name: string): string | undefined {
  const words = [...command, ...args].slice(0, mostWords)
  for (const [index, word] of words.entries()) {
    if (word === `--${name}` || word === `-${name}`) {
      const next = words[index + 1]
      return next === undefined || next.startsWith('-') ? '' : next
    }
    for (const start of [`--${name}=`, `-${name}=`]) if (word.startsWith(start)) return word.slice(start.length)
  }
  return undefined
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,5}$/.test(text)) return undefined
  const port = Number(text)
  return port >= 1 && port <= 65_535 ? port : undefined
}
