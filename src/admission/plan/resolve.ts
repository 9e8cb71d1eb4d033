import { type Check, formatCheck, type PolledCheck, type Port, parseCheck, parsePort } from '../check/grammar.ts'
import { mostArgument } from '../hook/waiter.ts'
import type { Sidecar } from '../intent/intent.ts'
import type { Container, Header, HttpGet, ProbeHandler } from '../pod/pod.ts'
import { expand } from '../pod/read.ts'
import type { MissingPort, Problem, Warning } from '../words/messages.ts'

/** A check with nothing left to look up in the pod. */
export type Resolved =
  | {
      readonly kind: 'polled'
      readonly check: PolledCheck
      readonly headers: readonly Header[]
      /** The path of an httpGet probe as it stands there, where the check's isn't all that it says to the kubelet. */
      readonly path?: string
      /** Seconds. */
      readonly attemptTimeout: number
      readonly successes: number
    }
  /** `known`: a well-known sidecar's own hook, which is left as it is. */
  | { readonly kind: 'hook'; readonly command: readonly string[]; readonly known?: true }
  /** The kubelet waits by itself, since it is a native sidecar. */
  | {
      readonly kind: 'startupProbe'
      /** Undefined if it can't be written as one. */
      readonly check: PolledCheck | undefined
      /** Seconds. */
      readonly every: number
      /** Seconds, after which the kubelet restarts the container. */
      readonly limit: number
    }
  | { readonly kind: 'none' }

export interface Resolution {
  readonly resolved: Resolved
  readonly problems: readonly Problem[]
  readonly warnings: readonly Warning[]
}

const none: Resolved = { kind: 'none' }

/** Derives a sidecar's check from its probes and resolves port names. */
export function resolve(sidecar: Sidecar, container: Container): Resolution {
  const { check } = sidecar
  switch (check.kind) {
    case 'probe':
      return derive(sidecar, check.probe, container)
    case 'none':
      return { resolved: none, problems: [], warnings: [] }
    case 'hook':
      return { resolved: { kind: 'hook', command: check.command }, problems: [], warnings: [] }
    case 'unix':
    case 'file':
      return polled({ kind: check.kind, path: check.path })
    case 'exec':
      return polled({ kind: 'exec', command: check.command })
    case 'http':
    case 'https':
    case 'tcp':
    case 'grpc': {
      const port = portNumber(check.port, container)
      if (port !== undefined) return polled({ ...check, port })
      const missing = missingPort(check.port, container)
      const problem = { kind: 'port-missing', ...missing, path: sidecar.checkSource } as const
      return { resolved: none, problems: [problem], warnings: [] }
    }
    default:
      return check satisfies never
  }
}

function polled(check: PolledCheck, more: Partial<Extract<Resolved, { kind: 'polled' }>> = {}): Resolution {
  const resolved = { kind: 'polled', headers: [], attemptTimeout: 1, successes: 1, ...more, check } as const
  return { resolved, problems: [], warnings: [] }
}

function derive(
  { name, checkSource }: Sidecar,
  which: Extract<Check, { kind: 'probe' }>['probe'],
  container: Container,
): Resolution {
  const fields = probeFields[which]
  const field = fields.find((candidate) => container[candidate] !== undefined)
  const probe = field && container[field]
  if (field === undefined || probe === undefined) return unwaited({ kind: 'no-probe', name, probes: fields })
  const derived = fromProbe(probe.handler, container)
  if (derived === 'too large') {
    const problem = { kind: 'hook-too-large', name, cause: `its ${field}`, path: checkSource } as const
    return { resolved: none, problems: [problem], warnings: [] }
  }
  if ('why' in derived) return unwaited({ ...derived.why, name, probe: field })
  // The waiter can't read what can't be written: a host with an underscore, say.
  const written = formatCheck(derived.check)
  if (!parseCheck(written).ok) return unwaited({ kind: 'probe-not-a-check', name, probe: field, check: written })
  const unsendable = unsendableHeader(derived.headers)
  if (unsendable !== undefined) {
    return unwaited({ kind: 'probe-header-unsendable', name, probe: field, header: unsendable.name })
  }
  return polled(derived.check, {
    ...derived,
    attemptTimeout: probe.timeoutSeconds,
    successes: probe.successThreshold,
  })
}

