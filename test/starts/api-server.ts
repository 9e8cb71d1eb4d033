import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KubeConfig } from '@kubernetes/client-node'

interface Stored {
  readonly metadata?: { readonly name?: string; readonly uid?: string; readonly resourceVersion?: string }
  readonly involvedObject?: { readonly kind?: string }
}

/**
 * Lists and watches pods and events as an API server does, over HTTP on loopback.
 * @param ahead of its clock, in ms @param silent how many calls it hangs up on before it answers
 */
export async function fakeApiServer({ ahead = 0, silent = 0 } = {}) {
  let version = 100
  const all = { pods: new Map<string, Stored>(), events: new Map<string, Stored>() }
  const watches = { pods: new Set<Watch>(), events: new Set<Watch>() }
  const refused = new Set<keyof typeof all>()
  const history: { version: number; what: keyof typeof all; type: string; object: Stored }[] = []
  interface Watch {
    readonly response: ServerResponse
    readonly takes: (object: Stored) => boolean
  }
  const server = createServer(({ url = '' }, response) => {
    if (silent-- > 0) return response.destroy()
    response.setHeader('Date', new Date(Date.now() + ahead).toUTCString())
    const { pathname, searchParams } = new URL(url, 'http://x')
    const what = pathname.replace(/.*\//, '') as keyof typeof all
    response.setHeader('Content-Type', 'application/json')
    if (pathname === '/version') return response.end('{}')
    if (!(what in all)) return response.writeHead(404).end('{}')
    if (refused.has(what)) return response.writeHead(403).end('{"kind":"Status","message":"no","code":403}')
    const kind = /involvedObject\.kind=(\w+)/.exec(searchParams.get('fieldSelector') ?? '')?.[1]
    const takes = ({ involvedObject }: Stored) => kind === undefined || involvedObject?.kind === kind
    if (searchParams.get('watch') !== 'true') {
      const items = [...all[what].values()].filter(takes)
      return response.end(JSON.stringify({ metadata: { resourceVersion: `${version}` }, items }))
    }
    response.flushHeaders()
    const watch = { response, takes }
    watches[what].add(watch)
    const from = Number(searchParams.get('resourceVersion'))
    for (const each of history) if (each.what === what && each.version > from) send(watch, each)
    return response.on('close', () => watches[what].delete(watch))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const kubeconfig = new KubeConfig()
  const { port } = server.address() as AddressInfo
  kubeconfig.loadFromClusterAndUser(
    { name: 'x', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'x' },
  )

  function send({ response, takes }: Watch, { type, object }: { type: string; object: Stored }) {
    if (takes(object)) response.write(`${JSON.stringify({ type, object })}\n`)
  }
  function tell(what: keyof typeof all, type: string, object: Stored) {
    history.push({ version, what, type, object })
    for (const watch of watches[what]) send(watch, { type, object })
  }
  return {
    kubeconfig,
    refuse: (what: keyof typeof all) => void refused.add(what),
    allow: (what: keyof typeof all) => void refused.delete(what),
    put(what: keyof typeof all, object: Stored) {
      const key = object.metadata?.uid ?? object.metadata?.name ?? ''
      const stored = { ...object, metadata: { ...object.metadata, resourceVersion: `${++version}` } }
      const type = all[what].has(key) ? 'MODIFIED' : 'ADDED'
      all[what].set(key, stored)
      tell(what, type, stored)
    },
    remove(uid: string) {
      const last = all.pods.get(uid)
      all.pods.delete(uid)
      version++
      if (last) tell('pods', 'DELETED', { ...last, metadata: { ...last.metadata, resourceVersion: `${version}` } })
    },
    /** All watches end, as at an API server's restart. */
    cut() {
      for (const { response } of [...watches.pods, ...watches.events]) response.end()
    },
    watching: () => watches.pods.size + watches.events.size,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
