import { isDeepStrictEqual } from 'node:util'
import type { V1ObjectMeta } from '@kubernetes/client-node'
import { failureKind, isMissingKind, missingObject } from '../kubernetes/failure.ts'
import type { ClusterObject, Objects, Reference } from '../kubernetes/objects.ts'
import { InstallError } from './error.ts'
import type { Progress } from './progress.ts'

/** An object to apply: it has all that names it. */
export type Manifest = Omit<ClusterObject, 'metadata'> &
  Reference & { readonly metadata: V1ObjectMeta & Reference['metadata'] }

export interface Applying {
  readonly objects: Objects
  readonly progress: Progress
  readonly dryRun: boolean
  /** Take fields that somebody else owns. */
  readonly force: boolean
}

/** As people name it: `deployment/sidecar-first`. */
export const label = ({ kind, metadata }: Reference): string => `${kind.toLowerCase()}/${metadata.name}`

/** What there is of the objects now. @throws InstallError before anything is changed, of a kind that the cluster doesn't have */
export async function present(manifests: readonly Manifest[], objects: Objects): Promise<Map<Manifest, ClusterObject>> {
  const found = new Map<Manifest, ClusterObject>()
  await Promise.all(
    manifests.map(async (object) => {
      const there = await objects.read(object).catch((error) => {
        throw explained(error, object)
      })
      if (there !== undefined) found.set(object, there)
    }),
  )
  return found
}

/**
 * Applies an object, by server-side apply: fields that nobody here ever wrote, such as the caBundle that certs keeps, stay.
 * @throws InstallError with what to do
 */
export async function applyObject(
  object: Manifest,
  before: ClusterObject | undefined,
  { objects, progress, dryRun, force }: Applying,
): Promise<void> {
  const after = await objects.apply(object, { dryRun, force }).catch((error) => {
    // A dry run has made no namespace.
    if (dryRun && before === undefined && missingObject(error)?.kind === 'namespaces') return undefined
    throw explained(error, object)
  })
  const same = before !== undefined && after !== undefined && isDeepStrictEqual(essence(before), essence(after))
  const state = before === undefined ? 'created' : same ? 'unchanged' : 'configured'
  progress.done(label(object), dryRun ? `${state} (dry run)` : state)
}

/** What a change of shows. */
function essence({
  metadata: { managedFields, resourceVersion, generation, ...metadata } = {},
  ...rest
}: ClusterObject) {
  return { ...rest, metadata }
}

/** A failed call with the object that it was about, and a way on. */
export function explained(error: unknown, object: Reference): Error {
  const message = error instanceof Error ? error.message : String(error)
  const kind = failureKind(error)
  if (isMissingKind(error)) {
    return new InstallError(
      `the cluster has no kind ${object.kind} (${object.apiVersion}); install what brings it first, or leave its part out`,
    )
  }
  const advice =
    kind === 'conflict'
      ? '\nSomebody else has set these fields: give them the same values by flags, or take them with --force'
      : kind === 'forbidden'
        ? '\nInstalling takes the rights of a cluster administrator'
        : ''
  return new InstallError(`${label(object)}: ${message}${advice}`, { cause: error })
}
