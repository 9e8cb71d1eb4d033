import type { Json } from '../words/json.ts'

/**
 * The parts of a Pod (core/v1) that admission reads, translated from a manifest that anyone may have written: a value of the wrong
 * type becomes a problem that names its path. Everything else stays in the manifest, which is never written back.
 */
export interface Pod {
  readonly metadata: Metadata
  readonly spec: Spec
}

export interface Metadata {
  /** `name`, or `generateName` with `*`, or empty. */
  readonly name: string
  readonly namespace: string
  readonly annotations: ReadonlyMap<string, Json>
  readonly labels: ReadonlyMap<string, Json>
  /** Whether there is a map to add an annotation to. */
  readonly hasAnnotations: boolean
  readonly exists: boolean
  readonly ownedByJob: boolean
}

export interface Spec {
  readonly containers: readonly Container[]
  readonly initContainers: readonly Container[]
  readonly hasInitContainers: boolean
  readonly volumes: readonly Volume[]
  readonly restartPolicy: string
  readonly hostNetwork: boolean
  /** The field by which its containers see each other's processes. */
  readonly sharesProcesses: 'shareProcessNamespace' | 'hostPID' | undefined
  readonly runtimeClassName: string
  /** Whether it asks for a node that no kubelet of Kubernetes runs: Virtual Kubelet's own selector or toleration. */
  readonly virtualNode: () => boolean
  readonly windows: boolean
  /** What holds for containers that say nothing else. */
  readonly runAs: () => RunAs
  /** Seconds. */
  readonly gracePeriod: () => number
  /** Seconds; a Job's pod may carry it. */
  readonly activeDeadlineSeconds: number | undefined
}

/** What a securityContext names, 0 included. */
export interface RunAs {
  readonly user: number | undefined
  readonly group: number | undefined
}

export interface Volume {
  readonly name: string
  readonly emptyDir: boolean
  /** Whether its emptyDir is in memory. */
  readonly memory: boolean
  readonly image: boolean
  /** Of an image volume; empty if it is none. */
  readonly imageReference: string
}

export interface Container {
  /** Its place: `spec[list][index]`. */
  readonly list: 'containers' | 'initContainers'
  readonly index: number
  readonly name: string
  readonly image: string
  readonly command: readonly string[]
  readonly args: readonly string[]
  /** The values of `$(NAME)` in an exec probe. */
  readonly env: () => ReadonlyMap<string, string>
  /** What only a lock asks of `env`: all that it lists, in order. */
  readonly variables: () => readonly Variable[]
  readonly ports: readonly ContainerPort[]
  readonly startupProbe: Probe | undefined
  readonly readinessProbe: Probe | undefined
  readonly hasLivenessProbe: boolean
  /** Its port and path, if it asks over HTTP: only suggestions want to know. */
  readonly liveness: () =>
    | { readonly path: string; readonly port: number | string; readonly https: boolean }
    | undefined
  /** What `lifecycle` holds; undefined if there is none. */
  readonly lifecycleKeys: readonly string[] | undefined
  readonly hasPreStop: boolean
  /** Only one who plans the end wants to know. `unreadable`: the API server may know more of hooks than we. */
  readonly preStop: () => Hook | 'unreadable' | undefined
  readonly postStart: Hook | undefined
  readonly terminationMessagePath: string
  /** Of the container itself, which outranks the pod's; `Always` makes an init container a native sidecar. */
  readonly restartPolicy: string
  /** Whether some of its exit codes start it again, whatever that says. */
  readonly hasRestartRules: boolean
  /** Only our init container wants to know. */
  readonly runAs: () => RunAs
  /** The capabilities that it drops by name, beside `ALL`: only our init container wants to know. */
  readonly dropped: () => readonly string[]
  /** `limits` and `requests` alone. */
  readonly resources: { readonly [key: string]: Json }
  readonly mounts: readonly { readonly name: string; readonly mountPath: string }[]
  /** What only an enforced rule asks of the mounts, so it is read when it does. */
  readonly mountDetails: () => readonly MountDetail[]
}

export interface Variable {
  readonly name: string
  /** Whether it has neither a value nor a source: what a client leaves of a source that it doesn't know. */
  readonly isBare: boolean
  /** Where its value comes from, if that is a file of a volume. */
  readonly file:
    | { readonly volume: string; readonly path: string; readonly key: string; readonly optional: boolean }
    | undefined
}

export interface MountDetail {
  readonly name: string
  readonly mountPath: string
  readonly readOnly: boolean
  /** Only a part of the volume: it has a subPath. */
  readonly partial: boolean
}

export interface ContainerPort {
  readonly name: string
  readonly number: number
  /** Whether it takes connections: not UDP, nor SCTP. */
  readonly tcp: boolean
}

export interface Header {
  readonly name: string
  readonly value: string
}

export interface Probe {
  readonly handler: ProbeHandler
  readonly initialDelaySeconds: number
  readonly periodSeconds: number
  readonly timeoutSeconds: number
  readonly successThreshold: number
  readonly failureThreshold: number
}

export type ProbeHandler =
  | ({ readonly kind: 'httpGet' } & HttpGet)
  | { readonly kind: 'tcpSocket'; readonly host: string; readonly port: number | string }
  | { readonly kind: 'grpc'; readonly port: number; readonly service: string }
  | { readonly kind: 'exec'; readonly command: readonly string[] }
  | { readonly kind: 'none' }

export interface HttpGet {
  readonly scheme: 'HTTP' | 'HTTPS'
  readonly host: string
  readonly port: number | string
  readonly path: string
  readonly httpHeaders: readonly Header[]
}

/** A PostStart or a preStop hook. */
export type Hook =
  | { readonly kind: 'exec'; readonly command: readonly string[] }
  | { readonly kind: 'sleep'; readonly seconds: number }
  | ({ readonly kind: 'httpGet' } & HttpGet)
  | { readonly kind: 'tcpSocket'; readonly host: string; readonly port: number | string }
