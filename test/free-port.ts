import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Linux hands out ports from 32768 on to whoever asks for any: nobody who runs beside a test gets one of these by chance.
const LOWEST = 12_000
const HIGHEST = 32_000
const given = new Set<number>()

/** A port of all addresses, IPv4 and IPv6, that nobody listens on, for a server that comes late or never. */
export async function freePort(): Promise<number> {
  while (true) {
    const port = randomInt(LOWEST, HIGHEST)
    if (given.has(port)) continue
    given.add(port)
    const server = createServer().listen(port)
    const listens = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!listens) continue
    await new Promise((done) => server.close(done))
    return port
  }
}
