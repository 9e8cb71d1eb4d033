import { setTimeout as sleep } from 'node:timers/promises'
import { type KubeConfig, Watch } from '@kubernetes/client-node'
import { clusterError, kindOf } from './call.ts'
import { ClusterError, type FailureKind, failureKind } from './failure.ts'
import type { RawCalls } from './raw.ts'
import { watched } from './watch.ts'

/** An object as it comes over the wire. */
export interface WireObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string }
}

export interface Followed<T> {
  /** A list begins. */
  begins(): void
  /** It's there, or has changed. May get what it has already, or what is older than that. */
  put(object: T): void
  /** It was deleted, and like this. */
  gone(last: T): void
  /** The list is complete: what hasn't been put since it began wasn't there at this version. */
  listed(version: number): void
  /** Whether nothing is under way for which it must soon be known what a silent watch has kept back. */
  isCalm?(): boolean
}

/** While it is calm, a list is made only each so many times `resync`: one of ten thousand pods takes almost five seconds of CPU. */
const CALM = 5

/** The status where a version is too old by now, which is not a failure. */
const expired = 410

/** How long a watch lasts before it is restarted, in s: proxies on the way lose patience later. */
const WATCH = 240

interface Following<T> {
  readonly kubeconfig: KubeConfig
  readonly calls: RawCalls
  readonly path: string
  /** A selector. */
  readonly query?: Readonly<Record<string, string>>
  /** Objects in a page of the list. */
  readonly size?: number
  readonly into: Followed<T>
  readonly resync: number
  readonly signal: AbortSignal
  readonly failed: (kind: FailureKind, error: unknown) => void
}

/**
 * Tells what is at `path` until `signal` ends: a list, then a watch, and every `resync` ms a new list whatever the watch says,
 * since watches have gone silent before; more rarely where that can wait. The client restarts a watch that delivers nothing for 30 s, not even a bookmark.
 */
export async function follow<T extends WireObject>(following: Following<T>): Promise<void> {
  const { kubeconfig, calls, path, query = {}, size = 100, into, resync, signal, failed } = following
  const watch = new Watch(kubeconfig)
  const report = (error: unknown) => failed(failureKind(error), error)

  async function list(): Promise<string> {
    let version = ''
    const read = (found = '') => {
      version = found
    }
    into.begins()
    // A hundred objects, each as large as may be, are more than a container of ours may take.
    for await (const item of calls.items<T>(path, query, { size, read })) into.put(item)
    into.listed(Number(version))
    return version
  }

  /**
   * @returns the version to go on from, or undefined when only a list helps
   * @throws ClusterError if the watch never began
   */
  async function listen(from: string, until: AbortSignal): Promise<string | undefined> {
    let version: string | undefined = from
    const asked = { ...query, resourceVersion: from, allowWatchBookmarks: true, timeoutSeconds: WATCH }
    const heard = (type: string, object: T) => {
      // A list is newer than what an ended watch still has to say.
      if (until.aborted) return
      if (type === 'ERROR') {
        version = undefined
        const { code } = object as { code?: unknown }
        if (code !== expired) report(refused(path, Number(code)))
        return
      }
      if (version !== undefined) version = object.metadata.resourceVersion
      if (type === 'ADDED' || type === 'MODIFIED') into.put(object)
      if (type === 'DELETED') into.gone(object)
    }
    const error = await watched(watch, path, asked, heard, until)
    if (until.aborted || error === undefined) return version
    const code = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : undefined
    if (code === expired) return undefined
    throw code === undefined ? clusterError(error) : refused(path, code)
  }

  let failures = 0
  while (!signal.aborted) {
    try {
      let version: string | undefined = await list()
      for (let turn = 1; version !== undefined && !signal.aborted; turn++) {
        const until = AbortSignal.any([signal, AbortSignal.timeout(resync)])
        while (version !== undefined && !until.aborted) {
          version = await listen(version, until)
          if (version === undefined) break
          // A list alone is no success: while watches are refused, all that there is would be listed ten times a second.
          failures = 0
          // A server that ends every watch at once isn't asked in a tight loop.
          await sleep(500, undefined, { signal: until }).catch(() => {})
        }
        if (turn === CALM || !into.isCalm?.()) break
      }
    } catch (error) {
      if (signal.aborted) return
      report(error)
    }
    failures++
    const pause = failures === 1 ? 100 : Math.min(10_000, 100 * 2 ** failures) * (0.5 + Math.random() / 2)
    await sleep(pause, undefined, { signal }).catch(() => {})
  }
}

const refused = (path: string, code: number) =>
  new ClusterError(kindOf(code), `the API server answered the watch of ${path} with ${code}`)
