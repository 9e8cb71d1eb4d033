import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { promisify } from 'node:util'

/** Has the node itself answer an address that the cluster gave away. */
const addAddress = (address: string) => promisify(execFile)('ip', ['address', 'replace', `${address}/32`, 'dev', 'lo'])

export interface Target {
  readonly host: string
  readonly port: number
}

/**
 * A fake kube-proxy for one Service: its cluster IP is an address of the node with a process that passes everything on. It ends with the tests'
 * process.
 * @param target asked for each connection; without one, it is closed
 */
export async function serveService(clusterIp: string, port: number, target: () => Target | undefined): Promise<void> {
  await addAddress(clusterIp)
  const server = createServer((from) => {
    from.unref()
    const found = target()
    if (found === undefined) return void from.resetAndDestroy()
    const to = connect(found.port, found.host).unref()
    const ends: [Socket, Socket][] = [
      [from, to],
      [to, from],
    ]
    for (const [one, other] of ends) one.on('error', () => other.destroy()).pipe(other)
    // What is on its way to a pod that is gone would keep this process alive for a quarter of an hour, until TCP gives up.
    from.setTimeout(15_000, () => {
      if (from.writableLength === 0) return
      from.destroy()
      to.destroy()
    })
  })
  server.listen(port, clusterIp).unref()
  await once(server, 'listening')
}

/** Where the kubelet tells pods to look names up. */
const clusterDns = '10.97.0.10'
const [inet, inet6, nxdomain] = [1, 28, 3]

/** A fake of the cluster's DNS that knows these names alone. It ends with the tests' process. */
export async function serveNames(names: Readonly<Record<string, string>>): Promise<void> {
  await addAddress(clusterDns)
  const server = createSocket('udp4')
  server.on('message', (query, { port, address }) => {
    // RFC 1035: a head of 12 bytes, then one question: labels behind their lengths, a type and a class.
    const labels: string[] = []
    let at = 12
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    const question = query.subarray(12, at + 5)
    const type = query.readUInt16BE(at + 1)
    const found = names[labels.join('.').toLowerCase()]
    const answers = found !== undefined && type === inet
    const known = found !== undefined && (type === inet || type === inet6)
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8580 | (known ? 0 : nxdomain), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(answers ? 1 : 0, 6)
    // The name again, as a pointer; type, class, 5 s, four bytes.
    const record = answers
      ? [Buffer.from([0xc0, 12, 0, inet, 0, 1, 0, 0, 0, 5, 0, 4, ...found.split('.').map(Number)])]
      : []
    server.send(Buffer.concat([head, question, ...record]), port, address)
  })
  server.bind(53, clusterDns).unref()
  await once(server, 'listening')
}
