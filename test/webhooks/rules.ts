import type { Rule } from '../../src/admission/intent/rule.ts'
import { setOf } from '../../src/webhooks/set.ts'

/** A rule that says nothing but whom it matches. */
export function rule(match: Partial<Rule['match']>, enforce = false): Rule {
  return {
    name: 'test',
    match: { containers: undefined, images: undefined, podSelector: undefined, namespaceSelector: undefined, ...match },
    set: match.namespaceSelector && setOf(match.namespaceSelector),
    tier: 10,
    check: undefined,
    timeout: undefined,
    onTimeout: undefined,
    gate: undefined,
    nativePosition: undefined,
    existingHook: undefined,
    startupProbe: undefined,
    lock: undefined,
    lockRestarts: undefined,
    end: undefined,
    endAppear: undefined,
    enforce,
    audit: false,
    exempt: [],
    allowNatives: [],
    preset: undefined,
  }
}

/** `count` rules, each of which matches by something of its own. */
export const kindsOfRules = {
  names: (i: number) => rule({ containers: [`sidecar-${i}`] }),
  images: (i: number) => rule({ images: [`*/sidecar-${i}:*`] }),
  'images with a gap': (i: number) => rule({ images: [`docker.io/*/sidecar-${i}:*`] }),
  'names with images': (i: number) => rule({ containers: [`sidecar-${i}`], images: [`*/sidecar-${i}:*`] }),
  'names with labels': (i: number) =>
    rule({ containers: [`sidecar-${i}`], podSelector: { matchLabels: { app: `app-${i}` } } }),
} as const

export function many(count: number, kind: keyof typeof kindsOfRules): readonly Rule[] {
  return Array.from({ length: count }, (_, i) => kindsOfRules[kind](i))
}
