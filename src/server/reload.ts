import type { Logger } from 'pino'
import type { Certificate, Sources } from './certificate.ts'
import type { LiveConfiguration } from './configuration.ts'
import type { Tallies } from './tally.ts'
import { type Running, watchFiles } from './watch.ts'

/** Where the outcome of a reload is reported. */
interface Reports {
  readonly log: Logger
  readonly tallies: Tallies
}

/** Reloads certificate and configuration when their files change, and every `every` ms in case a change went unnoticed. */
export function watchSources(
  { pair, clientCa }: Sources,
  certificate: Certificate,
  configuration: LiveConfiguration,
  every: number,
  reports: Reports,
): Running {
  const files = [...('made' in pair ? [] : [pair.cert, pair.key]), ...(clientCa === undefined ? [] : [clientCa])]
  const watched = [watchFiles(files, every, () => void certificate.refresh())]
  const { path, notices } = configuration
  if (path !== undefined) watched.push(watchFiles([path], every, () => void reload(configuration, reports)))
  if (notices.length > 0) reports.log.warn({ notices }, 'configuration')
  return {
    stop() {
      for (const each of watched) each.stop()
    },
  }
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
