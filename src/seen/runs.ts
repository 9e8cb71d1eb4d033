import { coarse, type Moment } from './moment.ts'
import type { LiveContainer, Run } from './pod.ts'

/** A container's first run; undefined where its status has lost that one, or it never had any. */
export function firstRun({ runs, restarts }: Pick<LiveContainer, 'runs' | 'restarts'>): Run | undefined {
  return runs.length > restarts ? runs[restarts] : undefined
}

/** When a run began that really was one. */
export const beginOf = (run: Run | undefined): Moment | undefined =>
  run && run.how !== 'never-ran' ? coarse(run.began) : undefined

/** An app that fails so soon after its start may have missed its sidecar, in ms. */
const soon = 60_000

interface FirstFailure {
  readonly exitCode: number
  /** How long it ran. */
  readonly ms: number
}

/**
 * How a container's first run ended, if it was soon and with an error of its own: not killed for its memory, and not failed to start at all, which
 * have other causes. Undefined too where the status has lost that run.
 */
export function firstFailure(container: LiveContainer): FirstFailure | undefined {
  const { how, began, ended, exitCode } = firstRun(container) ?? {}
  if (how !== 'failed' || began === undefined || ended === undefined || exitCode === undefined) return undefined
  return ended - began > soon ? undefined : { exitCode, ms: ended - began }
}

/** It runs, or ended in peace. */
export const isWell = ({ state, runs }: LiveContainer): boolean =>
  state === 'running' || (state === 'ended' && runs[0]?.exitCode === 0)
