import { Session } from 'node:inspector/promises'

/** How often blocks of the product's own code run while something works: what it costs, the same on every machine. */
export async function stepsOf(work: () => void): Promise<number> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => /^file:.*\/(src|rollouts)\//.test(url) && !url.includes('/test/'))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges.map(({ count }) => count)))
      .reduce((sum, count) => sum + count, 0)
  } finally {
    session.disconnect()
  }
}
