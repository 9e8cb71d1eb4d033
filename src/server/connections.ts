import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'

interface Connection {
  readonly client: string
  readonly socket: Socket
  /** How many requests are on it; more than one if they are pipelined. */
  requests: number
}

/**
 * Requests on a connection that wait for an answer. Node reads on as long as nothing is written: 64 KiB hold 1,600 requests, and answers that
 * nobody fetches would fill the memory. API servers, kubelets and proxies send one after the other.
 */
const mostWaiting = 4

export type Connections = ReturnType<typeof createConnections>

/**
 * Keeps the number of open connections within a limit, since each takes about 100 KB from its handshake on, idle or not. A new one is
 * always accepted. If there are too many then, one of the client with most is closed: the one that has been idle for longest, or if all
 * are busy the one that has been so for longest.
 */
export function createConnections(limit: number) {
  // In the order in which something happened on them last, as a Set keeps it.
  const open = new Set<Connection>()
  const handshaking = new Map<string, Connection>()
  const secure = new WeakMap<Socket, Connection>()

  function moved(connection: Connection): void {
    // It may be closed already.
    if (open.delete(connection)) open.add(connection)
  }

  function closeOne(): void {
    const held = new Map<string, number>()
    for (const { client } of open) held.set(client, (held.get(client) ?? 0) + 1)
    const most = Math.max(...held.values())
    const candidates = [...open].filter(({ client }) => held.get(client) === most)
    const connection = candidates.find(({ requests }) => requests === 0) ?? candidates[0]
    if (connection === undefined) return
    open.delete(connection)
    connection.socket.destroy()
  }

  return {
    watch(server: Server): void {
      server.on('connection', (socket: Socket) => {
        const name = nameOf(socket)
        const connection = { client: socket.remoteAddress ?? '', socket, requests: 0 }
        open.add(connection)
        handshaking.set(name, connection)
        socket.once('close', () => {
          open.delete(connection)
          if (handshaking.get(name) === connection) handshaking.delete(name)
        })
        while (open.size > limit) closeOne()
      })
      server.on('secureConnection', (socket) => {
        const name = nameOf(socket)
        const connection = handshaking.get(name)
        handshaking.delete(name)
        if (connection) secure.set(socket, connection)
      })
    },
    /** A request has come; its connection is busy until the answer is sent. False if too many wait on it already: then it is closed. */
    busy({ socket }: IncomingMessage, response: ServerResponse): boolean {
      const connection = secure.get(socket)
      if (connection === undefined) return true
      if (connection.requests >= mostWaiting) {
        socket.destroy()
        return false
      }
      connection.requests++
      moved(connection)
      response.once('close', () => {
        connection.requests--
        moved(connection)
      })
      return true
    },
    count: () => open.size,
  }
}

/** The same for a TLS connection and for the TCP connection below it. */
const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
