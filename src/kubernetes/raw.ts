import { ApiException, type createConfiguration, HttpMethod, type PatchStrategy } from '@kubernetes/client-node'
import { type Busy, whileBusy } from './busy.ts'
import { call } from './call.ts'
import { createItemReader } from './list-items.ts'

/**
 * Calls that return JSON as it comes over the wire: turning it into classes is most of the work for thousands of pods.
 * Each throws ClusterError.
 */
export interface RawCalls {
  get<T>(path: string, query?: Query): Promise<T>
  /** A whole list, one item at a time: of a page there is never more than that one. */
  items<T>(path: string, query?: Query, how?: Paging): AsyncIterable<T>
  /** undefined if the API server says that there is none. */
  find<T>(path: string): Promise<T | undefined>
  create<T>(path: string, body: object): Promise<T>
  patch<T>(path: string, body: object, strategy: PatchStrategy): Promise<T>
  /** false if it didn't exist. */
  remove(path: string, body?: object): Promise<boolean>
}

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

/** @param busy for commands: with it, what is read is asked for again while the API server is too busy; controllers have their own pace */
export function rawCalls(
  configuration: ReturnType<typeof createConfiguration>,
  { busy }: { readonly busy?: Busy } = {},
): RawCalls {
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
  async function send<T>(...request: Parameters<typeof answerTo>): Promise<T> {
    return JSON.parse(await (await answerTo(...request)).text())
  }
  const get = <T>(path: string, query: Query = {}): Promise<T> => call(() => send<T>(HttpMethod.GET, path, { query }))
  return {
    get,
    async *items(path: string, query: Query = {}, { size = 100, expired, read }: Paging = {}) {
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
    find: <T>(path: string) => call(() => send<T>(HttpMethod.GET, path), { optional: true }),
    create: (path, body) => call(() => send(HttpMethod.POST, path, { body })),
    patch: (path, body, strategy) => call(() => send(HttpMethod.PATCH, path, { body, type: strategy })),
    async remove(path, body = {}) {
      return (await call(() => send<object>(HttpMethod.DELETE, path, { body }), { optional: true })) !== undefined
    },
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
