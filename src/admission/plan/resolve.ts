import {
  type Check,
  formatCheck,
  mostHost,
  type PolledCheck,
  type Port,
  parseCheck,
  parsePort,
} from '../check/grammar.ts'
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
  const derived = checkOf(probe.handler, container)
  if (derived === 'too large') {
    const problem = { kind: 'hook-too-large', name, cause: `its ${field}`, path: checkSource } as const
    return { resolved: none, problems: [problem], warnings: [] }
  }
  if ('why' in derived) return unwaited({ ...derived.why, name, probe: field })
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

/** What a probe says is asked for up to twenty times, and may be long. */
function checkOf(handler: ProbeHandler, container: Container): Derived | NotDerived | 'too large' {
  const known = checks.get(handler)
  if (known !== undefined) return known
  const derived = usable(fromProbe(handler, container))
  checks.set(handler, derived)
  return derived
}
const checks = new WeakMap<ProbeHandler, Derived | NotDerived | 'too large'>()

function usable(derived: Derived | NotDerived | 'too large'): Derived | NotDerived | 'too large' {
  if (derived === 'too large' || 'why' in derived) return derived
  // The waiter can't read what can't be written: a host with an underscore, say.
  const written = formatCheck(derived.check)
  if (!parseCheck(written).ok) return { why: { kind: 'probe-not-a-check', check: written } }
  const unsendable = unsendableHeader(derived.headers)
  return unsendable ? { why: { kind: 'probe-header-unsendable', header: unsendable.name } } : derived
}

interface Derived {
  readonly check: PolledCheck
  readonly headers: readonly Header[]
  readonly path?: string
}

interface NotDerived {
  readonly why:
    | { readonly kind: 'probe-without-handler' }
    | ({ readonly kind: 'probe-port-missing' } & MissingPort)
    | { readonly kind: 'probe-not-a-check'; readonly check: string }
    | { readonly kind: 'probe-header-unsendable'; readonly header: string }
}

/** The check that a probe makes, or why it makes none. */
function fromProbe(handler: ProbeHandler, container: Container): Derived | NotDerived | 'too large' {
  switch (handler.kind) {
    case 'httpGet': {
      if (handler.path.length > mostArgument) return 'too large'
      const port = portNumber(handler.port, container)
      if (port === undefined) return { why: { kind: 'probe-port-missing', ...missingPort(handler.port, container) } }
      const kind = handler.scheme === 'HTTPS' ? 'https' : 'http'
      const { httpHeaders: headers, path } = handler
      const requested = requestPath(handler)
      if (requested === undefined) return 'too large'
      const check = { kind, host: unbracketed(handler.host), port, path: requested } as const
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
 * escaped. Undefined if it would be longer than a hook can hold: escaping takes thirty times as long as counting, and makes up to nine characters
 * of one.
 */
function requestPath({ path }: HttpGet): string | undefined {
  const plain = path
    .replace(/^([A-Za-z][A-Za-z0-9+.-]*:)?\/\/[^/?#]*/, '')
    .replace(/#.*$/s, '')
    .toWellFormed()
  if (escapedLength(plain) > mostArgument) return undefined
  const escaped = plain.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent)
  return escaped.startsWith('/') ? escaped : `/${escaped}`
}

/** Three characters for each byte of what is escaped. One beyond U+FFFF has four bytes, and is two units of a text. */
function escapedLength(text: string): number {
  let length = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x21 && code <= 0x7e) continue
    const bytes = code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 2 : 3
    length += 3 * bytes - 1
  }
  return length
}

/**
 * A host name in other letters than ASCII's as DNS has it, which is how the kubelet asks for it. Translating one takes the square of its length; one
 * that is too long for DNS stays as it is.
 */
export function asciiHost(host: string): string {
  if (host.length > mostHost) return host
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
