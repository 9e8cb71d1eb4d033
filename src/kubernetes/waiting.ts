/** What keeps a waiting container from starting: its image isn't there, its environment can't be made, or it can't be created or started. */
export type Waiting = 'image' | 'configuration' | 'start'

/** The kubelet's reasons (pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime). */
const meanings: ReadonlyMap<string, Waiting> = new Map([
  ['ErrImagePull', 'image'],
  ['ImagePullBackOff', 'image'],
  ['ErrImageNeverPull', 'image'],
  ['InvalidImageName', 'image'],
  ['ImageInspectError', 'image'],
  ['RegistryUnavailable', 'image'],
  ['SignatureValidationFailed', 'image'],
  ['CreateContainerConfigError', 'configuration'],
  ['CreateContainerError', 'start'],
  ['RunContainerError', 'start'],
  ['PreCreateHookError', 'start'],
  ['PreStartHookError', 'start'],
])

/** undefined for all that passes by itself: a container that is being created, a back-off. */
export const waitsFor = (reason: string): Waiting | undefined => meanings.get(reason)
