import { isNative } from '../pod/kind.ts'
import type { Container, Metadata, Spec } from '../pod/pod.ts'
import { selects } from '../pod/selector.ts'
import type { Surroundings } from '../pod/surroundings.ts'
import type { Json } from '../words/json.ts'
import { type ImageTexts, imageTexts, matchesGlob, matchesImage } from './glob.ts'
import type { Rule } from './rule.ts'
import { containerCandidates, isComparable, labelCandidates, type RuleIndex } from './rule-index.ts'

/**
 * Finds the rule for a container of a pod with these labels in a namespace that these sets select: the first that matches and is enforced, so that no
 * other takes a container from it, else the first that matches.
 */
export function findRules(
  index: RuleIndex,
  labels: ReadonlyMap<string, Json>,
  sets: readonly string[],
  binds: (rule: Rule) => boolean,
): (container: Container) => Rule | undefined {
  const always = labelCandidates(index, labels)
  return (container) => {
    if (!isComparable(container.name)) return undefined
    const readable = isComparable(container.image)
    let texts: ImageTexts | undefined
    const fits = (globs: readonly string[]) => {
      if (!readable) return false
      const compared = texts ?? imageTexts(container.image)
      texts = compared
      return globs.some((glob) => matchesImage(glob, compared))
    }
    let best = Number.POSITIVE_INFINITY
    let bound = Number.POSITIVE_INFINITY
    for (const list of [...always, ...containerCandidates(index, readable ? container : { ...container, image: '' })]) {
      for (const position of list) {
        if (position >= (index.binds ? bound : best)) break
        const rule = index.rules[position]
        if (rule === undefined || (position >= best && !binds(rule))) continue
        if (!applies(rule, sets) || !matches(rule, container, labels, fits)) continue
        best = Math.min(best, position)
        if (binds(rule)) bound = position
      }
    }
    return index.rules[bound] ?? index.rules[best]
  }
}

/** The rules that may be about pods of a namespace that these sets select. */
export function rulesFor({ rules }: RuleIndex, sets: readonly string[] = []): readonly Rule[] {
  return rules.filter((rule) => applies(rule, sets))
}

/** How a rule counts for one pod: whether it is enforced is said by more than the rule. */
type Standing = (rule: Rule) => Rule

/** Enforced, unless the pod is exempt; a rule that is audited, if that is what is asked. */
export function standingFor(
  { name, namespace }: Metadata,
  { into = namespace, audit = false }: Surroundings,
): Standing {
  const pod = `${into}/${name}`
  const known = new Map<Rule, Rule>()
  return (rule) => {
    if (!(rule.enforce || (audit && rule.audit))) return rule
    const found = known.get(rule)
    if (found !== undefined) return found
    const enforce = !rule.exempt.some((glob) => matchesGlob(glob, pod))
    const standing = enforce === rule.enforce ? rule : { ...rule, enforce }
    known.set(rule, standing)
    return standing
  }
}

/** Containers whose image is too long that are compared with the rules by their names; nobody has as many. */
const mostUnread = 8

/**
 * The containers whose image is too long to be read, although a rule that asks for images could be about them: an enforced one, or beside one any
 * that could take the container from it. Without this, such a name would walk around the rule.
 */
export function unreadImages(
  index: RuleIndex,
  { initContainers, containers }: Spec,
  { labels }: Metadata,
  { sets = [] }: Surroundings,
  isEnforced: (rule: Rule) => boolean,
): readonly Container[] {
  const unread = [...initContainers.filter(isNative), ...containers].filter(({ image }) => !isComparable(image))
  if (unread.length === 0) return []
  const byImage = rulesFor(index, sets).filter(({ match: { images, podSelector } }) => {
    return images !== undefined && (podSelector === undefined || selects(podSelector, labels))
  })
  const could = ({ name }: Container) =>
    byImage.some(({ match: { containers } }) => containers?.some((glob) => matchesGlob(glob, name)) ?? true)
  return byImage.some(isEnforced) ? unread.filter((container, at) => at >= mostUnread || could(container)) : []
}

const applies = ({ set }: Rule, sets: readonly string[]): boolean => set === undefined || sets.includes(set)

/** The rule of each container that can be a sidecar: of the rules without a namespaceSelector, and of those in `sets`. */
export function ruledContainers(
  index: RuleIndex,
  spec: Spec,
  labels: ReadonlyMap<string, Json>,
  sets: readonly string[] = [],
  standing: Standing = (rule) => rule,
): ReadonlyMap<string, Rule> {
  const ruled = new Map<string, Rule>()
  if (index.rules.length === 0) return ruled
  const natives = spec.initContainers.filter(isNative)
  const find = findRules(index, labels, sets, (rule) => standing(rule).enforce)
  for (const container of [...natives, ...spec.containers]) {
    const rule = find(container)
    if (rule !== undefined) ruled.set(container.name, rule)
  }
  return ruled
}

function matches(
  { match }: Rule,
  { name }: Container,
  labels: ReadonlyMap<string, Json>,
  fits: (images: readonly string[]) => boolean,
): boolean {
  const { containers, images, podSelector } = match
  if (containers !== undefined && !containers.some((glob) => matchesGlob(glob, name))) return false
  if (images !== undefined && !fits(images)) return false
  return podSelector === undefined || selects(podSelector, labels)
}
