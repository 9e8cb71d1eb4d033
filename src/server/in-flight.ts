import type { ServerResponse } from 'node:http'

/** What requests may hold at one time, so that bodies and answers can't fill the memory. */
interface Limits {
  readonly requests: number
  /** Of bodies and answers. A body that came in one piece, so with 64 KiB at most, isn't counted. */
  readonly bytes: number
}

interface Holder {
  readonly client: string
  /** Undefined once it has left. */
  response: ServerResponse | undefined
  bytes: number
  giveWay: (() => void) | undefined
  readonly yields: boolean
}

export type InFlight = ReturnType<typeof createInFlight>

/**
 * The requests being received or answered. Nobody is refused while there is room. When there is none, the client that holds most gives way,
 * with the request on which nothing has happened for longest: so stalled bodies never keep out a request that comes at once, and one
 * client can't keep out another, while a single one (all API servers behind one proxy, say) may use everything.
 */
export function createInFlight(limits: Limits) {
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
    /**
     * A place, or undefined if nobody can give way. `giveWay` is called when another request takes it over. One that `yields` gives way before
     * all others, and only its like give way to it.
     */
    enter(client: string, response: ServerResponse, giveWay: () => void, yields = false) {
      if (holders.size >= limits.requests && !makeRoom(() => 1, yields)) {
        turnedAway++
        return undefined
      }
      entered++
      const holder: Holder = { client, response, bytes: 0, giveWay, yields }
      holders.add(holder)
      return {
        /**
         * Something has happened: the request now holds so many bytes, and gives way by `giveWay`, or not at all if that is left out. To make
         * room for the bytes a request gives way at once, maybe this one.
         */
        hold(now: number, giveWay?: () => void): void {
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
    /** Makes the answer of each request in flight close its connection. */
    closeAfter(): void {
      for (const { response } of holders) if (response !== undefined) response.shouldKeepAlive = false
    },
    /** What there is now, and how many so far had a place, were refused on arrival, and gave theirs up to make room. */
    counts: () => ({ requests: holders.size, bytes, entered, turnedAway, gaveWay }),
  }
}
