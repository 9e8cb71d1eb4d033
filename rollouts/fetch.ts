import { createHash } from 'node:crypto'
import { keys } from '../src/admission/keys.ts'
import { imageReasons } from './sidecar.ts'
import type { SidecarRollout } from './types.ts'

/** How the fetching of an image to a node is doing. */
export type Fetch =
  | { readonly is: 'fetching' }
  | { readonly is: 'there' }
  /** The image can't be had. */
  | { readonly is: 'failed'; readonly why: string }
  /** The node, or what guards the namespace, can't do it this way. */
  | { readonly is: 'unable'; readonly why: string }

/** A short-lived pod that mounts an image, as it's seen. */
export interface FetchPod {
  readonly name: string
  readonly rollout: string
  readonly node: string
  readonly image: string
  readonly fetch: Fetch
}

/** On the pods that fetch: the uid of their rollout. */
export const FETCH_LABEL = 'sidecar-first.dev/fetch'
const CONTAINER = 'sidecar-first-fetch'
/** An image that can't be pulled is tried again for this long, in ms: the kubelet's second attempt is after 10 s. */
export const RETRIES = 15_000
/** A pod that has no sandbox by then is on a kubelet that doesn't know image volumes, in ms. */
const SANDBOX = 60_000

/** The same for the same: made twice, it's there once. */
export function fetchName({ metadata }: SidecarRollout, node: string, image: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([metadata.uid, node, image]))
    .digest('hex')
  return `sidecar-first-fetch-${hash.slice(0, 16)}`
}

/**
 * A pod that mounts `image` as a volume on `node`, runs nothing of it and ends at once. @param waiter an image with a program that prints
 * its help
 */
export function fetchPod(
  rollout: SidecarRollout,
  {
    node,
    image,
    pullPolicy,
    pullSecrets,
    waiter,
  }: { node: string; image: string; pullPolicy: string; pullSecrets: readonly string[]; waiter: string },
) {
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
        // Whatever others would put into it must stay out: it would never end.
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
      activeDeadlineSeconds: spec.strategy.progressDeadlineSeconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      imagePullSecrets: pullSecrets.map((name) => ({ name })),
      tolerations: [{ operator: 'Exists' }],
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: CONTAINER,
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

/** The parts of the API's Pod that are read, as they come over the wire. */
export interface WireFetchPod {
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
  }
  readonly spec: {
    readonly nodeName?: string
    readonly volumes?: readonly { readonly image?: { readonly reference?: string } }[]
  }
  readonly status?: {
    readonly phase?: string
    readonly reason?: string
    readonly message?: string
    /** Set by the kubelet when it takes the pod on. */
    readonly startTime?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly containerStatuses?: readonly {
      readonly state?: {
        readonly waiting?: { readonly reason?: string; readonly message?: string }
        readonly terminated?: { readonly exitCode?: number; readonly reason?: string; readonly message?: string }
      }
    }[]
  }
}

/** @param now by the API server's clock, in ms */
export function seenFetch({ metadata, spec, status = {} }: WireFetchPod, now: number): FetchPod | undefined {
  const rollout = metadata.labels?.[FETCH_LABEL]
  const image = spec.volumes?.find((volume) => volume.image)?.image?.reference
  const { nodeName } = spec
  if (rollout === undefined || image === undefined || !nodeName || metadata.deletionTimestamp) return undefined
  const age = now - Date.parse(metadata.creationTimestamp ?? '')
  return { name: metadata.name, rollout, node: nodeName, image, fetch: judge(status, image, age) }
}

const starting: ReadonlySet<string> = new Set(['', 'ContainerCreating', 'PodInitializing'])

function judge(status: NonNullable<WireFetchPod['status']>, image: string, age: number): Fetch {
  const { waiting, terminated } = status.containerStatuses?.[0]?.state ?? {}
  if (status.phase === 'Succeeded' || terminated?.exitCode === 0) return { is: 'there' }
  const { reason = '', message = '' } = waiting ?? terminated ?? {}
  const why = `${reason}: ${message}`
  // Mounted before the container's own image is pulled: trouble with that one means that ours is there.
  if (imageReasons.has(reason) && message.includes(image)) {
    const final = reason === 'ErrImageNeverPull' || reason === 'InvalidImageName' || age > RETRIES
    return final ? { is: 'failed', why } : { is: 'fetching' }
  }
  const sandbox = status.conditions?.some((one) => one.type === 'PodReadyToStartContainers' && one.status === 'True')
  if (status.phase === 'Failed') {
    if (status.reason === 'DeadlineExceeded' && sandbox)
      return { is: 'failed', why: `${image} was not fetched in time` }
    return { is: 'unable', why: terminated ? why : `${status.reason ?? 'Failed'}: ${status.message ?? ''}` }
  }
  if (!starting.has(reason)) return { is: 'unable', why }
  // A node that doesn't answer is waited for: its pods can't be touched either.
  if (status.startTime && age > SANDBOX && !sandbox)
    return { is: 'unable', why: 'the kubelet does not start a pod with an image volume' }
  return { is: 'fetching' }
}
