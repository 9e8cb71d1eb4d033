import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Report, Request } from './good.ts'
import type { Serving } from './serve.ts'

/** Good traffic that goes on until it is stopped. */
interface Good {
  /** What it has seen since the last one. */
  report(): Promise<Report>
  /** Sends nothing more, waits for what is under way, and reports. */
  leave(): Promise<Report>
  stop(): void
}

export function startGood({ url, ca }: Pick<Serving, 'url' | 'ca'>): Good {
  const child = fork(fileURLToPath(new URL('good.ts', import.meta.url)), [url, ca])
  async function ask(what: Request): Promise<Report> {
    child.send(what)
    const [report] = (await once(child, 'message')) as [Report]
    return report
  }
  return { report: () => ask('report'), leave: () => ask('leave'), stop: () => void child.kill('SIGKILL') }
}

export const failures = ({ failed }: Report): number => Object.values(failed).reduce((sum, count) => sum + count, 0)
