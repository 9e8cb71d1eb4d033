import { setTimeout as sleep } from 'node:timers/promises'
import { kubectl } from './cluster.ts'
import { type Container, getLog, type Line, sidecar } from './pod.ts'

/** Ready as soon as it runs; it exits on SIGTERM at once, unless `env` says otherwise. */
export const proxy = (more: Record<string, unknown> = {}, env: Record<string, string> = {}, port = 15_021): Container =>
  sidecar(
    'proxy',
    { HTTP: `:${port}`, ...env },
    { readinessProbe: { httpGet: { path: '/ready', port }, periodSeconds: 1 }, ...more },
  )

/** An app that works on for `length` after SIGTERM, and needs its proxy for that. */
export const draining = (length: string, more: Record<string, unknown> = {}, name = 'app', port = 15_021): Container =>
  sidecar(name, { DRAIN: `http://127.0.0.1:${port}/ready ${length}` }, more)

export const preStop = (hook: object) => ({ lifecycle: { preStop: hook } })

/** Deletes a pod. @returns all that its containers have written, and the ms until it was gone */
export async function endOf(namespace: string, name: string, ...flags: readonly string[]) {
  const following = getLog(namespace, name, '--follow')
  await sleep(1000)
  const from = performance.now()
  await kubectl('delete', 'pod', name, '-n', namespace, ...flags)
  const ms = Math.round(performance.now() - from)
  const log: readonly Line[] = await following
  return { log, ms }
}
