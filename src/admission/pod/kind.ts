import type { Container, Spec } from './pod.ts'

/** `init` runs to its end before what comes behind it; `native` is an init container that stays; `regular` is one of `containers`. */
export type Kind = 'init' | 'native' | 'regular'

/** By the list in which a container stands, and the restartPolicy of its own. */
export function kindOf({
  list,
  restartPolicy,
}: Pick<Container, 'list'> & { readonly restartPolicy?: string | undefined }): Kind {
  if (list === 'containers') return 'regular'
  return restartPolicy === 'Always' ? 'native' : 'init'
}

/** Of a regular container: its own outranks the pod's. */
export const restartPolicyOf = ({ restartPolicy }: Container, spec: Pick<Spec, 'restartPolicy'>): string =>
  restartPolicy || spec.restartPolicy

export const isNative = (container: Container): boolean => kindOf(container) === 'native'
