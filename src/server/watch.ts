import { type FSWatcher, watch } from 'node:fs'
import { dirname } from 'node:path'

/** Something that runs until it is stopped. */
export interface Running {
  stop(): void
}

/**
 * Calls `changed` when something happens in the folder of one of these files, and every `every` ms in any case. The folder, because
 * Kubernetes swaps a symlink beside the files; the clock, because a network file system may report nothing and a watch may be refused.
 */
export function watchFiles(paths: readonly string[], every: number, changed: () => void): Running {
  let soon: NodeJS.Timeout | undefined
  const later = () => {
    clearTimeout(soon)
    soon = setTimeout(changed, 50)
  }
  const watchers: FSWatcher[] = []
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    try {
      watchers.push(watch(folder, { persistent: false }, later).on('error', () => {}))
    } catch {
      // The clock below goes on.
    }
  }
  const clock = setInterval(changed, every).unref()
  return {
    stop() {
      clearTimeout(soon)
      clearInterval(clock)
      for (const watcher of watchers) watcher.close()
    },
  }
}
