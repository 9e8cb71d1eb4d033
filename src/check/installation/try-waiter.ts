import type { Waiter } from '../../admission/words/choices.ts'
import type { Coded } from '../../admission/words/values.ts'
import type { Waiting } from '../../install/ready.ts'
import { told } from '../findings.ts'
import { obstacleOf } from '../site.ts'
import { pullWaiter } from './waiter-image.ts'

/**
 * Has a node pull the waiter's image and run it, in a pod of a few seconds.
 * @returns a doubt, if there is one: not a failure, since the pods that wait pull it with their own secrets
 */
export async function tryWaiter(
  { objects, progress, signal, namespace }: Waiting & { readonly namespace: string },
  waiter: Waiter,
): Promise<Coded | undefined> {
  const thing = "the waiter's image"
  const waiting = () => progress.waiting(thing, `a pod pulls ${waiter.image}`)
  try {
    const finding = await pullWaiter({ objects, namespace, signal, progress: waiting }, waiter)
    const { code, level, text, next } = told(finding)
    progress.done(thing, level === 'ok' ? text : 'in doubt')
    if (level === 'ok') return undefined
    const means = `Unless your pods' own pull secrets fit, those that wait don't start, or start without their sidecars: ${next}`
    return { code, text: `${text}\n  ${means}` }
  } catch (error) {
    const { text } = told({ kind: 'not-looked-at', obstacle: obstacleOf(error) })
    progress.done(thing, text)
    return undefined
  }
}