const probeFields = {
  startup: ['startupProbe'],
  readiness: ['readinessProbe'],
  either: ['startupProbe', 'readinessProbe'],
} as const

const unwaited = (warning: Warning): Resolution => ({ resolved: none, problems: [], warnings: [warning] })

interface Derived {
  readonly check: PolledCheck
  readonly headers: readonly Header[]
  readonly path?: string
}

type NotDerived = { readonly why: { kind: 'probe-without-handler' } | ({ kind: 'probe-port-missing' } & MissingPort) }

/** The check that a probe makes, or why it makes none. */
function fromProbe(handler: ProbeHandler, container: Container): Derived | NotDerived | 'too large' {
  switch (handler.kind) {
    case 'httpGet': {
      if (handler.path.length > mostArgument) return 'too large'
      const port = portNumber(handler.port, container)
      if (port === undefined) return { why: { kind: 'probe-port-missing', ...missingPort(handler.port, container) } }
      const kind = handler.scheme === 'HTTPS' ? 'https' : 'http'
      const check = { kind, host: unbracketed(handler.host), port, path: requestPath(handler) } as const
      const { httpHeaders: headers, path } = handler
      return isPlainPath(path) ? { check, headers } : { check, headers, path }
    }
    case 'tcpSocket': {
      const port = portNumber(handler.port, container)
      if (port === undefined) return { why: { kind: 'probe-port-missing', ...missingPort(handler.port, container) } }
      return { check: { kind: 'tcp', host: unbracketed(handler.host), port }, headers: [] }
    }
    case 'grpc': {
      const { port, service } = handler
      return { check: { kind: 'grpc', host: '', port, service }, headers: [] }
    }
    case 'exec': {
      const env = container.env()
      const command = expand(handler.command, env, mostArgument)
      return command === undefined ? 'too large' : { check: { kind: 'exec', command }, headers: [] }
    }
    case 'none':
      return { why: { kind: 'probe-without-handler' } }
    default:
      return handler satisfies never
  }
}

/** Whether a path means the same to the kubelet, which reads it as a URL, and in a check. */
function isPlainPath(path: string): boolean {
  return path === '' || /^\/(?!\/)[\x21\x22\x24-\x7e]*$/.test(path)
}

/**
 * The path as the kubelet requests it, as nearly as a check can say it: from the root, without a scheme, a host and a fragment,
 * escaped.
 */
function requestPath({ path }: HttpGet): string {
  const plain = path
    .replace(/^([A-Za-z][A-Za-z0-9+.-]*:)?\/\/[^/?#]*/, '')
    .replace(/#.*$/s, '')
    .toWellFormed()
    .replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent)
  return plain.startsWith('/') ? plain : `/${plain}`
}

/** A host name in other letters than ASCII's as DNS has it, which is how the kubelet asks for it. */
export function asciiHost(host: string): string {
  if (/^[\x20-\x7e]*$/.test(host) || /[\s/?#@:\\[\]%]/.test(host)) return host
  return URL.parse(`http://${host}/`)?.hostname ?? host
}

function unbracketed(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

/** A port's number, 1 to 65535; a name is looked up among the container's own ports. */
export function portNumber(port: Port, container: Container): number | undefined {
  const number = typeof port === 'number' ? port : container.ports.find(({ name }) => name === port)?.number
  if (number === undefined) {
    // Where the type is IntOrString, Kubernetes also accepts "8080" as text.
    const parsed = parsePort(String(port))
    return typeof parsed === 'number' ? parsed : undefined
  }
  return number >= 1 && number <= 65_535 ? number : undefined
}

/** The first header that HTTP can't carry, which the waiter wouldn't send. */
export function unsendableHeader(headers: readonly Header[]): Header | undefined {
  return headers.find(({ name, value }) => !isHeaderName(name) || !isHeaderValue(value))
}

/** RFC 9110: a token. */
function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)
}

function isHeaderValue(value: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value)
}

function missingPort(port: Port, { name, ports }: Container): MissingPort {
  return { container: name, port: String(port), ports: ports.flatMap(({ name }) => (name === '' ? [] : [name])) }
}
