import { setTimeout as sleep } from 'node:timers/promises'
import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import type { Waiter } from '../../admission/words/choices.ts'
import type { Coded } from '../../admission/words/values.ts'
import type { Waiting } from '../../install/ready.ts'
import { labelsOf } from '../../kubernetes/names.ts'
import { waitsFor } from '../../seen/reasons.ts'
import { type Finding, told } from '../findings.ts'
import { type Check, obstacleOf, type Site, Unseen, validConfiguration } from '../site.ts'

/** How long a pull may take, in ms. */
const patience = 60_000

/** Whether a node can pull the waiter's image and run it: a pod tries, and is removed afterwards. */
export const waiterImage: Check = {
  name: 'waiter image',
  async run(site) {
    const { waiter } = validConfiguration(site.installed).configuration
    if (waiter.delivery === 'shell') return [{ kind: 'waiter-not-needed' }]
    if (!site.pods) return [{ kind: 'waiter-not-tried' }]
    return [await pullWaiter(site, waiter)]
  },
}

type Puller = Pick<Site, 'objects' | 'namespace' | 'signal' | 'progress'>

/** Takes a minute at most. @throws ClusterError, Unseen */
async function pullWaiter(site: Puller, waiter: Waiter): Promise<Finding> {
  return judgePull(await tryToPull(site, waiter), waiter, site.namespace)
}

interface Attempt {
  readonly pod: V1Pod
  readonly events: readonly CoreV1Event[]
}

async function tryToPull({ objects, namespace, signal, progress }: Puller, waiter: Waiter): Promise<Attempt> {
  const { metadata } = await objects.create<V1Pod>(podOf(waiter, namespace))
  const reference = { apiVersion: 'v1', kind: 'Pod', metadata: { name: metadata?.name ?? '', namespace } }
  try {
    const end = Date.now() + patience
    for (;;) {
      const pod = await objects.read<V1Pod>(reference)
      if (signal.aborted) throw new Unseen({ kind: 'interrupted' })
      if (!pod) throw new Unseen({ kind: 'pod-removed', pod: reference.metadata.name })
      if (isOver(pod) || Date.now() > end) {
        const fieldSelector = `involvedObject.uid=${pod.metadata?.uid}`
        const events = await objects.list<CoreV1Event>(
          { apiVersion: 'v1', kind: 'Event' },
          { namespace, fieldSelector },
        )
        return { pod, events }
      }
      progress(`Waiting for a pod that pulls ${waiter.image}, ${Math.ceil((end - Date.now()) / 1000)} s at most…`)
      await sleep(300, undefined, { signal }).catch(() => {})
    }
  } finally {
    await objects.remove(reference)
  }
}

/** It passes PodSecurity "restricted". Its own deadline ends it if nobody is left to remove it. */
function podOf({ image, imagePullPolicy }: Waiter, namespace: string): V1Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'sidecar-first-check-',
      namespace,
      labels: labelsOf('check'),
    },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: (2 * patience) / 1000,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'wait',
          image,
          imagePullPolicy,
          command: ['/wait', '--help'],
          resources: { requests: { cpu: '1m', memory: '8Mi' }, limits: { cpu: '1', memory: '32Mi' } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    },
  }
}

/** The kubelet retries for ever; the first failure says enough. */
const isHopeless = (reason = '') => waitsFor(reason) !== undefined

const stateOf = ({ status }: V1Pod) => status?.containerStatuses?.[0]?.state

function isOver(pod: V1Pod): boolean {
  const { phase = '' } = pod.status ?? {}
  return phase === 'Succeeded' || phase === 'Failed' || isHopeless(stateOf(pod)?.waiting?.reason)
}

export function judgePull({ pod, events }: Attempt, { image }: Waiter, namespace: string): Finding {
  const { phase, conditions = [] } = pod.status ?? {}
  const node = pod.spec?.nodeName
  const { waiting, terminated } = stateOf(pod) ?? {}
  if (phase === 'Succeeded') {
    const present = events.some(({ reason, message }) => reason === 'Pulled' && /already present/.test(message ?? ''))
    return { kind: present ? 'waiter-present' : 'waiter-pulled', image, node: node ?? '' }
  }
  if (node === undefined) {
    const why = conditions.find(({ type }) => type === 'PodScheduled')?.message ?? 'no scheduler took it'
    return { kind: 'waiter-not-scheduled', image, namespace, why }
  }
  if (waiting && isHopeless(waiting.reason)) {
    // Once the kubelet has backed off, the reason is in the events alone.
    const failed = events.filter(({ reason }) => reason === 'Failed').map(({ message }) => message)
    const why = failed.find((message) => message?.startsWith('Failed to pull')) ?? waiting.message ?? failed[0]
    return { kind: 'waiter-not-run', image, node, why: `${waiting.reason}: ${why}` }
  }
  if (terminated) {
    const { exitCode, reason, message } = terminated
    return { kind: 'waiter-ended', image, node, exitCode, why: message ?? reason ?? 'no reason given' }
  }
  const why = waiting?.reason ?? phase ?? 'nothing is known'
  return { kind: 'waiter-slow', image, node, seconds: patience / 1000, why }
}

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
