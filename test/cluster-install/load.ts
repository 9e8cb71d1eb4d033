import { setTimeout as sleep } from 'node:timers/promises'
import { keys } from '../../src/admission/words/keys.ts'
import { connect } from '../../src/install/connect.ts'
import type { ClusterObject } from '../../src/kubernetes/objects.ts'
import { until } from '../cluster/cluster.ts'
import { sample } from './installation.ts'

/** What became of the pods that were created meanwhile. */
interface Outcome {
  readonly patched: number
  readonly unpatched: number
  /** What the API server said of those that it didn't create. */
  readonly failures: readonly string[]
}

interface Load extends AsyncDisposable {
  /** Ends it, once so many have been patched: on a slow machine that takes longer. @param enough more may be needed, by what has failed */
  stop(enough: number | ((failures: number) => number)): Promise<Outcome>
}

/** Creates pods in a namespace, one after the other in two places at once, by dry runs: all of an admission, and nothing to run. */
export async function startLoad(namespace: string): Promise<Load> {
  const { objects } = await connect(undefined)
  const failures: string[] = []
  let patched = 0
  let unpatched = 0
  let stopped = false
  async function work() {
    while (!stopped) {
      try {
        const { metadata } = await objects.create<ClusterObject>(sample(namespace), { dryRun: true })
        if (metadata?.annotations?.[keys.status] === undefined) unpatched++
        else patched++
      } catch (error) {
        failures.push(String(error))
      }
      await sleep(20)
    }
  }
  const workers = [work(), work()]
  const end = async () => {
    stopped = true
    await Promise.all(workers)
  }
  return {
    async stop(enough) {
      const least = () => (typeof enough === 'number' ? enough : enough(failures.length))
      await until(`pods, of which ${patched} are patched`, async () => (patched >= least() ? true : undefined)).catch(
        () => {},
      )
      await end()
      return { patched, unpatched, failures }
    },
    [Symbol.asyncDispose]: end,
  }
}
