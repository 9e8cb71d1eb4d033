import { kindOf } from '../admission/pod/kind.ts'
import type { Spec } from '../admission/pod/pod.ts'
import type { Code } from '../admission/words/values.ts'
import { meaningOf, type Segment } from '../terminal/chart.ts'
import type { Forecast } from './forecast-bars.ts'
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
 * their preStop with all the others (pkg/kubelet/kuberuntime: killContainer runs the hook before it waits for its turn).
 * @param starts how the containers of `spec` start
 */
export function predictEnd(spec: Spec, starts: Forecast['with'], isListed: (name: string) => boolean): End {
  const all = new Map([...spec.initContainers, ...spec.containers].map((each) => [each.name, each]))
  const ending = starts.flatMap(({ name, role, outlook }) => {
    const container = all.get(name)
    if (container === undefined || role === 'init' || outlook === 'never') return []
    return [{ name, role, hasPreStop: container.hasPreStop, isNative: kindOf(container) === 'native' }]
  })
  const apps = ending.filter(({ role }) => role === 'app')
  const bySurprise = ending.filter((each) => each.role === 'sidecar' && !each.isNative && !each.hasPreStop)
  const missed = bySurprise.filter(({ name }) => isListed(name))
  const until = ({ role, hasPreStop }: (typeof ending)[number]) =>
    (hasPreStop ? takes.preStop : 0) + (role === 'app' || hasPreStop ? takes.drain : takes.exit)
  const regular = Math.max(0, ...ending.filter(({ isNative }) => !isNative).map(until))
  const natives = ending.filter(({ isNative }) => isNative).reverse()
  const bars = ending.map((each): EndBar => {
    const { name, role, isNative, hasPreStop } = each
    if (isNative) {
      const turn = regular + natives.indexOf(each) * takes.exit
      const over = { from: hasPreStop ? 0 : turn, until: turn + takes.exit, doing: 'ending' } as const
      const note = hasPreStop ? 'its preStop runs at once' : 'after all regular containers'
      return {
        name,
        note,
        segments: [...(hasPreStop ? [] : [{ from: 0, until: turn, doing: 'ready' } as const]), over],
      }
    }
    const over = { from: 0, until: until(each), doing: 'ending' } as const
    if (role !== 'app' || missed.length === 0)
      return { name, note: hasPreStop ? 'its preStop first' : '', segments: [over] }
    const alone = { from: takes.exit, until: over.until, doing: 'alone' } as const
    return {
      name,
      note: `without ${missed.map((other) => other.name).join(', ')}`,
      segments: [{ ...over, until: takes.exit }, alone],
    }
  })
  const told = (sidecars: typeof ending, kind: Ending['kind']): Ending[] =>
    sidecars.length > 0 && apps.length > 0 ? [{ kind, sidecars: namesOf(sidecars), apps: namesOf(apps) }] : []
  const early = natives.filter(({ name, hasPreStop }) => hasPreStop && isListed(name))
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

const namesOf = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name)
