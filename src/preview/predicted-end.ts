import { unwrapEnd } from '../admission/hook/end.ts'
import { kindOf } from '../admission/pod/kind.ts'
import type { Container, Spec } from '../admission/pod/pod.ts'
import type { Code } from '../admission/words/values.ts'
import { meaningOf, type Segment } from '../terminal/chart.ts'
import type { Forecast } from './forecast-bars.ts'
import { listed } from './listed.ts'
import { type Ending, endingCode, endingText } from './notices.ts'

/** How a pod's containers would end when it is deleted, as charts draw it. Times are steps, as of a start. */
export interface End {
  readonly bars: readonly EndBar[]
  readonly legend: Forecast['legend']
  /** What a regular or a native sidecar means for an app that needs it to the last. */
  readonly messages: readonly { readonly code: Code; readonly text: string }[]
}

interface EndBar {
  readonly name: string
  readonly note: string
  readonly segments: readonly Segment[]
}

/** In steps: an app drains, a sidecar exits at once. */
const takes = { preStop: 2, drain: 4, exit: 1 } as const

/**
 * Regular containers get their preStop, then SIGTERM, all at the same moment; native sidecars get SIGTERM when those have ended, the last one first, but
 * their preStop with all the others (pkg/kubelet/kuberuntime: killContainer runs the hook before it waits for its turn). A preStop of ours waits in front
 * of the container's own.
 * @param starts how the containers of `spec` start
 */
export function predictEnd(spec: Spec, starts: Forecast['with'], isListed: (name: string) => boolean): End {
  const all = new Map([...spec.initContainers, ...spec.containers].map((each) => [each.name, each]))
  const ending = starts.flatMap(({ name, role, outlook }): Ender[] => {
    const container = all.get(name)
    if (container === undefined || role === 'init' || outlook === 'never') return []
    return [{ name, role, isNative: kindOf(container) === 'native', ...preStopOf(container) }]
  })
  const apps = ending.filter(({ role }) => role === 'app')
  const natives = ending.filter(({ isNative }) => isNative).reverse()
  const steps = stepsOf(ending, natives)
  const bySurprise = ending.filter(
    (each) => each.role === 'sidecar' && !each.isNative && !each.hasPreStop && each.waitsFor.length === 0,
  )
  const missed = bySurprise.filter(({ name }) => isListed(name))
  const bars = ending.map((each): EndBar => {
    const { name, role, isNative, hasPreStop, waitsFor } = each
    const { from, until } = steps(each)
    const over = { from, until, doing: 'ending' } as const
    const segments = [...(from > 0 ? [{ from: 0, until: from, doing: 'ready' } as const] : []), over]
    if (waitsFor.length > 0)
      return { name, note: `${hasPreStop ? 'its preStop ' : ''}after ${listed(waitsFor)}`, segments }
    if (isNative)
      return { name, note: hasPreStop ? 'its preStop runs at once' : 'after all regular containers', segments }
    if (role !== 'app' || missed.length === 0) return { name, note: hasPreStop ? 'its preStop first' : '', segments }
    const alone = { from: takes.exit, until, doing: 'alone' } as const
    return {
      name,
      note: `without ${missed.map((other) => other.name).join(', ')}`,
      segments: [{ ...over, until: takes.exit }, alone],
    }
  })
  const told = (sidecars: readonly Ender[], kind: Ending['kind']): Ending[] =>
    sidecars.length > 0 && apps.length > 0 ? [{ kind, sidecars: namesOf(sidecars), apps: namesOf(apps) }] : []
  const early = natives.filter(
    ({ name, hasPreStop, waitsFor }) => hasPreStop && waitsFor.length === 0 && isListed(name),
  )
  const doing = new Set(bars.flatMap(({ segments }) => segments.map((each) => each.doing)))
  return {
    bars,
    legend: [...doing].map((each) => ({ doing: each, means: meaningOf(each) })),
    messages: [...told(missed, 'ends-together'), ...told(early, 'prestop-at-once')].map((each) => ({
      code: endingCode(each),
      text: endingText(each),
    })),
  }
}

/** A container as it ends. */
interface Ender {
  readonly name: string
  readonly role: Forecast['with'][number]['role']
  readonly isNative: boolean
  /** Of its own. */
  readonly hasPreStop: boolean
  readonly waitsFor: readonly string[]
}

function preStopOf({ hasPreStop, preStop }: Container): Pick<Ender, 'hasPreStop' | 'waitsFor'> {
  const hook = preStop()
  const found = hook === 'unreadable' ? undefined : unwrapEnd(hook)
  return found?.ours === undefined
    ? { hasPreStop, waitsFor: [] }
    : { hasPreStop: found.original !== undefined, waitsFor: found.waitsFor }
}

/** When each begins to end and when it has ended. */
function stepsOf(ending: readonly Ender[], natives: readonly Ender[]) {
  const known = new Map<Ender, { readonly from: number; readonly until: number }>()
  const steps = (each: Ender): { readonly from: number; readonly until: number } => {
    const found = known.get(each)
    if (found !== undefined) return found
    const { role, hasPreStop, isNative, waitsFor } = each
    // Anybody may have written a hook that looks like ours: whoever waits for himself doesn't wait.
    known.set(each, { from: 0, until: takes.exit })
    const lasting = (others: readonly Ender[]) => Math.max(0, ...others.map((other) => steps(other).until))
    const awaited = new Set(waitsFor)
    const waited = lasting(ending.filter(({ name }) => awaited.has(name)))
    const own = (hasPreStop ? takes.preStop : 0) + (role === 'app' || hasPreStop ? takes.drain : takes.exit)
    const turn = isNative
      ? lasting([...ending.filter((other) => !other.isNative), ...natives.slice(0, natives.indexOf(each))])
      : 0
    const from = isNative && !hasPreStop ? turn : waited
    const until = isNative ? Math.max(turn, hasPreStop ? waited + takes.preStop : 0) + takes.exit : waited + own
    known.set(each, { from, until })
    return { from, until }
  }
  return steps
}

const namesOf = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name)
