import { rolloutNote } from '../src/admission/words/keys.ts'

/**
 * What a rollout notes on a pod in the same patch that changes the image, so that nothing of it is lost with the process:
 * the annotation `rollout.sidecar-first.dev/<container>`.
 */
export interface Note {
  /** The rollout's uid and the generation of its spec. */
  readonly rollout: string
  readonly revision: number
  /** The image before the patch, and the image that was asked for. */
  readonly from: string
  readonly wanted: string
  /** What admission has made of `wanted`; undefined if it left it alone. */
  readonly effective: string | undefined
  /** The image that the pod had before this rollout first touched it. */
  readonly base: string
  /** Whether this takes the pod back. */
  readonly back: boolean
  /** The pod's generation that the patch made. */
  readonly gen: number
  /** The containers that ran before: none of these is the new one. */
  readonly ids: readonly string[]
  /** Containers that ran the wanted image all along: the kubelet hadn't seen the touch that this one takes back. */
  readonly keep: readonly string[]
  /** A container that nobody has seen may have been started in between, so one that isn't in `ids` still has to be proven. */
  readonly between: boolean
  /** What the runtime called the images of `ids`. */
  readonly images: readonly string[]
  /** Whether the pod was Ready before: then it is to be again. */
  readonly ready: boolean
  /** When, by the API server's clock, in ms. */
  readonly at: number
}

export const noteKey = (container: string) => `${rolloutNote}${container}`

export function writeNote({ at, keep, between, images, ready, ...rest }: Note): string {
  const unlessEmpty = (list: readonly string[]) => (list.length > 0 ? list : undefined)
  return JSON.stringify({
    ...rest,
    images: unlessEmpty(images),
    keep: unlessEmpty(keep),
    between: between || undefined,
    ready: ready || undefined,
    at: new Date(at).toISOString(),
  })
}

/** The notes by container. An annotation that isn't a note of ours counts as none: notes are only ever read to be more careful. */
export function readNotes(annotations: Readonly<Record<string, string>>): ReadonlyMap<string, Note> {
  const notes = new Map<string, Note>()
  for (const [key, text] of Object.entries(annotations)) {
    const note = key.startsWith(rolloutNote) ? parse(text) : undefined
    if (note) notes.set(key.slice(rolloutNote.length), note)
  }
  return notes
}

function parse(text: string): Note | undefined {
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof found !== 'object' || found === null) return undefined
  const fields: Readonly<Record<string, unknown>> = { ...found }
  const { rollout, from, wanted, base, at, revision, gen, effective, ids, keep, images } = fields
  if (!isText(rollout) || !isText(from) || !isText(wanted) || !isText(base) || !isText(at)) return undefined
  if (typeof revision !== 'number' || typeof gen !== 'number' || !isTexts(ids)) return undefined
  if (Number.isNaN(Date.parse(at))) return undefined
  return {
    ...{ rollout, revision, from, wanted, effective: isText(effective) ? effective : undefined, base },
    back: fields.back === true,
    gen,
    ids,
    keep: isTexts(keep) ? keep : [],
    between: fields.between === true,
    images: isTexts(images) ? images : [],
    ready: fields.ready === true,
    at: Date.parse(at),
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText)
