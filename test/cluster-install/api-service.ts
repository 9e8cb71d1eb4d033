import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { promisify } from 'node:util'

const clusterIp = '10.97.0.1'

/**
 * A fake kube-proxy for one Service: pods reach the API server by its cluster IP, which here is an address of the node with a process
 * that passes everything on. It ends with the tests' process.
 */
export function serveApi(): Promise<void> {
  serving ??= start()
  return serving
}
let serving: Promise<void> | undefined

async function start(): Promise<void> {
  await promisify(execFile)('ip', ['address', 'replace', `${clusterIp}/32`, 'dev', 'lo'])
  const server = createServer((from) => {
    const to = connect(6443, '127.0.0.1').unref()
    from.unref()
    const ends: [Socket, Socket][] = [
      [from, to],
      [to, from],
    ]
    for (const [one, other] of ends) one.on('error', () => other.destroy()).pipe(other)
  })
  server.listen(443, clusterIp).unref()
  await once(server, 'listening')
}
