import { rolloutNote } from '../src/admission/keys.ts'

/**
 * What a rollout notes on a pod in the same patch that changes the image, so that nothing of it is lost with the process:
 * the annotation `rollout.sidecar-first.dev/<container>`.
 */
export interface Touch {
  /** The rollout's uid and the generation of its spec. */
  readonly rollout: string
  readonly generation: number
  readonly from: string
  readonly to: string
  /** Whether this put an earlier image back. */
  readonly back: boolean
  /** The container that ran the image before, or was the last to; empty if none had, or it was on its way to another image. */
  readonly container: string
  /** The id of that one's image, as the runtime reports it; empty where `container` is. */
  readonly imageId: string
  /** When, by the API server's clock, in ms. */
  readonly at: number
}

export const touchKey = (container: string) => `${rolloutNote}${container}`

export const writeTouch = ({ at, ...rest }: Touch): string =>
  JSON.stringify({ ...rest, at: new Date(at).toISOString() })

/** By container. An annotation that isn't one of ours is as good as none: it's only ever read to be more careful. */
export function readTouches(annotations: Readonly<Record<string, string>>): ReadonlyMap<string, Touch> {
  const touches = new Map<string, Touch>()
  for (const [key, text] of Object.entries(annotations)) {
    const touch = key.startsWith(rolloutNote) ? parse(text) : undefined
    if (touch) touches.set(key.slice(rolloutNote.length), touch)
  }
  return touches
}

function parse(text: string): Touch | undefined {
  try {
    const { rollout, generation, from, to, back, container, imageId, at } = JSON.parse(text)
    const texts = [rollout, from, to, container, imageId, at].every((one) => typeof one === 'string')
    const time = Date.parse(at)
    if (!texts || typeof generation !== 'number' || Number.isNaN(time)) return undefined
    return { rollout, generation, from, to, back: back === true, container, imageId, at: time }
  } catch {
    return undefined
  }
}
