/** How the kubelet asks a startupProbe, in seconds; `delay`: before the first time, if it waits. */
export interface Asked {
  readonly every: number
  readonly delay?: number
}

/** `asked every 10 s, first after 30 s` */
export const askedText = ({ every, delay = 0 }: Asked): string =>
  `asked every ${every} s${delay > 0 ? `, first after ${delay} s` : ''}`

export const askedOf = (probe: { readonly periodSeconds: number; readonly initialDelaySeconds: number }): Asked => ({
  every: probe.periodSeconds,
  ...(probe.initialDelaySeconds > 0 && { delay: probe.initialDelaySeconds }),
})

/** How much later than its sidecar is ready an app may start, in seconds. */
export const latest = ({ every, delay = 0 }: Asked): number => Math.max(every, delay)
