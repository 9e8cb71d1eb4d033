import { mostEvents } from '../seen/observe.ts'
import type { ChartBar } from '../terminal/chart.ts'
import { howMany, type ScannedWorkload, type Survey } from './survey.ts'

/** A pod can have hundreds of sidecars, and nobody reads as many lines. */
const mostLines = 20

/** The first of them, and in words how many are left out. */
export const few = <T>(all: readonly T[]): { readonly first: readonly T[]; readonly more: string | undefined } => ({
  first: all.slice(0, mostLines),
  more: all.length > mostLines ? `and ${all.length - mostLines} more; -o json has them all` : undefined,
})

/** How a pod of a workload started, as the timeline draws it. */
export interface Picture {
  readonly of: ScannedWorkload
  readonly pod: string
  readonly bars: readonly ChartBar[]
  /** Somebody has written more events about the pod than are read. */
  readonly crowded?: true
}

/** What limits a picture; completes "started like this". */
export const limitOf = ({ crowded }: Picture): string =>
  crowded ? ` by its status alone, since there are more than ${mostEvents} events about it` : ''

/** The numbers of a scan. */
interface Counts {
  readonly workloads: number
  readonly pods: number
  readonly known: number
  readonly unguarded: number
  /** Manifests that are guarded only where the webhook patches them. */
  readonly asks: number
  /** Workloads of which harm was seen. */
  readonly sure: number
  /** Others, of which it is probable. */
  readonly probable: number
}

export function countsOf({ workloads, all }: Survey): Counts {
  const count = (holds: (workload: ScannedWorkload) => boolean) => workloads.filter(holds).length
  return {
    workloads: all.workloads,
    pods: all.pods,
    known: all.known,
    unguarded: count(({ standing }) => standing === 'unguarded'),
    asks: count(({ standing }) => standing === 'asks'),
    sure: count((each) => howMany(each, 'sure') > 0),
    probable: count((each) => howMany(each, 'sure') === 0 && howMany(each, 'probable') > 0),
  }
}

export function headline(survey: Survey): string {
  const { workloads, known, unguarded, asks, sure, probable, pods } = countsOf(survey)
  const all = `${workloads} workload${workloads === 1 ? '' : 's'}, ${known} with a known sidecar`
  if (known === 0) return all
  const exposed = `, ${unguarded === 0 ? 'none' : unguarded} of them unguarded`
  const asking = asks === 0 ? '' : `, ${asks} guarded only once the webhook patches ${asks === 1 ? 'it' : 'them'}`
  if (pods === 0) return all + exposed + asking
  const events = survey.limits.some(({ kind }) => kind === 'no-events')
    ? 'without events'
    : 'events cover the last hour'
  const perhaps = probable > 0 ? `, ${probable} more probably` : ''
  return `${all}${exposed}; ${sure === 0 ? 'none' : sure} show${sure === 1 ? 's' : ''} harm${perhaps} (${events})`
}

/** Whether there is anything to do or to know about it. */
export const isTold = ({ standing, seen }: ScannedWorkload): boolean =>
  (standing !== 'guarded' && standing !== 'asks') || seen.length > 0

/** How many there are of the others. */
export function fineText(some: number, { all, workloads }: Survey): string {
  const [are, ask] = some === 1 ? [' is', 'asks'] : ['s are', 'ask']
  const asking = workloads.some(({ standing }) => standing === 'asks') ? `, or ${ask} for it` : ''
  return `${some} more workload${are} guarded${all.pods > 0 ? ', and no harm was seen' : asking}`
}

/** What `--fail-on` takes: each holds if the ones before it do. */
export const failures = ['sure', 'probable', 'unguarded', 'never'] as const

export function hasFailed(survey: Survey, on: (typeof failures)[number]): boolean {
  const { sure, probable, unguarded } = countsOf(survey)
  switch (on) {
    case 'sure':
      return sure > 0
    case 'probable':
      return sure + probable > 0
    case 'unguarded':
      return sure + probable + unguarded > 0
    case 'never':
      return false
    default:
      return on satisfies never
  }
}
