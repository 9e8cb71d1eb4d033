import { type ChildProcess, fork } from 'node:child_process'
import type { Configuration } from '../admission/configuration.ts'
import type { PreviewRequest } from './answer.ts'
import { type Answer, failure } from './failure.ts'
import type { Task } from './process.ts'

/** Answers previews in a process of its own, one after the other, within limits. */
export interface Previewer {
  /** Never rejects. Once `signal` says that nobody waits any more, a request that waits for its turn is dropped. */
  answer(request: PreviewRequest, configuration: Configuration, signal?: AbortSignal): Promise<Answer>
  /** Starts the process, if it doesn't run, for a request that is about to come. */
  warm(): void
  stop(): void
}

export interface PreviewLimits {
  /** Milliseconds that a request may take. */
  readonly time: number
  /** MiB of JavaScript values; the process takes up to 200 more. */
  readonly heap: number
  /** Requests that may wait for their turn. */
  readonly waiting: number
  /** Milliseconds without a request after which the process ends, and gives its memory back. */
  readonly idle: number
}
/** A megabyte of a Helm chart's YAML takes about a second and 100 MiB. */
export const previewLimits: PreviewLimits = { time: 10_000, heap: 256, waiting: 8, idle: 60_000 }

interface Job {
  readonly request: PreviewRequest
  readonly configuration: Configuration
  readonly signal: AbortSignal | undefined
  readonly resolve: (answer: Answer) => void
}

/**
 * `failed` hears of what is our fault. A process, not a thread: V8 ends the whole process of a thread whose heap overflows in native code, as
 * `JSON.parse` of seven megabytes of `{}` does.
 */
export function createPreviewer(failed: (what: string) => void, limits: PreviewLimits = previewLimits): Previewer {
  const waiting: Job[] = []
  let running: Job | undefined
  let child: ChildProcess | undefined
  let known: Configuration | undefined
  let timer: NodeJS.Timeout | undefined

  function start(): ChildProcess {
    const started = fork(script(), {
      execArgv: [`--max-old-space-size=${limits.heap}`, '--max-semi-space-size=8'],
      env: compileCache(),
      // Sets and maps of the configuration pass.
      serialization: 'advanced',
      // What V8 says of an exhausted heap helps nobody.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    started.unref()
    started.channel?.unref()
    started.on('message', (answer: Answer) => finish(started, answer))
    started.on('error', (error) => lost(started, error.message))
    started.on('exit', (code, signal) => lost(started, `ended with ${signal ?? code}`, signal))
    known = undefined
    return started
  }

  function next(): void {
    clearTimeout(timer)
    running = waiting.shift()
    if (running === undefined) {
      timer = setTimeout(stop, limits.idle).unref()
      return
    }
    try {
      child ??= start()
      const { request, configuration } = running
      const task: Task = configuration === known ? { request } : { request, configuration }
      known = configuration
      child.send(task)
    } catch (error) {
      // No memory for another process.
      ours(String(error))
      return
    }
    timer = setTimeout(() => {
      finish(undefined, tooMuch(`take longer than ${limits.time / 1000} s`))
    }, limits.time)
  }

  /** `from`: the process that goes on; undefined: it has to go. */
  function finish(from: ChildProcess | undefined, answer: Answer): void {
    if (from !== undefined && from !== child) return
    if (from === undefined) stop()
    running?.resolve(answer)
    next()
  }

  function lost(from: ChildProcess, what: string, signal?: NodeJS.Signals | null): void {
    if (from !== child) return
    child = undefined
    if (running === undefined) return
    // V8 aborts where the heap is full; the kernel kills where the container's memory is.
    if (signal === 'SIGABRT' || signal === 'SIGKILL') finish(undefined, tooMuch(`take more than ${limits.heap} MiB`))
    else ours(what)
  }

  function ours(what: string): void {
    failed(what)
    finish(undefined, failure(500, 'internal error; the log of sidecar-first has more'))
  }

  function stop(): void {
    clearTimeout(timer)
    child?.kill('SIGKILL')
    child = undefined
  }

  return {
    answer(request, configuration, signal) {
      if (waiting.length >= limits.waiting) {
        const busy = failure(429, `${waiting.length} previews are waiting already; try again`)
        return Promise.resolve({ ...busy, headers: { 'retry-after': '1' } })
      }
      const { promise, resolve } = Promise.withResolvers<Answer>()
      const job = { request, configuration, signal, resolve }
      waiting.push(job)
      signal?.addEventListener('abort', () => {
        const at = waiting.indexOf(job)
        if (at >= 0) waiting.splice(at, 1)
      })
      if (running === undefined) next()
      return promise
    },
    warm() {
      if (running !== undefined) return
      try {
        child ??= start()
      } catch {
        // The request that comes hears of it.
      }
      next()
    },
    stop,
  }
}

const tooMuch = (what: string): Answer => failure(422, `the manifests ${what} to preview; send fewer at a time`)

/** Beside this file, under the name that scripts/bundle.ts gives it in the bundle. */
const script = (): URL =>
  new URL(import.meta.url.endsWith('.ts') ? './process.ts' : './preview-process.mjs', import.meta.url)

/** Of the environment only what starting takes. */
function compileCache(): Record<string, string> {
  const { NODE_COMPILE_CACHE: cache } = process.env
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }
}
