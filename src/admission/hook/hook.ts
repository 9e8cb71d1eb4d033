import type { Hook, HttpGet } from '../pod/pod.ts'
import type { Json } from '../words/json.ts'
import { type WaiterSpec, waiterPath } from './waiter.ts'

export function waiterHook(spec: WaiterSpec): Hook {
  return { kind: 'exec', command: [waiterPath, '--spec', JSON.stringify(spec)] }
}

/** A hook as the waiter's spec has it under `before`: a command is a plain list there. */
export function beforeJson(hook: Hook): Json {
  return hook.kind === 'exec' ? { exec: hook.command } : hookJson(hook)
}

/** A hook as a manifest has it. */
export function hookJson(hook: Hook): { readonly [key: string]: Json } {
  switch (hook.kind) {
    case 'exec':
      return { exec: { command: hook.command } }
    case 'sleep':
      return { sleep: { seconds: hook.seconds } }
    case 'httpGet':
      return { httpGet: httpGetJson(hook) }
    case 'tcpSocket':
      return { tcpSocket: { ...(hook.host === '' ? {} : { host: hook.host }), port: hook.port } }
    default:
      return hook satisfies never
  }
}

export function sameHook(a: Hook | undefined, b: Hook | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return JSON.stringify(hookJson(a)) === JSON.stringify(hookJson(b))
}

function httpGetJson({ path, port, host, scheme, httpHeaders }: HttpGet): Json {
  return {
    ...(path === '' ? {} : { path }),
    port,
    ...(host === '' ? {} : { host }),
    scheme,
    ...(httpHeaders.length === 0 ? {} : { httpHeaders: httpHeaders.map(({ name, value }) => ({ name, value })) }),
  }
}
