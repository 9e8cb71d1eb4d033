/** When something happened. */
export interface Moment {
  /** Milliseconds since 1970, by the observer's clock. */
  readonly at: number
  /** Known to the millisecond; otherwise it may be up to a second later. */
  readonly exact: boolean
}

/** A time over the wire is a text, whatever the client's types say. Some who write one leave it null: nobody knows it. */
type Time = Date | string | null | undefined

export function msOf(time: Time): number | undefined {
  if (time === undefined || time === null) return undefined
  const ms = new Date(time).getTime()
  return Number.isNaN(ms) ? undefined : ms
}

/** A time that is known to the second, as all of a status are. */
export const coarse = (at: number | undefined): Moment | undefined =>
  at === undefined ? undefined : { at, exact: false }

/** Whether one is before the other, with some ms to spare; where a time is cut to the second, it may be. */
export const before = (one: Moment, other: Moment, spare = 0): boolean =>
  one.at <= other.at + (one.exact && other.exact ? spare : 1000)

/** Whether one is before the other even if a time is cut to the second. */
export const surelyBefore = (one: Moment, other: Moment): boolean =>
  one.at + (one.exact ? 0 : 1000) < other.at + (one.exact && other.exact ? 1 : 0)

/** How long it may be from one to another at most, in ms. */
export const mostBetween = (from: Moment, to: Moment): number => to.at + (to.exact ? 0 : 1000) - from.at
