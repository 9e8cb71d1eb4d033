import { ApiException } from '@kubernetes/client-node'

/** Says that the API server is too busy, and waits for so many ms. */
export type Busy = (ms: number) => Promise<void>

/** How long one request is waited with altogether, in ms. */
const patience = 60_000

/**
 * Asks again, as the API server wants it, while it is too busy: priority and fairness answers large lists with 429 and `Retry-After`.
 * Only for requests that change nothing.
 */
export async function whileBusy<T>(ask: () => Promise<T>, busy: Busy): Promise<T> {
  for (let left = patience; ; ) {
    try {
      return await ask()
    } catch (error) {
      const pause = pauseOf(error)
      if (pause === undefined || pause > left) throw error
      left -= pause
      await busy(pause)
    }
  }
}

/** After how many ms it may be asked again; undefined for what doesn't pass. A proxy may say it as a date, or anything. */
function pauseOf(error: unknown): number | undefined {
  if (!(error instanceof ApiException)) return undefined
  const after = (error.headers as Readonly<Record<string, string>>)['retry-after']
  if (error.code !== 429 && !(error.code === 503 && after !== undefined)) return undefined
  const seconds = Number(after)
  const said = Number.isNaN(seconds) ? Date.parse(after ?? '') - Date.now() : 1000 * seconds
  return Math.max(shortest, said || 0)
}

/** The API server says 1 s itself. */
const shortest = 1000
