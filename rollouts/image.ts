/** Whether two references name the same image in full: `envoy` is `docker.io/library/envoy:latest`. */
export const sameName = (a: string, b: string): boolean => a === b || full(a) === full(b)

/** Whether a runtime's status proves that a container runs this image. Most often it doesn't: it may have any of the image's names. */
export function proves(status: { readonly image: string; readonly imageId: string }, wanted: string): boolean {
  const digest = /@([^@]+)$/.exec(wanted)?.[1]
  if (digest !== undefined && status.imageId.endsWith(digest)) return true
  return !status.image.startsWith('sha256:') && sameName(status.image, wanted)
}

/**
 * Whether a kubelet's message is about this image. It has the name as it was asked for, or the runtime's: in full, and without the tag where there
 * is a digest.
 */
export const isNamedIn = (message: string, image: string): boolean =>
  message.includes(image) || message.includes(full(image))

/** Whether admission may have made the first of the second: the same repository of another registry, with the same tag or a digest. */
export function mayBeMadeOf(image: string, of: string): boolean {
  const [a, b] = [full(image), full(of)].map((name) => /([^/:@]+)(?::([^/:@]+))?(@.+)?$/.exec(name) ?? [])
  return a?.[1] === b?.[1] && (a?.[3] !== undefined || a?.[2] === b?.[2]) && !sameName(image, of)
}

function full(reference: string): string {
  const [first = '', ...rest] = reference.split('/')
  const registry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  const [host, path] = registry
    ? [first === 'index.docker.io' ? 'docker.io' : first, rest.join('/')]
    : ['docker.io', reference]
  const name = host === 'docker.io' && !path.includes('/') ? `library/${path}` : path
  if (name.includes('@')) return `${host}/${name.replace(/:[^:/@]+@/, '@')}`
  return `${host}/${/:[^/:]+$/.test(name) ? name : `${name}:latest`}`
}
