import { ApiException, type createConfiguration, HttpMethod, type PatchStrategy } from '@kubernetes/client-node'
import { type Busy, whileBusy } from './busy.ts'
import { call } from './call.ts'
import { missingObject } from './failure.ts'
import { createItemReader } from './list-items.ts'

export interface Paging {
  /** Items in a page: a hundred, unless it says otherwise. */
  readonly size?: number
  /**
   * A list may take so long that the API server has forgotten what it was like at its beginning (410). The rest is then read as it is now, and
   * this is called. Without it, that's an error.
   */
  readonly expired?: () => void
  /** A page has been read; of the last one, this is what to watch the list from. */
  readonly read?: (version: string | undefined) => void
}

type Query = Readonly<Record<string, string | undefined>>

export type RawCalls = ReturnType<typeof rawCalls>

/**
 * Calls that return JSON as it comes over the wire: turning it into classes is most of the work for thousands of pods.
 * Each throws ClusterError.
 * @param busy for commands: with it, what is read is asked for again while the API server is too busy; controllers have their own pace
 * @param secret what is sent and answered may hold a key, so errors don't quote it
 */
export function rawCalls(
  configuration: ReturnType<typeof createConfiguration>,
  { busy, secret }: { readonly busy?: Busy; readonly secret?: boolean } = {},
) {
  async function answerOnce(
    method: HttpMethod,
    path: string,
    { query = {}, body, type = 'application/json' }: { query?: Query; body?: object; type?: string } = {},
  ) {
    let context = configuration.baseServer.makeRequestContext(path, method)
    context.setHeaderParam('Accept', 'application/json')
    for (const [name, value] of Object.entries(query)) if (value !== undefined) context.setQueryParam(name, value)
    if (body) {
      context.setHeaderParam('Content-Type', type)
      context.setBody(JSON.stringify(body))
    }
    await configuration.authMethods.default?.applySecurityAuthentication(context)
    for (const middleware of configuration.middleware) context = await middleware.pre(context).toPromise()
    let response = await configuration.httpApi.send(context).toPromise()
    for (const middleware of configuration.middleware) response = await middleware.post(response).toPromise()
    if (response.httpStatusCode < 200 || response.httpStatusCode > 299) {
      throw new ApiException(response.httpStatusCode, `${method} ${path}`, await response.body.text(), response.headers)
    }
    return response.body
  }
  const answerTo = (...request: Parameters<typeof answerOnce>) =>
    busy !== undefined && request[0] === HttpMethod.GET
      ? whileBusy(() => answerOnce(...request), busy)
      : answerOnce(...request)
  const send = <T>(...request: Parameters<typeof answerTo>): Promise<T> =>
    call(async () => JSON.parse(await (await answerTo(...request)).text()), secret)
  const sendIfThere = <T>(...request: Parameters<typeof answerTo>): Promise<T | undefined> =>
    send<T>(...request).catch((error) => {
      // A missing kind, or a proxy's 404, says nothing about the object.
      if (missingObject(error)) return undefined
      throw error
    })
  return {
    get: <T>(path: string, query: Query = {}) => send<T>(HttpMethod.GET, path, { query }),
    /** What isn't JSON. */
    text: (path: string, query: Query = {}) =>
      call(async () => (await answerTo(HttpMethod.GET, path, { query })).text()),
    /** A whole list, one item at a time: of a page there is never more than that one. */
    async *items<T>(path: string, query: Query = {}, { size = 100, expired, read }: Paging = {}): AsyncIterable<T> {
      const ask = (next: string | undefined) =>
        answerTo(HttpMethod.GET, path, { query: { ...query, limit: `${size}`, continue: next } })
      let next: string | undefined
      do {
        const body = await call(() =>
          ask(next).catch((error) => {
            const rest = restOf(error)
            if (rest === undefined || expired === undefined) throw error
            expired()
            return ask(rest)
          }),
        )
        const reader = createItemReader()
        const chunks = body.stream()?.getReader()
        if (chunks === undefined) return
        try {
          for (let chunk = await call(() => chunks.read()); !chunk.done; chunk = await call(() => chunks.read())) {
            for (const item of reader.read(chunk.value)) yield JSON.parse(item)
          }
        } finally {
          await chunks.cancel().catch(() => {})
        }
        const { metadata } = reader.rest()
        read?.(metadata?.resourceVersion)
        next = metadata?.continue || undefined
      } while (next !== undefined)
    },
    /** undefined if the API server says that there is none. */
    find: <T>(path: string) => sendIfThere<T>(HttpMethod.GET, path),
    create: <T>(path: string, body: object) => send<T>(HttpMethod.POST, path, { body }),
    replace: <T>(path: string, body: object) => send<T>(HttpMethod.PUT, path, { body }),
    patch: <T>(path: string, body: object, type: PatchStrategy) => send<T>(HttpMethod.PATCH, path, { body, type }),
    /** false if it didn't exist. */
    remove: async (path: string, body: object = {}) =>
      (await sendIfThere<object>(HttpMethod.DELETE, path, { body })) !== undefined,
  }
}

/** What a list that has expired can be continued with: the API server says it with its 410. */
function restOf(error: unknown): string | undefined {
  if (!(error instanceof ApiException) || error.code !== 410) return undefined
  try {
    return JSON.parse(error.body).metadata?.continue || undefined
  } catch {
    return undefined
  }
}
