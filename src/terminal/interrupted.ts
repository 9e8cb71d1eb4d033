/** Aborts at Ctrl-C or SIGTERM, so that a command can clean up. */
export function interrupted(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => controller.abort())
  return controller.signal
}
