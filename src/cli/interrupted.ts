/** Ends at Ctrl-C or SIGTERM, so that what was made for the waiting is cleared away. */
export function interrupted(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => controller.abort())
  return controller.signal
}
