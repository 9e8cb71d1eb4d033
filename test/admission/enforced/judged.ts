import assert from 'node:assert/strict'
import { decide } from '../../../src/admission/decide.ts'
import type { Configuration } from '../../../src/admission/intent/configuration.ts'
import { validate } from '../../../src/admission/validate.ts'
import type { Json } from '../../../src/admission/words/json.ts'
import { textOf as reason } from '../../../src/admission/words/messages.ts'
import { readConfiguration } from '../../../src/configuration/read.ts'
import { applyPatch } from '../../../src/preview/patch.ts'
import { isAcceptable } from './acceptable.ts'
import { type Escape, escapesOf, outlivers, shortened } from './kubelet.ts'
import { type Rules, textOf } from './rules.ts'

/** What `/mutate/lock-by-name` and `/validate` make of a pod, and what the model says of the one that would be stored. */

/** Undefined where the reader refuses the rules. */
export function configured(rules: Rules): Configuration | undefined {
  const read = readConfiguration(textOf(rules), '0.0.0')
  return read.ok ? read.configuration : undefined
}

export function configuredFor(rules: Rules): Configuration {
  const read = readConfiguration(textOf(rules), '0.0.0')
  assert.ok(read.ok, JSON.stringify(read))
  return read.configuration
}

type Mutated =
  | { readonly refused: readonly string[] }
  /** A pod that the API server wouldn't store runs nowhere. */
  | { readonly pod: Json; readonly isStorable: boolean; readonly isPatched: boolean }

export function mutated(pod: Json, configuration: Configuration): Mutated {
  const decision = decide(pod, configuration)
  if (decision.verdict === 'refused') return { refused: decision.reasons.map(reason) }
  const isPatched = decision.verdict === 'patched'
  // Generated pods have objects in two places at once, which no parsed manifest has and a patch would change together.
  const after = isPatched ? applyPatch(JSON.parse(JSON.stringify(pod)), decision.patch) : pod
  return { pod: after, isStorable: isAcceptable(after), isPatched }
}

/** Empty where the final pod is admitted. */
export function refusalsOf(pod: Json, configuration: Configuration): readonly string[] {
  return validate(pod, configuration).reasons.map(reason)
}

export function told(escapes: readonly Escape[], rules: Rules, pod: Json, given: Json = pod): string {
  const lines = escapes.map(
    ({ container, sidecar, rule, gate, world }) =>
      `${container} runs before ${sidecar} (${rule}) has opened its gate: ${gate}, in ${JSON.stringify(world)}`,
  )
  const said = given === pod ? [] : [`given ${JSON.stringify(given)}`]
  return [...lines, `rules ${textOf(rules)}`, ...said, `final ${JSON.stringify(pod)}`].join('\n')
}

export { escapesOf, outlivers, shortened }
