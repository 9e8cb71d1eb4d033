import { type Failed, type Parsed, parsed, problem } from '../words/parsed.ts'

export const checkKinds = ['probe', 'none', 'http', 'https', 'tcp', 'grpc', 'unix', 'file', 'exec', 'hook'] as const
export type CheckKind = (typeof checkKinds)[number]

/** A number, or the name of one of the container's ports. */
export type Port = number | string

/** A check as it was written. An empty host is loopback. */
export type Check =
  | { readonly kind: 'probe'; readonly probe: 'startup' | 'readiness' | 'either' }
  | { readonly kind: 'none' }
  | HttpCheck<Port>
  | TcpCheck<Port>
  | GrpcCheck<Port>
  | { readonly kind: 'unix' | 'file'; readonly path: string }
  | { readonly kind: 'exec' | 'hook'; readonly command: readonly string[] }

export interface HttpCheck<P extends Port> {
  readonly kind: 'http' | 'https'
  readonly host: string
  readonly port: P
  /** Begins with `/`; may carry a query. */
  readonly path: string
}
export interface TcpCheck<P extends Port> {
  readonly kind: 'tcp'
  readonly host: string
  readonly port: P
}
interface GrpcCheck<P extends Port> {
  readonly kind: 'grpc'
  readonly host: string
  readonly port: P
  /** Empty asks for the server as a whole. */
  readonly service: string
}

/** What the waiter can poll: ports are numbers and nothing is left to look up. */
export type PolledCheck =
  | HttpCheck<number>
  | TcpCheck<number>
  | GrpcCheck<number>
  | Extract<Check, { kind: 'unix' | 'file' }>
  | { readonly kind: 'exec'; readonly command: readonly string[] }

/** Reads one check. A problem names the character, counted from 1. */
export function parseCheck(text: string): Parsed<Check> {
  const colon = text.indexOf(':')
  const scheme = colon < 0 ? text : text.slice(0, colon)
  const rest = colon < 0 ? undefined : text.slice(colon + 1)
  switch (scheme) {
    case 'probe':
      if (rest === undefined) return parsed({ kind: 'probe', probe: 'either' })
      if (rest === 'startup' || rest === 'readiness') return parsed({ kind: 'probe', probe: rest })
      return expected('"startup" or "readiness"', text, colon + 1)
    case 'none':
      return rest === undefined ? parsed({ kind: 'none' }) : expected('nothing after "none"', text, colon)
    case 'http':
    case 'https':
    case 'tcp':
    case 'grpc':
    case 'unix':
    case 'file': {
      if (!rest?.startsWith('//')) return expected(`"//" after "${scheme}:"`, text, scheme.length + (colon < 0 ? 0 : 1))
      const start = colon + 3
      return scheme === 'unix' || scheme === 'file' ? parsePath(scheme, text, start) : parseAddress(scheme, text, start)
    }
    case 'exec':
    case 'hook':
      return parseCommand(scheme, text, colon < 0 ? text.length : colon + 1)
    default:
      return problem({ kind: 'not-a-check', text })
  }
}

/** The check as one writes it. */
export function formatCheck(check: Check | PolledCheck): string {
  switch (check.kind) {
    case 'probe':
      return check.probe === 'either' ? 'probe' : `probe:${check.probe}`
    case 'none':
      return 'none'
    case 'http':
    case 'https':
      return `${check.kind}://${address(check)}${check.path}`
    case 'tcp':
      return `tcp://${address(check)}`
    case 'grpc':
      return `grpc://${address(check)}${check.service === '' ? '' : `/${check.service}`}`
    case 'unix':
    case 'file':
      return `${check.kind}://${check.path}`
    case 'exec':
    case 'hook':
      return `${check.kind}:${JSON.stringify(check.command)}`
    default:
      return check satisfies never
  }
}

