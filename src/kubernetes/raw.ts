import { ApiException, type createConfiguration, HttpMethod, type PatchStrategy } from '@kubernetes/client-node'
import { call } from './call.ts'

/**
 * Calls that return JSON as it comes over the wire: turning it into classes is most of the work for thousands of pods.
 * Each throws ClusterError.
 */
export interface RawCalls {
  get<T>(path: string, query?: Query): Promise<T>
  /** A whole list, in pages. */
  pages<T>(path: string, query?: Query): AsyncIterable<Page<T>>
  /** undefined if the API server says that there is none. */
  find<T>(path: string): Promise<T | undefined>
  create<T>(path: string, body: object): Promise<T>
  patch<T>(path: string, body: object, strategy: PatchStrategy): Promise<T>
  /** false if it didn't exist. */
  remove(path: string, body?: object): Promise<boolean>
}

/** `resourceVersion`: what to watch the list from. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly metadata: { readonly resourceVersion?: string }
}

/** Items in a page: what is read of one is thrown away before the next one comes, so small pages need little memory. */
const pageSize = '100'

type Query = Readonly<Record<string, string | undefined>>

export function rawCalls(configuration: ReturnType<typeof createConfiguration>): RawCalls {
  async function send<T>(
    method: HttpMethod,
    path: string,
    { query = {}, body, type = 'application/json' }: { query?: Query; body?: object; type?: string } = {},
  ): Promise<T> {
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
    const text = await response.body.text()
    if (response.httpStatusCode < 200 || response.httpStatusCode > 299) {
      throw new ApiException(response.httpStatusCode, `${method} ${path}`, text, response.headers)
    }
    return JSON.parse(text)
  }
  const get = <T>(path: string, query: Query = {}): Promise<T> => call(() => send<T>(HttpMethod.GET, path, { query }))
  return {
    get,
    async *pages<T>(path: string, query?: Query) {
      let next: string | undefined
      do {
        const page = await get<Page<T> & { metadata: { continue?: string } }>(path, {
          ...query,
          limit: pageSize,
          continue: next,
        })
        yield page
        next = page.metadata.continue || undefined
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
