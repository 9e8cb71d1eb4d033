import type { ServerResponse } from 'node:http'

/** What requests may hold at one time, so that bodies and answers can't fill the memory. */
interface InFlightLimits {
  readonly requests: number
  /** Of bodies and answers. A body that came in one piece, so with 64 KiB at most, isn't counted. */
  readonly bytes: number
}

/**
 * The requests being received or answered. Nobody is refused while there is room. When there is none, the client that holds most gives way,
 * with the request on which nothing has happened for longest: so stalled bodies never keep out a request that comes at once, and one
 * client can't keep out another, while a single one (all API servers behind one proxy, say) may use everything.
 */
export interface InFlight {
  /**
   * A place, or undefined if nobody can give way. `giveWay` is called when another request takes it over. One that `yields` gives way before all
   * others, and only its like give way to it.
   */
  enter(client: string, response: ServerResponse, giveWay: () => void, yields?: boolean): Place | undefined
  /** Makes the answer of each request in flight close its connection. */
  closeAfter(): void
  readonly count: number
  readonly bytes: number
  /** How many requests have had a place so far. */
  readonly entered: number
  /** How many have been refused so far on arrival, since nobody could give way. */
  readonly turnedAway: number
  /** How many have been refused so far, on arrival or to make room. */
  readonly refused: number
}

interface Place {
  /**
   * Something has happened: the request now holds `bytes`, and gives way by `giveWay`, or not at all if that is left out. To make room for the
   * bytes a request gives way at once, maybe this one.
   */
  hold(bytes: number, giveWay?: () => void): void
  leave(): void
}

interface Holder {
  readonly client: string
  /** Undefined once it has left. */
  response: ServerResponse | undefined
  bytes: number
  giveWay: (() => void) | undefined
  readonly yields: boolean
}

export function createInFlight(limits: InFlightLimits): InFlight {
  // In the order in which something happened on them last, as a Set keeps it.
  const holders = new Set<Holder>()
  let bytes = 0
  let entered = 0
  let turnedAway = 0
  let gaveWay = 0

  function leave(holder: Holder): void {
    if (!holders.delete(holder)) return
    bytes -= holder.bytes
    // A Set that grows or shrinks leaves its old table behind, which V8 collects rarely. Meanwhile that must not keep a whole request.
    holder.response = undefined
    holder.giveWay = undefined
  }

  /** Whether a request has given way. `share`: how much of what is short a request holds. */
  function makeRoom(share: (holder: Holder) => number, forYielding = false): boolean {
    const yielding = [...holders].filter((holder) => holder.yields && holder.giveWay !== undefined && share(holder) > 0)
    return giveWayOf(yielding, share) || (!forYielding && giveWayOf([...holders], share))
  }

  function giveWayOf(holders: readonly Holder[], share: (holder: Holder) => number): boolean {
    const shares = new Map<string, number>()
    for (const holder of holders) shares.set(holder.client, (shares.get(holder.client) ?? 0) + share(holder))
    let chosen: Holder | undefined
    let most = 0
    for (const holder of holders) {
      const held = shares.get(holder.client) ?? 0
      if (holder.giveWay === undefined || share(holder) === 0 || held <= most) continue
      chosen = holder
      most = held
    }
    if (chosen === undefined) return false
    const { giveWay } = chosen
    leave(chosen)
    gaveWay++
    giveWay?.()
    return true
  }

  return {
    enter(client, response, giveWay, yields = false) {
      if (holders.size >= limits.requests && !makeRoom(() => 1, yields)) {
        turnedAway++
        return undefined
      }
      entered++
      const holder: Holder = { client, response, bytes: 0, giveWay, yields }
      holders.add(holder)
      return {
        hold(now, giveWay) {
          if (!holders.delete(holder)) return
          holders.add(holder)
          bytes += now - holder.bytes
          holder.bytes = now
          holder.giveWay = giveWay
          while (bytes > limits.bytes && makeRoom((each) => each.bytes, yields));
        },
        leave: () => leave(holder),
      }
    },
    closeAfter() {
      for (const { response } of holders) if (response !== undefined) response.shouldKeepAlive = false
    },
    get count() {
      return holders.size
    },
    get bytes() {
      return bytes
    },
    get entered() {
      return entered
    },
    get turnedAway() {
      return turnedAway
    },
    get refused() {
      return turnedAway + gaveWay
    },
  }
}
