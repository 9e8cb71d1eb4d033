import type { Rule } from '../admission/intent/rule.ts'
import { keys, mirrorKey } from '../admission/words/keys.ts'
import { any, type Clause, clausesOf, costOf, isOneOf, isPresent, longest } from './clauses.ts'

/**
 * What the API server allows one expression of `matchConditions`, from its sources (1.36): nothing is estimated when it is
 * created, but cel-go's parser takes 100,000 code points, and running it may cost 1,000,000 (PerCallLimit in
 * apiserver/pkg/apis/cel). What costs more is an error, which rejects the pod under `Fail`.
 */
const mostCharacters = 100_000
const mostCost = 1_000_000
/** The part that isn't about containers: a thousand annotation keys of 317 characters cost 100 each. */
const costOfAnnotations = 150_000
const mostAnnotations = 1_000
/** For each container: the loop and the two sizes. */
const costOfLoop = 20
/** A pod with more containers than an expression can look at is sent unexamined; an expression for fewer isn't worth having. */
const leastContainers = 8
const mostContainers = 1_000
/**
 * Type-checking takes time by the square of the clauses: 100 with a podSelector take the API server about half a second for each
 * webhook, 300 more than two (measured on 1.36).
 */
const mostClauses = 100

/**
 * When the API server calls a webhook, in CEL. `fits`: whether it looks at the rules; if not, every pod that hasn't opted out is sent.
 * The condition for sending a pod: it has a key of ours (if `annotations` says so), or a container that one of the
 * rules names. A pod too large to look at is sent, too. At most `room` characters long, if the rules fit.
 */
export function condition(rules: readonly Rule[], annotations: boolean, room = mostCharacters) {
  // One that is audited has to see whom it would bind.
  const binds = ({ enforce, audit }: Rule) => enforce || audit
  const enforced = clausesOf(rules.filter(binds))
  const optional = clausesOf(rules.filter((rule) => !binds(rule)))
  const clauses = [...enforced, ...optional]
  const perContainer = 2 * costOfLoop + costOf(clauses)
  const containers = Math.min(Math.floor((mostCost - costOfAnnotations) / perContainer), mostContainers)
  const write = (matched: (clauses: readonly Clause[]) => string) => {
    const asked = [...(annotations ? [annotated] : []), ...(optional.length > 0 ? [matched(optional)] : [])]
    const willing = asked.length > 0 ? [`!${optedOut} &&\n${any(asked)}`] : []
    // An enforced rule's mark counts even if the pod opts out.
    const marked = annotations ? [isMarked] : []
    const bound = [...marked, ...(enforced.length > 0 ? [matched(enforced)] : [])]
    return `!(${isPresent('annotations', mirrorKey)}) &&\n${any([...willing, ...bound])}`
  }
  if (containers >= leastContainers && clauses.length <= mostClauses) {
    const expression = write((some) => anyContainer(some, containers))
    if ([...expression].length <= Math.min(room, mostCharacters)) return { expression, fits: true }
  }
  return { expression: write(() => 'true'), fits: false }
}

const annotated = `has(object.metadata.annotations) && (object.metadata.annotations.size() > ${mostAnnotations} ||
object.metadata.annotations.exists(k, k.startsWith("sidecar-first.dev/") || k.contains(".sidecar-first.dev/")))`

const optedOut = any((['annotations', 'labels'] as const).map((place) => isOneOf(place, keys.inject, ['false'])))

const isMarked = isPresent('annotations', keys.sets)

/** Before any webhook of ours has marked the pod: its author or a template wrote the mark. */
export const markedByOthers = `!(${isPresent('annotations', mirrorKey)}) &&\n${isMarked}`

/** Lists may be absent, or null if a client wrote that; neither may be an error. */
function anyContainer(clauses: readonly Clause[], most: number): string {
  const lists = ['object.spec.containers', 'object.spec.initContainers'].map(
    (list) => `(has(${list}) && ${list} != null ? ${list} : [])`,
  )
  const unseen = [`c.name.size() > ${longest['c.name']}`, `has(c.image) && c.image.size() > ${longest['c.image']}`]
  const one = [...unseen, ...clauses.map(({ text }) => text)].join(' ||\n')
  return `[${lists.join(' +\n')}].exists(list, list.size() > ${most} ||\nlist.exists(c, ${one}))`
}
