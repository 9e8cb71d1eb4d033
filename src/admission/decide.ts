import { type Decision, patched, refused, skipped, unchanged, withoutCosts } from './decision.ts'
import { type Absent, type Examined, examine, mayRefuse, requires } from './examine.ts'
import { lockOf } from './hook/lock-names.ts'
import type { Configuration } from './intent/configuration.ts'
import type { Context } from './intent/context.ts'
import { changeOf, patch } from './patch/patch.ts'
import type { Plan } from './plan/plan.ts'
import type { Surroundings } from './pod/surroundings.ts'
import type { Json, Operation } from './words/json.ts'
import { mostAnswer } from './words/limits.ts'
import type { Reason, StartOrder, Warning } from './words/messages.ts'

/**
 * The one function behind `/mutate`, `/preview`, `inject` and the page: from a pod's manifest (any value; anyone may have written it)
 * to what is done to it. Never throws.
 */
export function decide(
  pod: unknown,
  configuration: Configuration,
  surroundings: Surroundings = { job: false },
): Decision {
  const context = { configuration, surroundings }
  const examined = examine(pod, context)
  const audited = auditOf(pod, examined, context)
  if (audited.length === 0) return decisionOn(examined, configuration)
  return decisionOn({ ...examined, warnings: [...audited, ...examined.warnings] }, configuration)
}

/** What rules with `enforce: audit` would refuse, if they were enforced and nothing else refuses the pod. */
function auditOf(pod: unknown, today: Examined, { configuration, surroundings }: Context): readonly Warning[] {
  if (!configuration.rules.audits || (today.kind === 'invalid' && mayRefuse(today, configuration))) return []
  const then = examine(pod, { configuration, surroundings: { ...surroundings, audit: true } })
  const [problem] = then.kind === 'invalid' && then.binding === 'enforced' ? then.problems : []
  return problem === undefined ? [] : [{ kind: 'audited', problem }]
}

function decisionOn(examined: Examined, configuration: Configuration): Decision {
  switch (examined.kind) {
    case 'left':
      return skipped([examined.reason], examined.warnings)
    case 'invalid':
      return refuse(examined, configuration)
    case 'planned': {
      const { plan, warnings } = examined
      const operations = patch(plan, examined.pod)
      const absent = requires(examined, configuration) ? examined.absent : []
      const { tiers } = plan
      const has = answerOf(operations)
      if (has > mostAnswer)
        return refuse({ ...examined, problems: [{ kind: 'answer-too-large', has, most: mostAnswer }] }, configuration)
      const order = startOrder(plan)
      const awaited = toBeInjected(examined.absent)
      const nobody = tiers.length === 0
      if (operations.length === 0) {
        if (nobody) return skipped(whyNobody(examined.absent, awaited), warnings, absent)
        const reasons = [{ kind: 'starts-already', ...order } as const, ...held(tiers), ...awaited]
        return unchanged(reasons, tiers, warnings, absent)
      }
      const change = changeOf(plan, operations)
      // Without sidecars, what an earlier pass left goes: a lock that nobody opens, say.
      const reasons = nobody
        ? whyNobody(examined.absent, awaited)
        : [{ kind: 'starts', ...order } as const, ...held(tiers), ...awaited]
      return patched(reasons, { tiers, change, unlocked: unlocked(plan), patch: operations, warnings, absent })
    }
    default:
      return examined satisfies never
  }
}

/** Of those that an injector is known to add. */
function toBeInjected(absent: readonly Absent[]): readonly Reason[] {
  const names = new Set(absent.flatMap(({ name, expected }) => (expected ? [name] : [])))
  return [...names].map((name) => ({ kind: 'to-be-injected', name }))
}

/** Why no container is a sidecar, though some are asked for. */
function whyNobody(absent: readonly Absent[], awaited: readonly Reason[]): readonly Reason[] {
  if (absent.length === 0) return [{ kind: 'star-alone' }]
  return absent.every(({ expected }) => expected) ? awaited : [{ kind: 'none-there' }]
}

/** The characters that an answer with these operations has at least: it isn't built if they are too many. Base64 makes four of three. */
function answerOf(operations: readonly Operation[]): number {
  let characters = 0
  for (const { path, ...rest } of operations) {
    characters += leastOfOperation + path.length + ('value' in rest ? charactersIn(rest.value) : 0)
    if (characters * (4 / 3) > mostAnswer) break
  }
  return Math.ceil(characters * (4 / 3))
}

/** `{"op":"add","path":""},` */
const leastOfOperation = 23

function charactersIn(value: Json): number {
  if (typeof value === 'string') return value.length + 3
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, each) => sum + charactersIn(each), 0)
}

/** The containers that lack a variable; one that is only put in another place isn't missing. */
function unlocked({ lock }: Plan): readonly string[] {
  return [...lock.variables].flatMap(([{ name, variables }, { add }]) => {
    const there = new Set(variables().map(lockOf))
    return add.every((key) => there.has(key)) ? [] : [name]
  })
}

/** An invalid pod is refused, or left untouched with a warning if nobody relies on the order. */
function refuse(
  examined: Pick<Extract<Examined, { kind: 'invalid' }>, 'problems' | 'warnings' | 'binding'>,
  configuration: Configuration,
) {
  const { problems, warnings } = examined
  if (mayRefuse(examined, configuration)) return refused(problems, warnings)
  const left = problems.map((problem) => ({ kind: 'left-untouched', problem }) as const)
  return skipped(problems, [...left, ...withoutCosts(warnings)])
}

/** The sidecars that the kubelet waits for by itself. */
function held(tiers: Plan['tiers']): readonly Reason[] {
  return tiers
    .flat()
    .flatMap(({ name, every, delay, already = false }) =>
      every === undefined
        ? []
        : [{ kind: 'startup-probe-holds', name, every, already, ...(delay !== undefined && { delay }) }],
    )
}

function startOrder({ tiers, order: { containers } }: Plan): StartOrder {
  const first = tiers.map((tier) =>
    tier.map(({ name, kind, rule }) => ({
      name,
      waitedFor: kind !== 'none',
      ...(rule === undefined ? {} : { rule }),
    })),
  )
  const sidecars = new Set(tiers.flat().map(({ name }) => name))
  // Whatever precedes all of them, such as a mesh proxy, starts even earlier.
  const behind = containers.findLastIndex(({ name }) => sidecars.has(name)) + 1
  return { first, rest: containers.slice(behind).map(({ name }) => name) }
}
