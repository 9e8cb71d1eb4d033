import fastJsonPatch from 'fast-json-patch'
import type { Json, Operation } from '../admission/words/json.ts'

/** Operations with paths from an object's root, of ones with paths from a part of it. */
export function atPath(path: string, patch: readonly Operation[]): Operation[] {
  return patch.map((operation) =>
    operation.op === 'move'
      ? { ...operation, from: path + operation.from, path: path + operation.path }
      : { ...operation, path: path + operation.path },
  )
}

/** A copy of a value with a patch applied. Throws if an operation doesn't fit. */
export function applyPatch<T extends Json>(value: T, patch: readonly Operation[]): T {
  const copy = structuredClone(value)
  for (const operation of patch) applyOperation(copy, operation)
  return copy
}

/** Changes the value itself. */
export function applyOperation(value: Json, operation: Operation): void {
  if (operation.op === 'move') {
    // in two steps: the library's move clones what it meets through JSON text, which has no bigint
    const { removed } = fastJsonPatch.applyOperation<Json>(value, { op: 'remove', path: operation.from })
    fastJsonPatch.applyOperation<Json>(value, { op: 'add', path: operation.path, value: removed as Json })
  } else {
    // cloned, since a later operation may reach into what this one adds
    fastJsonPatch.applyOperation<Json>(value, structuredClone(operation))
  }
}
