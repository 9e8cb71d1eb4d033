import { isDeepStrictEqual } from 'node:util'
import type { V1ObjectMeta } from '@kubernetes/client-node'
import { failureKind } from '../kubernetes/failure.ts'
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

/**
 * Applies an object, by server-side apply: fields that nobody here ever wrote, such as the caBundle that certs keeps, stay.
 * @throws InstallError with what to do, of a conflict or a kind that the cluster doesn't have
 */
export async function applyObject(object: Manifest, { objects, progress, dryRun, force }: Applying): Promise<void> {
  try {
    const before = await objects.read(object)
    const after = await objects.apply(object, { dryRun, force })
    const state =
      before === undefined ? 'created' : isDeepStrictEqual(essence(before), essence(after)) ? 'unchanged' : 'configured'
    progress.done(label(object), dryRun ? `${state} (dry run)` : state)
  } catch (error) {
    throw explained(error, object)
  }
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
  const unknown = kind === 'missing' || message.includes('Unrecognized API version and kind')
  if (unknown && object.apiVersion.includes('.')) {
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
