import { watch } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import type { Certificate, Sources } from './certificate.ts'
import type { LiveConfiguration } from './configuration.ts'
import type { Tallies } from './tally.ts'

/** Where the outcome of a reload is reported. */
interface Reports {
  readonly log: Logger
  readonly tallies: Tallies
}

/** Reloads certificate and configuration when their files change, and every `every` ms in case a change went unnoticed; until `signal` aborts. */
export function watchSources(
  { pair, clientCa }: Sources,
  certificate: Certificate,
  configuration: LiveConfiguration,
  { every, signal, ...reports }: Reports & { readonly every: number; readonly signal: AbortSignal },
): void {
  const files = [...('made' in pair ? [] : [pair.cert, pair.key]), ...(clientCa === undefined ? [] : [clientCa])]
  const follow = (paths: readonly string[], changed: () => Promise<unknown>) =>
    watchFiles(paths, changed, every, signal)
  follow(files, () => certificate.refresh())
  const { path, notices } = configuration
  if (path !== undefined) follow([path], () => reload(configuration, reports))
  if (notices.length > 0) reports.log.warn({ notices }, 'configuration')
}

async function reload(configuration: LiveConfiguration, { log, tallies }: Reports): Promise<void> {
  const refreshed = await configuration.refresh()
  if (refreshed === undefined) return
  if (refreshed.taken) {
    log.info({ hash: configuration.hash }, 'configuration reloaded')
    if (refreshed.notices.length > 0) log.warn({ notices: refreshed.notices }, 'configuration')
  } else {
    tallies.reloadFailures.configuration++
    // A file can have as many problems as lines.
    log.error({ problems: refreshed.problems.slice(0, 20) }, 'configuration not reloaded; the last good one stays')
  }
}

/**
 * Calls `changed` when something happens in the folder of one of these files, and every `every` ms in any case. The folder, because
 * Kubernetes swaps a symlink beside the files; the clock, because a network file system may report nothing and a watch may be refused. What
 * happens during a call is followed by one more: the call may have looked before it, and two at once would each report what they find.
 */
function watchFiles(
  paths: readonly string[],
  changed: () => Promise<unknown>,
  every: number,
  signal: AbortSignal,
): void {
  let soon: NodeJS.Timeout | undefined
  let [running, again] = [false, false]
  const look = async () => {
    again = true
    if (running) return
    running = true
    try {
      for (; again; await changed()) again = false
    } finally {
      running = false
    }
  }
  const later = () => {
    clearTimeout(soon)
    soon = setTimeout(look, 50)
  }
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    try {
      watch(folder, { persistent: false, signal }, later).on('error', () => {})
    } catch {
      // The clock below goes on.
    }
  }
  const clock = setInterval(look, every).unref()
  signal.addEventListener('abort', () => {
    clearTimeout(soon)
    clearInterval(clock)
  })
}
