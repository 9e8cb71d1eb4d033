/**
 * How many of `total` pods are to be on the image. The partition is what stays; a percentage of it rounds up, but below 100 % one pod goes
 * first: 90 % of 8 pods would round up to all of them.
 */
export function desiredOf(partition: number | string, total: number): number {
  if (typeof partition === 'number') return Math.max(0, total - partition)
  const percent = Number.parseInt(partition, 10)
  const stays = Math.ceil((total * percent) / 100)
  return percent < 100 ? Math.min(total, Math.max(1, total - stays)) : 0
}

/** How many of `total` pods may be unready: a percentage rounds down, but at least to one, or nothing would ever be done. */
export function allowedUnavailable(maxUnavailable: number | string, total: number): number {
  if (typeof maxUnavailable === 'number') return Math.max(1, maxUnavailable)
  return Math.max(1, Math.floor((total * Number.parseInt(maxUnavailable, 10)) / 100))
}

/** How many of `total` may fail; a percentage rounds down. */
export function allowedFailures(maxFailures: number | string, total: number): number {
  return typeof maxFailures === 'number' ? maxFailures : Math.floor((total * Number.parseInt(maxFailures, 10)) / 100)
}
