import { Worker } from 'node:worker_threads'

/** The signal that ends a process that took too much CPU; it is the kernel's own for that. */
export const overTime = 'SIGXCPU'

/** From `start` to `stop` this process may take so many ms of CPU. */
interface CpuLimit {
  start(): void
  stop(): void
}

/**
 * Watched by a thread: nothing else of a process that is busy runs any more. CPU, not time: on a busy machine the same work takes longer, and
 * nobody is to blame for that.
 */
export function limitCpu(milliseconds: number): CpuLimit {
  const shared = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)
  const end = new Float64Array(shared).fill(Number.POSITIVE_INFINITY)
  new Worker(watch, { eval: true, workerData: shared }).unref()
  return {
    start() {
      const { user, system } = process.cpuUsage()
      end[0] = (user + system) / 1000 + milliseconds
    },
    stop() {
      end[0] = Number.POSITIVE_INFINITY
    },
  }
}

/** As text: a separate file would have to be found beside the bundle. */
const watch = `
const end = new Float64Array(require('node:worker_threads').workerData)
setInterval(() => {
  const { user, system } = process.cpuUsage()
  if ((user + system) / 1000 > end[0]) process.kill(process.pid, '${overTime}')
}, 100)
`
