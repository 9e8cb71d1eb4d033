import type { Configuration } from '../admission/configuration.ts'
import { decide } from '../admission/decide.ts'
import type { Decision, Surroundings } from '../admission/decision.ts'
import type { Json } from '../admission/operation.ts'
import type { RuleIndex } from '../admission/rules.ts'
import { type LabelSelector, selects } from '../admission/selector.ts'
import { shownWarnings } from '../admission/warning.ts'
import { applyPatch } from './patch.ts'

/** The label that the API server gives each namespace; the only one that is known without asking it. */
const nameLabel = 'kubernetes.io/metadata.name'

/**
 * What is decided of a pod in a namespace (empty: nobody knows): as `decide`, but rules for namespaces that go by the name alone count too.
 * Each of their webhooks is asked in turn, as the API server does.
 */
export function decideIn(
  namespace: string,
  pod: Json,
  configuration: Configuration,
  surroundings: Surroundings,
): Decision {
  const ask = (at: Json, set?: string) =>
    decide(at, configuration, set === undefined ? surroundings : { ...surroundings, set })
  const [first, ...others] = namespace === '' ? [] : setsFor(namespace, configuration.rules)
  return others.reduce(
    (decision, set) => {
      const at = decision.verdict === 'patched' ? applyPatch(pod, decision.patch) : pod
      return both(decision, ask(at, set))
    },
    ask(pod, first),
  )
}

/** What two webhooks come to, the second asked of what the first made. */
function both(before: Decision, after: Decision): Decision {
  const warnings = shownWarnings([...before.warnings, ...after.warnings])
  if (before.verdict === 'refused') return { ...before, warnings }
  if (before.verdict !== 'patched' || after.verdict === 'refused') return { ...after, warnings }
  if (after.verdict !== 'patched') return { ...before, warnings }
  return { ...after, warnings, patch: [...before.patch, ...after.patch] }
}

/** The webhooks of namespaceSelectors that select a namespace, where its name alone decides. */
function setsFor(namespace: string, { rules }: RuleIndex): readonly string[] {
  const labels = new Map([[nameLabel, namespace]])
  const found = rules.flatMap(({ set, match: { namespaceSelector: selector } }) =>
    set !== undefined && selector !== undefined && byNameAlone(selector) && selects(selector, labels) ? [set] : [],
  )
  return [...new Set(found)]
}

const byNameAlone = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)].every((key) => key === nameLabel)
