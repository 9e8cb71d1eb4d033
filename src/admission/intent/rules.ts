import type { Container, Spec } from '../pod/pod.ts'
import { selects } from '../pod/selector.ts'
import type { Json } from '../words/json.ts'
import { type ImageTexts, imageTexts, matchesGlob, matchesImage } from './glob.ts'
import type { Rule } from './rule.ts'
import { containerCandidates, isComparable, labelCandidates, type RuleIndex } from './rule-index.ts'

/** Finds the first rule that matches a container of a pod with these labels in a namespace that these sets select. */
export function findRules(
  index: RuleIndex,
  labels: ReadonlyMap<string, Json>,
  sets: readonly string[],
): (container: Container) => Rule | undefined {
  const always = labelCandidates(index, labels)
  return (container) => {
    if (!isComparable(container.name) || !isComparable(container.image)) return undefined
    let texts: ImageTexts | undefined
    const fits = (globs: readonly string[]) => {
      const compared = texts ?? imageTexts(container.image)
      texts = compared
      return globs.some((glob) => matchesImage(glob, compared))
    }
    let best = Number.POSITIVE_INFINITY
    for (const list of [...always, ...containerCandidates(index, container)]) {
      for (const position of list) {
        if (position >= best) break
        const rule = index.rules[position]
        if (rule !== undefined && applies(rule, sets) && matches(rule, container, labels, fits)) best = position
      }
    }
    return index.rules[best]
  }
}

/** The rules that may be about pods of a namespace that these sets select. */
export function rulesFor({ rules }: RuleIndex, sets: readonly string[] = []): readonly Rule[] {
  return rules.filter((rule) => applies(rule, sets))
}

const applies = ({ set }: Rule, sets: readonly string[]): boolean => set === undefined || sets.includes(set)

/** The rule of each container that can be a sidecar: of the rules without a namespaceSelector, and of those in `sets`. */
export function ruledContainers(
  index: RuleIndex,
  spec: Spec,
  labels: ReadonlyMap<string, Json>,
  sets: readonly string[] = [],
): ReadonlyMap<string, Rule> {
  const ruled = new Map<string, Rule>()
  if (index.rules.length === 0) return ruled
  const natives = spec.initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')
  const find = findRules(index, labels, sets)
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
