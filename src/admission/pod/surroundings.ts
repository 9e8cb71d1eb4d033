import type { Metadata } from './pod.ts'

/**
 * `unlocked`: webhook configurations whose other call may reach a server that refuses locked pods, so that `auto` locks nothing. `unnamed`: one that
 * refuses those whose lock names a sidecar. `final`: the last look at a pod that a replica with another configuration may have patched.
 */
type Asker = 'unlocked' | 'unnamed' | 'final'

/** What is known of a pod beside its manifest. */
export interface Surroundings {
  /** Who asks, if it isn't about what becomes of the pod here and now. */
  readonly asker?: Asker
  /** A Job makes the pod; the pod's own ownerReferences say so too. */
  readonly job: boolean
  /** The sets of rules whose namespaceSelector selects the pod's namespace; absent: none. */
  readonly sets?: readonly string[]
  /** The namespace that the pod is created in, where that is known better than by its manifest. */
  readonly into?: string
  /** Whether rules with `enforce: audit` count as enforced: what would become of the pod then. */
  readonly audit?: boolean
  /** Its namespace's, where manifests show it; injectors go by it. */
  readonly namespace?: Metadata
  /** Of a Deployment, seconds. */
  readonly progressDeadlineSeconds?: number
  /** Of a Job, seconds; a pod may carry its own. */
  readonly activeDeadlineSeconds?: number
}
