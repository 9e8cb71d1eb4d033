import { isDeepStrictEqual } from 'node:util'
import type { V1ObjectMeta } from '@kubernetes/client-node'
import { failureKind, isMissingKind, missingObject } from '../kubernetes/failure.ts'
import type { ClusterObject, Objects, Reference } from '../kubernetes/objects.ts'
import { ExpectedError } from '../terminal/command.ts'
import type { Progress } from '../terminal/progress.ts'

/** An object to apply, with everything that identifies it. */
export type Manifest = Omit<ClusterObject, 'metadata'> &
  Reference & { readonly metadata: V1ObjectMeta & Reference['metadata'] }

export interface Applying {
  readonly objects: Objects
  readonly progress: Progress
  readonly dryRun: boolean
  /** Take fields that others own. */
  readonly force: boolean
  /** Ends the waiting. */
  readonly signal: AbortSignal
}

/** As people name it: `deployment/sidecar-first`. */
export const label = ({ kind, metadata }: Reference): string => `${kind.toLowerCase()}/${metadata.name}`

/** Which of the objects exist now. @throws ExpectedError for a kind that the cluster doesn't have, before anything is changed */
export async function present(manifests: readonly Manifest[], objects: Objects): Promise<Map<Manifest, ClusterObject>> {
  const found = new Map<Manifest, ClusterObject>()
  await Promise.all(
    manifests.map(async (object) => {
      const there = await objects.read(object).catch(explained(object))
      if (there !== undefined) found.set(object, there)
    }),
  )
  return found
}

/**
 * Server-side apply of an object: fields that install never wrote, such as the caBundle that certs keeps, stay.
 * @throws ExpectedError with what to do
 */
export async function applyObject(
  object: Manifest,
  before: ClusterObject | undefined,
  { objects, progress, dryRun, force }: Applying,
): Promise<void> {
  const after = await objects.apply(object, { dryRun, force }).catch((error) => {
    // A dry run creates no namespace.
    if (dryRun && before === undefined && missingObject(error)?.kind === 'namespaces') return undefined
    return explained(object)(error)
  })
  const same = before !== undefined && after !== undefined && isDeepStrictEqual(essence(before), essence(after))
  const state = before === undefined ? 'created' : same ? 'unchanged' : 'configured'
  progress.done(label(object), dryRun ? `${state} (dry run)` : state)
}

/** What counts as a change. */
function essence({
  metadata: { managedFields, resourceVersion, generation, ...metadata } = {},
  ...rest
}: ClusterObject) {
  return { ...rest, metadata }
}

/** Turns a failed call into one with its object and what to do. */
export const explained =
  (object: Reference) =>
  (error: unknown): never => {
    const message = error instanceof Error ? error.message : String(error)
    const kind = failureKind(error)
    if (isMissingKind(error)) {
      throw new ExpectedError(
        'unfit-cluster',
        `the cluster has no kind ${object.kind} (${object.apiVersion}); install what brings it first, or leave its part out`,
      )
    }
    const advice =
      kind === 'conflict'
        ? '\n  Somebody else has set these fields: give them the same values by flags, or take them with --force'
        : kind === 'forbidden'
          ? '\n  Installing takes the rights of a cluster administrator'
          : ''
    throw new ExpectedError(`call-${kind}`, `${label(object)}: ${message}${advice}`, { cause: error })
  }
