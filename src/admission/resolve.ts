import { type Check, formatCheck, type PolledCheck, type Port, parseCheck, parsePort } from './check.ts'
import type { Sidecar } from './intent.ts'
import { type Container, expand, type Header, type HttpGet, type ProbeHandler } from './pod.ts'
import { quote } from './quote.ts'
import type { Warning } from './warning.ts'

/** A check with nothing left to look up in the pod. */
export type Resolved =
  | {
      readonly kind: 'polled'
      readonly check: PolledCheck
      readonly headers: readonly Header[]
      /** Seconds. */
      readonly attemptTimeout: number
      readonly successes: number
    }
  | { readonly kind: 'hook'; readonly command: readonly string[] }
  | { readonly kind: 'none' }

export interface Resolution {
  readonly resolved: Resolved
  readonly problems: readonly string[]
  readonly warnings: readonly Warning[]
}

const none: Resolved = { kind: 'none' }

/** Derives a sidecar's check from its probes and resolves port names. */
export function resolve(sidecar: Sidecar, container: Container): Resolution {
  const { check } = sidecar
  switch (check.kind) {
    case 'probe':
      return derive(sidecar.name, check.probe, container)
    case 'none':
      return { resolved: none, problems: [], warnings: [] }
    case 'hook':
      return { resolved: { kind: 'hook', command: check.command }, problems: [], warnings: [] }
    case 'unix':
    case 'file':
      return fine({ kind: check.kind, path: check.path })
    case 'exec':
      return fine({ kind: 'exec', command: check.command })
    case 'http':
    case 'https':
    case 'tcp':
    case 'grpc': {
      const port = portNumber(check.port, container)
      if (port !== undefined) return fine({ ...check, port })
      const problem = `${sidecar.checkSource}: ${noPort(check.port, container)}`
      return { resolved: none, problems: [problem], warnings: [] }
    }
    default:
      return check satisfies never
  }
}

function fine(check: PolledCheck): Resolution {
  return {
    resolved: { kind: 'polled', check, headers: [], attemptTimeout: 1, successes: 1 },
    problems: [],
    warnings: [],
  }
}

function derive(name: string, which: Extract<Check, { kind: 'probe' }>['probe'], container: Container): Resolution {
  const candidates = {
    startup: [['startupProbe', container.startupProbe]],
    readiness: [['readinessProbe', container.readinessProbe]],
    either: [
      ['startupProbe', container.startupProbe],
      ['readinessProbe', container.readinessProbe],
    ],
  } as const
  const found = candidates[which].find(([, probe]) => probe !== undefined)
  const unwaited = (why: string): Resolution => ({
    resolved: none,
    problems: [],
    warnings: [
      {
        severity: 'app-may-start-too-early',
        text: `${name} is started first but not waited for: ${why}; say how in check.sidecar-first.dev/${name}`,
      },
    ],
  })
  const probe = found?.[1]
  if (found === undefined || probe === undefined) {
    const fields = candidates[which].map(([field]) => field).join(' or ')
    return unwaited(`it has no ${fields}`)
  }
  const [field] = found
  const derived = fromProbe(probe.handler, container)
  if (typeof derived === 'string') return unwaited(`its ${field} ${derived}`)
  // What our grammar can't write, the waiter can't read: a host with an underscore, say.
  const written = formatCheck(derived.check)
  if (!parseCheck(written).ok) return unwaited(`its ${field} can't be written as a check (${quote(written)})`)
  const unsendable = unsendableHeader(derived.headers)
  if (unsendable !== undefined)
    return unwaited(`its ${field} has a header ${quote(unsendable.name)} that HTTP can't carry`)
  return {
    resolved: {
      kind: 'polled',
      check: derived.check,
      headers: derived.headers,
      attemptTimeout: probe.timeoutSeconds,
      successes: probe.successThreshold,
    },
    problems: [],
    warnings: [],
  }
}

interface Derived {
  readonly check: PolledCheck
  readonly headers: readonly Header[]
}

/** The check that a probe makes, or why there is none. */
function fromProbe(handler: ProbeHandler, container: Container): Derived | string {
  switch (handler.kind) {
    case 'httpGet': {
      const port = portNumber(handler.port, container)
      if (port === undefined) return `wants a port it doesn't have: ${noPort(handler.port, container)}`
      const kind = handler.scheme === 'HTTPS' ? 'https' : 'http'
      const check = { kind, host: unbracketed(handler.host), port, path: requestPath(handler) } as const
      return { check, headers: handler.httpHeaders }
    }
    case 'tcpSocket': {
      const port = portNumber(handler.port, container)
      if (port === undefined) return `wants a port it doesn't have: ${noPort(handler.port, container)}`
      return { check: { kind: 'tcp', host: unbracketed(handler.host), port }, headers: [] }
    }
    case 'grpc': {
      const { port, service } = handler
      return { check: { kind: 'grpc', host: '', port, service }, headers: [] }
    }
    case 'exec': {
      const env = container.env()
      const command = handler.command.map((word) => expand(word, env))
      return { check: { kind: 'exec', command }, headers: [] }
    }
    case 'none':
      return 'asks nothing'
    default:
      return handler satisfies never
  }
}

/** The path as the kubelet requests it: from the root, escaped, without a fragment. */
function requestPath({ path }: HttpGet): string {
  const plain = path
    .replace(/#.*$/s, '')
    .toWellFormed()
    .replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent)
  return plain.startsWith('/') ? plain : `/${plain}`
}

function unbracketed(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

/** A port's number, 1 to 65535; a name is looked up among the container's own ports. */
export function portNumber(port: Port, container: Container): number | undefined {
  const number = typeof port === 'number' ? port : container.ports.find(({ name }) => name === port)?.number
  if (number === undefined) {
    // Kubernetes takes "8080" as text too, where the type is IntOrString.
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

function noPort(port: Port, container: Container): string {
  const names = container.ports.map(({ name }) => name).filter((name) => name !== '')
  const there = names.length === 0 ? 'no named ports' : `the ports ${names.join(', ')}`
  return `${container.name} has no port ${quote(String(port))}; it has ${there}`
}
