import { type ChildProcess, fork } from 'node:child_process'
import type { Configuration } from '../admission/intent/configuration.ts'
import type { PreviewRequest } from './answer.ts'
import { type Answer, failure } from './failure.ts'
import { overTime } from './over-time.ts'
import type { Task } from './process.ts'

/** A megabyte of a Helm chart's YAML takes about a second and 100 MiB; with busy neighbours it may take several times as long, but no more CPU. */
export const previewLimits = {
  /** Milliseconds of CPU that a request may take. */
  time: 10_000,
  /** Milliseconds after which a request is given up, even if it got no CPU. */
  patience: 60_000,
  /** MiB of JavaScript values; the process takes up to 200 more. */
  heap: 256,
  /** Requests that may wait for their turn. */
  waiting: 8,
  /** Milliseconds without a request after which the process ends and frees its memory. */
  idle: 60_000,
}

interface Job {
  readonly request: PreviewRequest
  readonly configuration: Configuration
  readonly signal: AbortSignal | undefined
  readonly resolve: (answer: Answer) => void
}

/**
 * Answers previews in a separate process, one at a time, within limits. A process, not a thread: V8 ends the whole process of a thread
 * whose heap overflows in native code, as `JSON.parse` of seven megabytes of `{}` does.
 */
export class Previewer {
  readonly #failed: (what: string) => void
  readonly #limits: typeof previewLimits
  readonly #waiting: Job[] = []
  #running: Job | undefined
  #child: ChildProcess | undefined
  /** The configuration that the process has. */
  #known: Configuration | undefined
  #timer: NodeJS.Timeout | undefined

  /**
   * Starts no process yet.
   * @param failed is told what is our own fault
   */
  constructor(failed: (what: string) => void, limits = previewLimits) {
    this.#failed = failed
    this.#limits = limits
  }

  /** Never rejects. If `signal` aborts because nobody waits any more, a request that waits for its turn is dropped. */
  answer(request: PreviewRequest, configuration: Configuration, signal?: AbortSignal): Promise<Answer> {
    if (this.#waiting.length >= this.#limits.waiting) {
      return Promise.resolve(
        later('too-many-requests', `${this.#waiting.length} previews are waiting already; try again`),
      )
    }
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const job = { request, configuration, signal, resolve }
    this.#waiting.push(job)
    signal?.addEventListener('abort', () => {
      const at = this.#waiting.indexOf(job)
      if (at >= 0) this.#waiting.splice(at, 1)
    })
    if (this.#running === undefined) this.#next()
    return promise
  }

  /** Starts the process for a request that is about to come. */
  warm(): void {
    if (this.#running !== undefined) return
    try {
      this.#child ??= this.#start()
    } catch {
      // The request that comes reports it.
    }
    this.#next()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }

  #start(): ChildProcess {
    const { time, heap } = this.#limits
    const started = fork(script(), [String(time)], {
      execArgv: [`--max-old-space-size=${heap}`, '--max-semi-space-size=8'],
      // Only what starting needs.
      env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
      // Sets and maps of the configuration pass.
      serialization: 'advanced',
      // What V8 prints about an exhausted heap helps nobody.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    started.unref()
    started.channel?.unref()
    started.on('message', (answer: Answer) => this.#finish(started, answer))
    started.on('error', (error) => this.#lost(started, error.message))
    started.on('exit', (code, signal) => this.#lost(started, `ended with ${signal ?? code}`, signal))
    this.#known = undefined
    return started
  }

  #next(): void {
    clearTimeout(this.#timer)
    const { idle, patience } = this.#limits
    this.#running = this.#waiting.shift()
    if (this.#running === undefined) {
      this.#timer = setTimeout(() => this.stop(), idle).unref()
      return
    }
    try {
      this.#child ??= this.#start()
      const { request, configuration } = this.#running
      const task: Task = configuration === this.#known ? { request } : { request, configuration }
      this.#known = configuration
      this.#child.send(task)
    } catch (error) {
      // No memory for another process.
      this.#ours(String(error))
      return
    }
    this.#timer = setTimeout(() => this.#finish(undefined, tooBusy(patience)), patience)
  }

  /** @param from the process that goes on; without it, the process has to go */
  #finish(from: ChildProcess | undefined, answer: Answer): void {
    if (from !== undefined && from !== this.#child) return
    if (from === undefined) this.stop()
    this.#running?.resolve(answer)
    this.#next()
  }

  #lost(from: ChildProcess, what: string, signal?: NodeJS.Signals | null): void {
    if (from !== this.#child) return
    this.#child = undefined
    if (this.#running === undefined) return
    const { time, heap } = this.#limits
    if (signal === overTime) this.#finish(undefined, tooMuch(`take more than ${time / 1000} s of CPU`))
    // V8 aborts if the heap is full; the kernel kills if the container's memory is.
    else if (signal === 'SIGABRT' || signal === 'SIGKILL') {
      this.#finish(undefined, tooMuch(`take more than ${heap} MiB`))
    } else this.#ours(what)
  }

  #ours(what: string): void {
    this.#failed(what)
    this.#finish(undefined, failure('server-fault', 'internal error; the log of sidecar-first has more'))
  }
}

const tooBusy = (patience: number): Answer =>
  later('machine-busy', `this machine is too busy to preview that within ${patience / 1000} s; try again`)

const later = (kind: 'too-many-requests' | 'machine-busy', why: string): Answer => ({
  ...failure(kind, why),
  headers: { 'retry-after': '1' },
})

const tooMuch = (what: string): Answer =>
  failure('too-costly', `the manifests ${what} to preview; send fewer at a time`)

/** Beside this file, under the name that scripts/bundle.ts gives it in the bundle. */
const script = (): URL =>
  new URL(import.meta.url.endsWith('.ts') ? './process.ts' : './preview-process.mjs', import.meta.url)
