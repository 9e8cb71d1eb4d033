import { isNear, nearest } from './nearest.ts'

/** The annotation and label keys of the contract, by name. */
const domain = 'sidecar-first.dev'
export const keys = {
  sidecars: `${domain}/sidecars`,
  timeout: `${domain}/timeout`,
  onTimeout: `${domain}/on-timeout`,
  gate: `${domain}/gate`,
  nativePosition: `${domain}/native-position`,
  existingHook: `${domain}/existing-hook`,
  startupProbe: `${domain}/startup-probe`,
  waiter: `${domain}/waiter`,
  lock: `${domain}/lock`,
  lockRestarts: `${domain}/lock-restarts`,
  end: `${domain}/end`,
  endAppear: `${domain}/end-appear`,
  inject: `${domain}/inject`,
  ignore: `${domain}/ignore`,
  status: `${domain}/status`,
  sets: `${domain}/sets`,
} as const

/** `<what>.sidecar-first.dev/<container>` */
export const perContainer = {
  check: `check.${domain}/`,
  timeout: `timeout.${domain}/`,
  onTimeout: `on-timeout.${domain}/`,
} as const

/** What a rollout notes on a pod, per container: nothing a pod says. */
export const rolloutNote = `rollout.${domain}/`

/** Set by Kubernetes' tools: which container `kubectl logs` and `exec` mean. */
export const defaultContainerKey = 'kubectl.kubernetes.io/default-container'
/** Set by the kubelet on the copy of a static pod. */
export const mirrorKey = 'kubernetes.io/config.mirror'

const plain = `${domain}/`
const prefixed = `.${domain}/`

/** Whether a key is in one of our domains, known or not. */
export function isOurs(key: string): boolean {
  return key.startsWith(plain) || key.includes(prefixed)
}

const { status: _status, sets: _sets, ...settings } = keys
const names: readonly string[] = Object.values(settings).map((key) => key.slice(plain.length))
const prefixes: readonly string[] = Object.values(perContainer).map((prefix) => prefix.slice(0, -prefixed.length))

/** `sidecar-first.io` is three from ours, `sidecar.istio.io` is eight. */
const mostMistyped = 3

/** Ours in one part more than mistakes: each can spoil only one, so a text without any of them has more. That spares nearly every key the comparison. */
const ourParts = /sidecar-|first|\.d|ev/

/** A key in a domain that looks like ours, with our domain instead. */
export function inOurDomain(key: string): string | undefined {
  if (!ourParts.test(key)) return undefined
  const slash = key.indexOf('/')
  const prefix = prefixes.find((each) => key.startsWith(`${each}.`))
  const start = prefix === undefined ? 0 : prefix.length + 1
  if (slash < 0 || isOurs(key) || !isNear(key.slice(start, slash), domain, mostMistyped)) return undefined
  return key.slice(0, start) + domain + key.slice(slash)
}

/** The key that was probably meant, of those that a pod can set. */
export function nearestKey(key: string): string | undefined {
  const ours = inOurDomain(key)
  if (ours !== undefined) return isKnown(ours) ? ours : nearestKey(ours)
  if (key.startsWith(plain)) {
    const name = nearest(key.slice(plain.length), names)
    return name && plain + name
  }
  const [start = '', container = ''] = key.split(prefixed)
  const prefix = nearest(start, prefixes)
  return prefix && prefix + prefixed + container
}

const isKnown = (key: string): boolean =>
  key.startsWith(plain)
    ? names.includes(key.slice(plain.length))
    : Object.values(perContainer).some((prefix) => key.startsWith(prefix))
