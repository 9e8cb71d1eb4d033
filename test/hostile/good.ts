// Good traffic, in a process of its own: what an API server sends, at a steady pace, and what a kubelet asks. node good.ts URL CA
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { realisticReview } from '../../bench/server/review.ts'

/** What it has seen since the last report. */
export interface Report {
  readonly sent: number
  /** Creations of pods that failed or were let by without a patch, by reason. */
  readonly failed: Readonly<Record<string, number>>
  /** How often one had to be sent again since there was no place. */
  readonly again: number
  /** Admissions and probes that took longer than the manifests wait for them. */
  readonly late: number
  /** Milliseconds from a pod's review to its patch, at most. */
  readonly slowest: number
  /** Milliseconds until `/healthz` answered, at most: how long the event loop was held up. */
  readonly stall: number
  readonly probes: number
  /** Probes that got no answer, by path and reason. */
  readonly missed: Readonly<Record<string, number>>
  /** Answers of `/readyz` that were not "ready". */
  readonly unready: number
}

const [base = '', ca = ''] = process.argv.slice(2)
/** Creations of pods a second. */
const rate = 40
/** One of so many comes over a new connection, which sees the certificate of that moment. */
const fresh = 10
/** In ms. The longest that an API server waits for a webhook: on a slow machine slowness alone is no failure. */
const patience = 30_000
/** In ms. What the webhook configuration and the probes of the manifests wait; what takes longer is counted, and not judged. */
const late = { admission: 5000, '/healthz': 5000, '/readyz': 3000 }

const nothing = () => ({
  sent: 0,
  failed: {} as Record<string, number>,
  again: 0,
  late: 0,
  slowest: 0,
  stall: 0,
  probes: 0,
  missed: {} as Record<string, number>,
  unready: 0,
})
let seen = nothing()
const add = (to: Record<string, number>, key: string) => {
  to[key] = (to[key] ?? 0) + 1
}

const template = realisticReview()
/** A connection that breaks while nobody has it is no failure of anything. */
class Pool extends Agent {
  override createConnection(...wanted: Parameters<Agent['createConnection']>) {
    return super.createConnection(...wanted)?.on('error', () => {})
  }
}
const trusted = { ca: await readFile(ca), servername: 'localhost' }
const pool = new Pool({ keepAlive: true, maxSockets: 16, ...trusted })
const single = new Pool({ keepAlive: false, ...trusted })
const probes = new Pool({ keepAlive: false, rejectUnauthorized: false })
const watcher = new Pool({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })

/** As an API server does: never again after a broken connection, again after 429 and 5xx that say when, and in all no longer than the timeout. */
async function admit(number: number): Promise<void> {
  const uid = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
  const body = template
    .replace('705ab4f5-6393-11e8-b7cc-42010a800002', uid)
    .replaceAll('5d59d67564', `rs${number % 10}`)
  const signal = AbortSignal.timeout(patience)
  const start = performance.now()
  seen.sent++
  try {
    for (;;) {
      const { status, retryAfter, answer } = await ask(
        '/mutate?timeout=5s',
        number % fresh === 0 ? single : pool,
        signal,
        body,
      )
      if (status === 200) {
        const { response } = JSON.parse(answer)
        if (response.uid !== uid) throw new Error('the answer to another request')
        if (!response.allowed || response.patchType !== 'JSONPatch') throw new Error('not patched')
        break
      }
      if ((status !== 429 && status < 500) || retryAfter === undefined) throw new Error(`answered ${status}`)
      seen.again++
      await sleep(Number(retryAfter) * 1000, undefined, { signal })
    }
  } catch (error) {
    add(seen.failed, signal.aborted ? `no patch within ${patience / 1000} s` : reason(error))
  }
  const took = performance.now() - start
  if (took > late.admission) seen.late++
  seen.slowest = Math.max(seen.slowest, took)
}

/** As a kubelet does, over a connection of its own. */
async function probe(path: '/healthz' | '/readyz'): Promise<void> {
  const signal = AbortSignal.timeout(patience)
  const start = performance.now()
  seen.probes++
  try {
    const { status } = await ask(path, probes, signal)
    if (path === '/healthz' && status !== 200) throw new Error(`answered ${status}`)
    if (status !== 200) seen.unready++
  } catch (error) {
    add(seen.missed, `${path}: ${signal.aborted ? `nothing within ${patience / 1000} s` : reason(error)}`)
  }
  if (performance.now() - start > late[path]) seen.late++
}

async function ask(path: string, agent: Agent, signal: AbortSignal, body?: string) {
  const headers =
    body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const method = body === undefined ? 'GET' : 'POST'
  const outgoing = request(`${base}${path}`, { method, agent, signal, headers })
  // Heard below; later ones, of a connection that has been given up, by nobody.
  outgoing.on('error', () => {})
  outgoing.end(body)
  const [response] = await once(outgoing, 'response', { signal })
  return {
    status: response.statusCode as number,
    retryAfter: response.headers['retry-after'],
    answer: await text(response),
  }
}

const reason = (error: unknown): string =>
  error instanceof Error ? ('code' in error ? String(error.code) : error.message) : String(error)

/** One after the other over one connection, so that each waits for the event loop alone. */
async function watch(): Promise<void> {
  for (;;) {
    asked = performance.now()
    await ask('/healthz', watcher, AbortSignal.timeout(120_000)).catch(() => {})
    stalled()
    await sleep(20)
  }
}

let asked = performance.now()
/** One that is still waiting counts as well. */
const stalled = () => {
  seen.stall = Math.max(seen.stall, performance.now() - asked)
}

let number = 0
let open = 0
const traffic = setInterval(() => {
  open++
  void admit(number++).finally(() => open--)
}, 1000 / rate)
const kubelet = setInterval(() => {
  void probe('/healthz')
  void probe('/readyz')
}, 1000)
void watch()
/** 'report', or 'leave' when it is no longer to be sent anything: what is under way is still waited for. */
export type Request = 'report' | 'leave'
process.on('message', async (asked: Request) => {
  if (asked === 'leave') {
    clearInterval(traffic)
    clearInterval(kubelet)
    while (open > 0) await sleep(20)
  }
  stalled()
  process.send?.(seen satisfies Report)
  seen = nothing()
})
process.on('disconnect', () => process.exit())
