import type { ServerResponse } from 'node:http'

/** Requests being received or answered: at most `limit`, so that bodies can't fill the memory. */
export interface InFlight {
  /** A place, or undefined where there is none. `evict` is called when a slow sender's place goes to somebody else. */
  enter(response: ServerResponse, evict: () => void): Place | undefined
  /** Has the answer of each that is in flight close its connection. */
  closeAfter(): void
  readonly count: number
  /** How many were turned away so far. */
  readonly refused: number
}
export interface Place {
  leave(): void
}

/** `patience` in ms: who still sends after that long gives way once all places are taken. */
export function createInFlight(limit: number, patience: number, now: () => number): InFlight {
  // In the order of arrival, as a Set keeps it.
  const places = new Set<
    Place & { readonly since: number; readonly response: ServerResponse; readonly evict: () => void }
  >()
  let refused = 0
  return {
    enter(response, evict) {
      if (places.size >= limit) {
        const [oldest] = places
        if (oldest && now() - oldest.since > patience) {
          oldest.leave()
          oldest.evict()
        }
      }
      if (places.size >= limit) {
        refused++
        return undefined
      }
      const place = { since: now(), response, evict, leave: () => void places.delete(place) }
      places.add(place)
      return place
    },
    closeAfter() {
      for (const { response } of places) response.shouldKeepAlive = false
    },
    get count() {
      return places.size
    },
    get refused() {
      return refused
    },
  }
}
