import type { V1Node } from '@kubernetes/client-node'

/**
 * Nobody has published anything under these names yet: whoever takes them decides what your nodes would run.
 * @param images under the names that stand for no flag of the user
 * @param nodes of the cluster, if it was asked: an image that all of them have isn't pulled
 */
export function unowned(images: readonly string[], nodes: readonly V1Node[] = []): readonly string[] {
  const onNode = nodes.map(({ status }) => new Set(status?.images?.flatMap(({ names }) => names ?? [])))
  const everywhere = (image: string) => onNode.length > 0 && onNode.every((names) => names.has(fullName(image)))
  return images.filter((image) => !everywhere(image))
}

/** As nodes list it. */
const fullName = (image: string) => (image.startsWith('docker.io/') ? image : `docker.io/${image}`)
