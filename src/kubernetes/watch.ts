import type { Watch } from '@kubernetes/client-node'

/**
 * One watch, until it ends or `signal` aborts; neither is left waiting for an API server that doesn't answer.
 * @returns why it never began; undefined if it did, or if `signal` ended it
 */
export async function watched<T>(
  watch: Watch,
  path: string,
  query: Readonly<Record<string, string | number | boolean>>,
  heard: (type: string, object: T) => void,
  signal: AbortSignal,
): Promise<unknown> {
  const over = Promise.withResolvers<unknown>()
  let began = false
  // One that never begins says so before it says that it has started.
  const started = watch.watch(path, query, heard, (error) => over.resolve(began ? undefined : error))
  started.then(() => {
    began = true
  }, over.resolve)
  // One that isn't even answered can't be aborted: it's left to its own end.
  const stop = () => {
    over.resolve(undefined)
    void started.then((request) => request.abort()).catch(() => {})
  }
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const error = await over.promise
  signal.removeEventListener('abort', stop)
  return error ?? undefined
}
