/** What is known of a pod beside its manifest. */
export interface Surroundings {
  /** A Job makes the pod; the pod's own ownerReferences say so too. */
  readonly job: boolean
  /** The sets of rules whose namespaceSelector selects the pod's namespace; absent: none. */
  readonly sets?: readonly string[]
  /** Of a Deployment, seconds. */
  readonly progressDeadlineSeconds?: number
  /** Of a Job, seconds; a pod may carry its own. */
  readonly activeDeadlineSeconds?: number
}