/** Whether a host means this pod's own loopback. */
export function isLoopback(host: string): boolean {
  return host === '' || host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

function address({ host, port }: { readonly host: string; readonly port: Port }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function expected(what: string, text: string, index: number): Failed {
  return problem({ kind: 'check-syntax', expected: what, text, character: index + 1 })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const unprintable = /[\u0000-\u001f\u007f]/

function parsePath(kind: 'unix' | 'file', text: string, start: number): Parsed<Check> {
  if (text[start] !== '/') return expected('an absolute path', text, start)
  const bad = unprintable.exec(text)
  if (bad) return expected('no control character', text, bad.index)
  return parsed({ kind, path: text.slice(start) })
}

function parseAddress(kind: 'http' | 'https' | 'tcp' | 'grpc', text: string, start: number): Parsed<Check> {
  let at = start
  let host: string
  if (text[at] === '[') {
    const end = text.indexOf(']', at)
    host = text.slice(at + 1, end < 0 ? undefined : end)
    if (end < 0 || !isIPv6(host)) return expected('an IPv6 address in brackets', text, at + 1)
    at = end + 1
  } else {
    const length = text.slice(at).search(/[:/?#]/)
    host = text.slice(at, length < 0 ? undefined : at + length)
    if (host !== '' && !isIPv4OrName(host)) return expected('an address, a DNS name, or ":" for loopback', text, at)
    at += host.length
  }
  if (text[at] !== ':') return expected('":" and a port', text, at)
  at += 1
  const end = text.slice(at).search(/[/?#]/)
  const portText = text.slice(at, end < 0 ? undefined : at + end)
  const port = parsePort(portText)
  if (port === undefined) return expected('a port from 1 to 65535 or the name of one', text, at)
  at += portText.length
  const tail = text.slice(at)
  switch (kind) {
    case 'tcp':
      return tail === '' ? parsed({ kind, host, port }) : expected('nothing after the port', text, at)
    case 'grpc': {
      if (tail === '') return parsed({ kind, host, port, service: '' })
      const bad = tail.search(/[^A-Za-z0-9._/-]/)
      if (tail[0] !== '/' || bad >= 0) return expected('"/" and a service name', text, at + Math.max(bad, 0))
      return parsed({ kind, host, port, service: tail.slice(1) })
    }
    case 'http':
    case 'https': {
      if (tail[0] !== '/') return expected('a path, at least "/",', text, at)
      const bad = tail.search(/[^\x21-\x7e]|#/)
      if (bad >= 0) return expected('no space, fragment or unescaped character', text, at + bad)
      return parsed({ kind, host, port, path: tail })
    }
    default:
      return kind satisfies never
  }
}

function parseCommand(kind: 'exec' | 'hook', text: string, start: number): Parsed<Check> {
  let value: unknown
  try {
    value = JSON.parse(text.slice(start))
  } catch {
    value = undefined
  }
  if (!isCommand(value)) return expected('a JSON array of strings, as in ["cat","/ready"],', text, start)
  return parsed({ kind, command: value })
}

/** Something that can be executed: at least a program's name, and no NUL, which system calls don't accept. */
export function isCommand(value: unknown): value is readonly [string, ...string[]] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value[0] !== '' &&
    value.every((word) => typeof word === 'string' && !word.includes('\0'))
  )
}

/** A port's number or name (IANA_SVC_NAME, as in Kubernetes: at most 15 of a-z 0-9 -, at least one a letter). */
export function parsePort(text: string): Port | undefined {
  if (/^\d{1,5}$/.test(text)) {
    const port = Number(text)
    return port >= 1 && port <= 65_535 ? port : undefined
  }
  const name = text.length <= 15 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text) && /[a-z]/.test(text)
  return name ? text : undefined
}

/** A DNS name's; addresses are shorter. */
export const mostHost = 253

function isIPv4OrName(host: string): boolean {
  if (host.length > mostHost) return false
  if (/^[\d.]+$/.test(host)) return isIPv4(host)
  return host.split('.').every((label) => /^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/.test(label))
}

function isIPv4(host: string): boolean {
  const parts = host.split('.')
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
}

function isIPv6(host: string): boolean {
  if (host.length > mostHost) return false
  const halves = host.split('::')
  if (halves.length > 2) return false
  let groups = 0
  for (const [side, half] of halves.entries()) {
    if (half === '') continue
    const parts = half.split(':')
    for (const [index, part] of parts.entries()) {
      const last = side === halves.length - 1 && index === parts.length - 1
      if (last && part.includes('.')) {
        if (!isIPv4(part)) return false
        groups += 2
      } else if (/^[\da-fA-F]{1,4}$/.test(part)) groups += 1
      else return false
    }
  }
  return halves.length === 2 ? groups < 8 : groups === 8
}
