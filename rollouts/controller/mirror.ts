import { follow, type WireObject } from '../../src/kubernetes/follow.ts'

export interface Mirrored<T> {
  /** It's there, or has changed. May get what it has already, or what is older than that. */
  put(object: T): void
  gone(name: string, namespace: string, version: number): void
  /** A list is complete: what it doesn't name wasn't there at this version. */
  listed(objects: readonly { name: string; namespace: string }[], version: number): void
  isCalm?(): boolean
}

type Following<T extends WireObject> = Omit<Parameters<typeof follow<T>>[0], 'into'>

/** Keeps a copy of what is at a path, by name. */
export function mirror<T extends WireObject>({
  into,
  ...following
}: Following<T> & { into: Mirrored<T> }): Promise<void> {
  let names: { name: string; namespace: string }[] | undefined
  return follow<T>({
    ...following,
    into: {
      begins() {
        names = []
      },
      put(object) {
        const { name, namespace = '' } = object.metadata
        names?.push({ name, namespace })
        into.put(object)
      },
      gone({ metadata: { name, namespace = '', resourceVersion } }) {
        into.gone(name, namespace, Number(resourceVersion))
      },
      listed(version) {
        into.listed(names ?? [], version)
        names = undefined
      },
      isCalm: () => into.isCalm?.() ?? false,
    },
  })
}
