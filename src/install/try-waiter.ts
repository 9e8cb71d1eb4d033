import type { Waiter } from '../admission/configuration.ts'
import { Unseen } from '../check/site.ts'
import { pullWaiter } from '../check/waiter-image.ts'
import { ClusterError } from '../kubernetes/failure.ts'
import type { Waiting } from './ready.ts'

/**
 * Has a node pull the waiter's image and run it, in a pod of a few seconds. Answers what is doubtful: no failure, as the pods that wait pull it
 * with secrets of their own.
 */
export async function tryWaiter(
  { objects, progress, signal, namespace }: Waiting & { readonly namespace: string },
  waiter: Waiter,
): Promise<string | undefined> {
  const thing = "the waiter's image"
  const waiting = () => progress.waiting(thing, `a pod pulls ${waiter.image}`)
  try {
    const [finding] = await pullWaiter({ objects, namespace, signal, progress: waiting }, waiter)
    if (finding?.level === 'ok') progress.done(thing, finding.text)
    else if (finding) {
      progress.done(thing, 'in doubt')
      return `${finding.text}\nUnless your pods' own pull secrets fit, those that wait don't start, or start without their sidecars: ${finding.next}`
    }
  } catch (error) {
    if (!(error instanceof Unseen || error instanceof ClusterError)) throw error
    progress.done(thing, `not tried: ${error.message}`)
  }
  return undefined
}
