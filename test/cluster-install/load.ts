import { setTimeout as sleep } from 'node:timers/promises'
import { keys } from '../../src/admission/words/keys.ts'
import { connect } from '../../src/install/connect.ts'
import type { ClusterObject } from '../../src/kubernetes/objects.ts'
import { sample } from './installation.ts'

/** What became of the pods that were created meanwhile. */
export interface Outcome {
  readonly patched: number
  readonly unpatched: number
  /** What the API server said of those that it didn't create. */
  readonly failures: readonly string[]
}

export interface Load extends AsyncDisposable {
  stop(): Promise<Outcome>
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
  const stop = async () => {
    stopped = true
    await Promise.all(workers)
    return { patched, unpatched, failures }
  }
  return {
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
    },
  }
}
