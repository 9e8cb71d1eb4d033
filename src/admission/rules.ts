import type { Check } from './check.ts'
import type { ExistingHookPolicy, GateChoice, NativePosition, OnTimeout } from './configuration.ts'
import { matchesGlob, surestWord, wordsOf } from './glob.ts'
import { unwrap } from './hook.ts'
import type { Json } from './operation.ts'
import type { Container, Spec } from './pod.ts'
import type { Preset } from './presets.ts'
import { type LabelSelector, selects } from './selector.ts'

/** Gives intent to pods that carry no annotation: the containers that match are sidecars. */
export interface Rule {
  readonly name: string
  readonly match: {
    /** A glob; the preset's names where the rule says only that. */
    readonly containers: readonly string[] | undefined
    /** Globs of the image reference; any of them. */
    readonly images: readonly string[] | undefined
    readonly podSelector: LabelSelector | undefined
    readonly namespaceSelector: LabelSelector | undefined
  }
  /** Which webhook the rule belongs to: the hash of its namespaceSelector; undefined: all of them. */
  readonly set: string | undefined
  readonly tier: number
  readonly check: Check | undefined
  /** Milliseconds. */
  readonly timeout: number | undefined
  readonly onTimeout: OnTimeout | undefined
  readonly gate: GateChoice | undefined
  readonly nativePosition: NativePosition | undefined
  readonly existingHook: ExistingHookPolicy | undefined
  /** A pod's own keys and its opt-out can't change what the rule says. */
  readonly enforce: boolean
  readonly preset: Preset | undefined
}

/** Rules in the order of the file, arranged so that a container is compared with the few that may fit. */
export interface RuleIndex {
  readonly rules: readonly Rule[]
  readonly sets: ReadonlySet<string>
  readonly byContainer: ReadonlyMap<string, readonly number[]>
  readonly byImageWord: ReadonlyMap<string, readonly number[]>
  /** Rules that neither a name nor a word narrows down. */
  readonly others: readonly number[]
}

export function indexRules(rules: readonly Rule[]): RuleIndex {
  const byContainer = new Map<string, number[]>()
  const byImageWord = new Map<string, number[]>()
  const others: number[] = []
  const enter = (index: Map<string, number[]>, words: readonly string[], position: number) => {
    for (const word of new Set(words)) {
      const list = index.get(word)
      if (list === undefined) index.set(word, [position])
      else list.push(position)
    }
  }
  for (const [position, { match }] of rules.entries()) {
    const words = match.images?.map(surestWord)
    if (match.containers?.every((glob) => !glob.includes('*'))) enter(byContainer, match.containers, position)
    else if (words?.every((word) => word !== undefined)) enter(byImageWord, words, position)
    else others.push(position)
  }
  const sets = new Set(rules.flatMap(({ set }) => set ?? []))
  return { rules, sets, byContainer, byImageWord, others }
}

export const noRules: RuleIndex = indexRules([])

/** The first rule that matches a container, of those that `eligible` lets through. */
export function findRule(
  index: RuleIndex,
  container: Container,
  labels: ReadonlyMap<string, Json>,
  eligible: (rule: Rule) => boolean,
): Rule | undefined {
  const { rules, byContainer, byImageWord, others } = index
  const lists = [
    byContainer.get(container.name),
    others,
    ...wordsOf(container.image).map((word) => byImageWord.get(word)),
  ]
  let best = Number.POSITIVE_INFINITY
  for (const list of lists) {
    for (const position of list ?? []) {
      if (position >= best) break
      const rule = rules[position]
      if (rule !== undefined && eligible(rule) && matches(rule, container, labels)) best = position
    }
  }
  return rules[best]
}

/**
 * The rule of each container that can be a sidecar. `set` is the webhook that was called. Containers that another set has gated keep the
 * rule that did it, so that two selectors which match one namespace agree.
 */
export function ruledContainers(
  index: RuleIndex,
  spec: Spec,
  labels: ReadonlyMap<string, Json>,
  set: string | undefined,
): ReadonlyMap<string, Rule> {
  const ruled = new Map<string, Rule>()
  if (index.rules.length === 0) return ruled
  const gated = index.sets.size === 0 ? new Set() : gatedContainers(spec)
  const natives = spec.initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')
  for (const container of [...natives, ...spec.containers]) {
    const mine = findRule(index, container, labels, (rule) => rule.set === undefined || rule.set === set)
    const rule = mine ?? (gated.has(container.name) ? findRule(index, container, labels, () => true) : undefined)
    if (rule !== undefined) ruled.set(container.name, rule)
  }
  return ruled
}

/** Those whose hook is ours, and those that such a hook waits for. */
function gatedContainers(spec: Spec): ReadonlySet<string> {
  const names = new Set<string>()
  for (const container of [...spec.containers, ...spec.initContainers]) {
    const hook = unwrap(container.postStart)
    if (hook.ok && hook.value.ours) for (const name of [container.name, ...hook.value.waitsFor]) names.add(name)
  }
  return names
}

function matches({ match }: Rule, { name, image }: Container, labels: ReadonlyMap<string, Json>): boolean {
  const { containers, images, podSelector } = match
  if (containers !== undefined && !containers.some((glob) => matchesGlob(glob, name))) return false
  if (images !== undefined && !images.some((glob) => matchesGlob(glob, image))) return false
  return podSelector === undefined || selects(podSelector, labels)
}
