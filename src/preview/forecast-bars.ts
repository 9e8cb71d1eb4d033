import { type Doing, meaningOf, type Segment } from '../terminal/chart.ts'
import type { Start, Starts } from './forecast.ts'
import { listed } from './listed.ts'

/** Both predicted starts of a pod on one axis, as charts draw them: all that is to be said of them is in here. */
export interface Forecast {
  readonly without: readonly Bar[]
  readonly with: readonly Bar[]
  /** What the segments mean. */
  readonly legend: readonly { readonly doing: Doing; readonly means: string }[]
}

/** A container's start as a chart shows it. */
export interface Bar extends Start, Told {
  /** From left to right, without a gap. */
  readonly segments: readonly Segment[]
}

interface Told {
  readonly mood: 'good' | 'doubtful' | 'bad'
  /** In a few words, beside the bar; may be empty. */
  readonly note: string
  readonly sentence: string
}

/** What is shown at the end of the axis, when all have started, in steps. */
const tail = 2

export function drawn({ without, with: patched }: Starts): Forecast {
  const end = Math.max(...[...without, ...patched].map(({ ready, hook }) => Math.max(ready, hook?.until ?? 0))) + tail
  const bars = (all: readonly Start[]) => {
    const sidecars = new Set(all.flatMap(({ name, role }) => (role === 'sidecar' ? [name] : [])))
    const leased = new Set(all.flatMap(({ meanwhile = [] }) => meanwhile))
    return all.map((each) => ({ ...each, ...told(each, sidecars, leased), segments: segmentsOf(each, all, end) }))
  }
  const both = { without: bars(without), with: bars(patched) }
  const doing = [...both.without, ...both.with].flatMap(({ segments }) => segments.map((each) => each.doing))
  return { ...both, legend: [...new Set(doing)].map((each) => ({ doing: each, means: meaningOf(each) })) }
}

function segmentsOf(
  { role, start, ready, hook, notReady, outlook }: Start,
  all: readonly Start[],
  end: number,
): Segment[] {
  if (outlook === 'never' || outlook === 'stuck') return [{ from: start, until: end, doing: outlook }]
  if (role === 'init') return [{ from: start, until: ready, doing: 'init' }]
  const missing = all.filter(({ name }) => notReady.includes(name)).map((other) => other.ready)
  const phases: [Doing, number][] = [
    ['early', Math.max(start, ...missing)],
    ['hook', hook?.until ?? start],
    ['starting', ready],
    [outlook ?? 'ready', end],
  ]
  let from = start
  return phases.flatMap(([doing, until]) => {
    if (until <= from) return []
    const segment = { from, until, doing }
    from = until
    return [segment]
  })
}

/** The cases, the worst first. @param leased whose hook returns, and leaves the waiting to the lock */
function told(start: Start, sidecars: ReadonlySet<string>, leased: ReadonlySet<string>): Told {
  const { name, role, after, notReady, outlook, needs } = start
  if (outlook === 'never') {
    const sentence = `${name} never starts: what it waits for needs ${needs}.`
    return { mood: 'bad', note: `never starts: waits for ${needs}`, sentence }
  }
  if (outlook === 'stuck') {
    const note = `waits in vain for ${needs}`
    return { mood: 'bad', note, sentence: `${name} ${note}, which starts later.` }
  }
  if (outlook === 'endless') {
    const sentence = `${name} runs on, so the Job never completes.`
    return { mood: 'doubtful', note: 'runs on: the Job never completes', sentence }
  }
  if (notReady.length > 0) {
    const sentence = `${name} starts before ${areReady(notReady)}.`
    return { mood: 'bad', note: `too early for ${notReady.join(', ')}`, sentence }
  }
  if (outlook === 'doubtful' && role === 'sidecar') {
    const note = `may need ${needs}`
    return { mood: 'doubtful', note, sentence: `${name} ${note}, which starts later.` }
  }
  const waited = after.filter((other) => sidecars.has(other))
  const note = leased.has(name) ? 'the lock waits for it' : noteOf(start, waited)
  if (outlook === 'doubtful') {
    return { mood: 'doubtful', note, sentence: `${name} may start late: what it waits for may need ${needs}.` }
  }
  const sentence = waited.length === 0 ? `${name} starts.` : `${name} starts once ${areReady(waited)}.`
  return { mood: 'good', note, sentence }
}

/** Where nothing is wrong. */
function noteOf({ role, check, hook }: Start, waited: readonly string[]): string {
  if (check === 'none') return 'not waited for'
  if (hook !== undefined && hook.waitsFor.length > 0) return `hook waits for ${hook.waitsFor.join(', ')}`
  return role === 'app' && waited.length > 0 ? `after ${waited.join(', ')}` : ''
}

const areReady = (names: readonly string[]) => `${listed(names)} ${names.length === 1 ? 'is' : 'are'} ready`
