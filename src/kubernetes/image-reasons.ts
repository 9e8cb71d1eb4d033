/** The reasons of a container that waits because its image isn't there, as the kubelet has them (pkg/kubelet/images/types.go). */
export const imageReasons: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
])
