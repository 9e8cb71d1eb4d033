import { createHash } from 'node:crypto'
import { keys } from '../../src/admission/words/keys.ts'
import { finalImageReasons, isStarting, waitsFor } from '../../src/seen/reasons.ts'
import { isNamedIn } from '../image.ts'
import type { WirePod } from '../seen-pod.ts'
import { asksForPatience } from '../sidecar-state.ts'
import type { SidecarRollout } from '../types.ts'

/** How the fetching of an image to a node is doing. */
export type Fetch =
  | { readonly is: 'fetching' }
  | { readonly is: 'there' }
  /** It fails, and is tried again; `late`: for longer than a pod may take. A registry that asks for patience is never late. */
  | { readonly is: 'waiting'; readonly why: string; readonly late: boolean }
  /** The image can't be had, however often it's tried. */
  | { readonly is: 'failed'; readonly why: string }
  /** The node, or what guards the namespace, can't do it this way. */
  | { readonly is: 'unable'; readonly why: string }
  /** Its time is over: to be begun again. */
  | { readonly is: 'expired' }

/** A short-lived pod that mounts an image, as it's seen. */
export interface FetchPod {
  readonly name: string
  readonly rollout: string
  readonly node: string
  readonly image: string
  /** Without secrets of the namespace: on the node, the image is there for everybody. */
  readonly isPublic: boolean
  readonly fetch: Fetch
}

/** On the pods that fetch: the uid of their rollout. */
export const FETCH_LABEL = 'sidecar-first.dev/fetch'
/** The container, and what the pod's name begins with. */
const NAME = 'sidecar-first-fetch'
/** A pod that has no sandbox after this time is on a kubelet that doesn't know image volumes, in ms. */
const SANDBOX = 60_000

/** Deterministic: creating it twice yields one pod. */
export function fetchName({ metadata }: Pick<SidecarRollout, 'metadata'>, node: string, image: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([metadata.uid, node, image]))
    .digest('hex')
  return `${NAME}-${hash.slice(0, 16)}`
}

interface FetchWanted {
  readonly node: string
  readonly image: string
  readonly pullPolicy: string
  readonly pullSecrets: readonly string[]
  /** An image with a program that prints its help. */
  readonly waiter: string
}

/** A pod that mounts `image` as a volume on `node`, runs nothing of it and ends at once. */
export function fetchPod(rollout: SidecarRollout, { node, image, pullPolicy, pullSecrets, waiter }: FetchWanted) {
  const { apiVersion, kind, metadata, spec } = rollout
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: fetchName(rollout, node, image),
      namespace: metadata.namespace,
      labels: {
        [FETCH_LABEL]: metadata.uid,
        'app.kubernetes.io/name': 'sidecar-first',
        // With another webhook's sidecar in it, it would never end.
        [keys.inject]: 'false',
        'sidecar.istio.io/inject': 'false',
      },
      annotations: { 'linkerd.io/inject': 'disabled', 'consul.hashicorp.com/connect-inject': 'false' },
      ownerReferences: [owner],
    },
    spec: {
      nodeName: node,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      // Twice the deadline, after which a pull that fails is late.
      activeDeadlineSeconds: 2 * spec.strategy.progressDeadlineSeconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      imagePullSecrets: pullSecrets.map((name) => ({ name })),
      tolerations: [{ operator: 'Exists' }],
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: NAME,
          image: waiter,
          imagePullPolicy: 'IfNotPresent',
          args: ['--help'],
          resources: { requests: { cpu: '1m', memory: '8Mi' }, limits: { cpu: '100m', memory: '32Mi' } },
          volumeMounts: [{ name: 'image', mountPath: '/image', readOnly: true }],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
      volumes: [{ name: 'image', image: { reference: image, pullPolicy } }],
    },
  }
}

/** @param now by the API server's clock, in ms */
export function seenFetch({ metadata, spec, status = {} }: WirePod, now: number): FetchPod | undefined {
  const rollout = metadata.labels?.[FETCH_LABEL]
  // Without: an API server before 1.35 has dropped it, so the pod fetches nothing, and is of no use to any node.
  const image = spec.volumes?.find((volume) => volume.image)?.image?.reference ?? ''
  const { nodeName } = spec
  if (rollout === undefined || !nodeName || metadata.deletionTimestamp) return undefined
  const age = now - Date.parse(metadata.creationTimestamp ?? '')
  const deadline = ((spec.activeDeadlineSeconds ?? 0) * 1000) / 2
  const isPublic = (spec.imagePullSecrets ?? []).length === 0
  return { name: metadata.name, rollout, node: nodeName, image, isPublic, fetch: judge(status, image, age, deadline) }
}

function judge(status: NonNullable<WirePod['status']>, image: string, age: number, deadline: number): Fetch {
  const { waiting, terminated } = status.containerStatuses?.[0]?.state ?? {}
  if (status.phase === 'Succeeded' || terminated?.exitCode === 0) return { is: 'there' }
  const { reason = '', message = '' } = waiting ?? terminated ?? {}
  const why = `${reason}: ${message}`
  const sandbox = status.conditions?.some((one) => one.type === 'PodReadyToStartContainers' && one.status === 'True')
  if (status.phase === 'Failed') {
    if (status.reason === 'DeadlineExceeded' && (sandbox || waitsFor(reason) === 'image')) return { is: 'expired' }
    return { is: 'unable', why: terminated ? why : `${status.reason ?? 'Failed'}: ${status.message ?? ''}` }
  }
  // Mounted before the container's own image is pulled: trouble with that one means that ours is there.
  if (waitsFor(reason) === 'image' && isNamedIn(message, image)) {
    if (finalImageReasons.has(reason)) return { is: 'failed', why }
    return { is: 'waiting', why, late: age > deadline && !asksForPatience(message) }
  }
  if (!isStarting(reason)) return { is: 'unable', why }
  // A node that doesn't answer is waited for: its pods can't be touched either.
  if (status.startTime && age > SANDBOX && !sandbox)
    return { is: 'unable', why: 'the kubelet does not start pods with an image volume' }
  return { is: 'fetching' }
}
