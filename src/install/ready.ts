import { setTimeout as sleep } from 'node:timers/promises'
import type { CoreV1Event, V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { LabelSelector } from '../admission/pod/selector.ts'
import { keys } from '../admission/words/keys.ts'
import type { Objects } from '../kubernetes/objects.ts'
import { selectorText } from '../kubernetes/selector.ts'
import { ExpectedError } from '../terminal/command.ts'
import { type Applying, label, type Manifest } from './apply.ts'
import { rollout, silentPod } from './deployment.ts'
import { lastWarning } from './pod-log.ts'
import { trialPod } from './trial-pod.ts'

export type Waiting = Pick<Applying, 'objects' | 'progress' | 'signal'>

/**
 * Waits until all replicas of a Deployment have its newest template and are ready.
 * @throws ExpectedError with what is in the way
 */
export async function awaitRollout(
  reference: Manifest,
  waiting: Waiting,
  {
    certificate,
    optional = false,
  }: {
    /** Says why there is none, where certs isn't who makes it. */
    readonly certificate?: (() => Promise<string>) | undefined
    /** Whoever sees it stuck is told that pods aren't. */
    readonly optional?: boolean
  } = {},
): Promise<void> {
  const { objects } = waiting
  const { namespace = '' } = reference.metadata
  const aside = optional ? '; the webhook works without it' : ''
  await until(label(reference), waiting, async () => {
    const deployment = await objects.read<V1Deployment>(reference)
    if (deployment === undefined) return { done: false, state: `not there${aside}` }
    if (rollout(deployment, [], []).done) return { done: true, state: 'ready' }
    const [pods, events] = await Promise.all([
      podsOf(objects, deployment),
      objects.list<CoreV1Event>({ apiVersion: 'v1', kind: 'Event' }, { namespace, fieldSelector: 'type=Warning' }),
    ])
    const { name = '' } = silentPod(pods, events)?.metadata ?? {}
    // Whoever may not read it is told where it is.
    const log = name === '' ? '' : await objects.log({ namespace, name }).catch(() => '')
    const more = { warned: { [name]: lastWarning(log) }, certificate: await certificate?.() }
    const { done, state } = rollout(deployment, pods, events, more)
    return { done, state: done ? state : state + aside }
  })
}

/** A node that is lost may never report a pod's end, but nothing of it answers any more. */
const grace = 10_000

/** Waits until the replicas that a rollout has replaced have ended: until then they answer. @throws ExpectedError with what is in the way */
export async function awaitEnds(reference: Manifest, waiting: Waiting): Promise<void> {
  const { objects } = waiting
  await until(`replicas of ${reference.metadata.name} that were replaced`, waiting, async () => {
    const deployment = await objects.read<V1Deployment>(reference)
    const pods = deployment === undefined ? [] : await podsOf(objects, deployment)
    const ending = pods.filter(
      ({ metadata: { deletionTimestamp: at } = {} }) => at && new Date(at).getTime() + grace > Date.now(),
    )
    return { done: ending.length === 0, state: ending.length === 0 ? 'gone' : `${ending.length} still ending` }
  })
}

function podsOf(objects: Objects, { metadata, spec }: V1Deployment): Promise<V1Pod[]> {
  const labelSelector = selectorText(spec?.selector as LabelSelector | undefined)
  const of = { namespace: metadata?.namespace ?? '', labelSelector }
  return objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, of)
}

/**
 * Waits until the API server has a pod patched, by dry runs in an existing namespace.
 * @throws ExpectedError with the last answer
 */
export async function awaitPatch(namespace: string, waiting: Waiting): Promise<void> {
  await until(`a pod tried out in ${namespace}`, waiting, async () => {
    const stored = await waiting.objects.create(trialPod(namespace), { dryRun: true })
    const done = stored.metadata?.annotations?.[keys.status] !== undefined
    return {
      done,
      state: done ? 'patched' : 'not patched: the API server has it stored without an answer from the webhook',
    }
  })
}

const often = 500

/**
 * Asks until it is done, and reports it. A failed call is a state, too: what is being waited for may be its cause. A state that is gone at
 * the next look isn't reported.
 * @throws ExpectedError with the last state and what to do
 */
export async function until(
  thing: string,
  { progress, signal }: Omit<Waiting, 'objects'>,
  ask: () => Promise<{ done: boolean; state: string }>,
): Promise<void> {
  for (let last = ''; ; ) {
    const { done, state } = await ask().catch((error: Error) => ({
      done: false,
      state: error.message.replace(/\s+/g, ' '),
    }))
    if (done) return progress.done(thing, state)
    if (signal.aborted) {
      const why = signal.reason?.name === 'TimeoutError' ? 'It takes longer than --timeout' : 'Interrupted'
      throw new ExpectedError('not-in-time', `${thing}: ${state}\n  ${why}; the same call again goes on from here`)
    }
    if (state === last) progress.waiting(thing, state)
    last = state
    await sleep(often, undefined, { signal }).catch(() => {})
  }
}
