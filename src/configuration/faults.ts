import { codeOf, type Problem, textOf } from '../admission/words/messages.ts'
import { nearest } from '../admission/words/nearest.ts'
import { quote } from '../admission/words/quote.ts'
import type { Code, CodedWords, Values, Words } from '../admission/words/values.ts'

interface Text {
  readonly text: string
}
interface At {
  /** `rules[0].match`; empty for the whole. */
  readonly path: string
}
interface Is {
  /** What is there instead, in words. */
  readonly is: string
}
interface Two {
  readonly rule: string
  readonly other: string
}

/** What is wrong with a value, beside what admission's own parsers say. The path comes first. */
const values = {
  'not-text': { code: 'SF301', text: ({ is }: Is) => `takes text, not ${is}` },
  'not-the-value': {
    code: 'SF302',
    text: ({ text, value }: Text & { readonly value: string }) => `${quote(text)} is not ${value}`,
  },
  'not-a-version': { code: 'SF303', text: ({ text }: Text) => `${quote(text)} is not a version; write it like 1.36` },
  'not-an-image': { code: 'SF304', text: ({ text }: Text) => `${quote(text)} is not an image` },
  'not-a-runtime-class': {
    code: 'SF333',
    text: ({ text }: Text) => `${quote(text)} is not the name of a RuntimeClass`,
  },
  'not-a-rule-name': {
    code: 'SF305',
    text: ({ text }: Text) => `${quote(text)} is not a rule name: up to 63 characters`,
  },
  'not-a-preset': {
    code: 'SF306',
    text: ({ text, known }: Text & { readonly known: readonly string[] }) =>
      `${quote(text)} is not a preset; ${suggest(text, known)}`,
  },
  'not-a-container-glob': {
    code: 'SF307',
    text: ({ text }: Text) =>
      `${quote(text)} can't match a container name: those have a–z, 0–9 and "-"; "*" stands for any characters`,
  },
  'not-an-image-glob': {
    code: 'SF308',
    text: ({ text }: Text) => `${quote(text)} can't match an image; only "*" is special and stands for any characters`,
  },
  'not-a-pod-glob': {
    code: 'SF334',
    text: ({ text }: Text) =>
      `${quote(text)} is not NAMESPACE/NAME, such as shop/checkout-*; "*" stands for any characters of a name`,
  },
  'not-a-container': {
    code: 'SF335',
    text: ({ text }: Text) => `${quote(text)} is not a container name; no patterns here`,
  },
  'not-a-label-key': {
    code: 'SF309',
    text: ({ text }: Text) => `${quote(text)} is not a label key; write it like app or example.com/app`,
  },
  'not-a-label-value': {
    code: 'SF310',
    text: ({ text }: Text) =>
      `${quote(text)} is not a label value: up to 63 letters, digits, "-", "_" and "."; no patterns here`,
  },
} as const satisfies CodedWords
export type WrongValue = Values<typeof values>

/** All that can be wrong in a configuration file, or is hardly meant, each kind once. */
const faults = {
  'invalid-yaml': { code: 'SF311', text: ({ message }: { readonly message: string }) => message },
  unreadable: { code: 'SF312', text: ({ message }: { readonly message: string }) => `can't be read: ${message}` },
  'second-document': { code: 'SF313', text: () => 'a second document; there has to be exactly one' },
  'not-an-object': {
    code: 'SF314',
    text: ({ path, is }: At & Is) => `${path || 'the configuration'} is an object, not ${is}`,
  },
  'not-a-list': { code: 'SF315', text: ({ path, is }: At & Is) => `${path} is a list, not ${is}` },
  'not-a-number': {
    code: 'SF316',
    text: ({ path, is, least, most }: At & Is & { readonly least: number; readonly most: number }) =>
      `${path} takes a whole number from ${least} to ${most}, not ${is}`,
  },
  'not-a-boolean': {
    code: 'SF317',
    text: ({ path, is, word }: At & Is & { readonly word: string }) =>
      `${path} takes true, false or ${word}, not ${is}`,
  },
  'wrong-value': {
    code: 'SF318',
    text: ({ path, problem }: At & { readonly problem: WrongValue | Problem }) =>
      `${path}: ${isWrongValue(problem) ? valueText(problem) : textOf(problem)}`,
  },
  'unknown-key': {
    code: 'SF319',
    text: ({ path, key, known }: At & { readonly key: string; readonly known: readonly string[] }) =>
      `unknown key ${quote(key)}${path && ` in ${path}`}; ${suggest(key, known)}`,
  },
  'key-missing': {
    code: 'SF320',
    text: ({ key, value }: { readonly key: string; readonly value: string }) =>
      `${key} is missing; write ${key}: ${value}`,
  },
  'enforced-probe-gone': {
    code: 'SF340',
    text: ({ path }: At) => `${path}: an enforced rule that removes the startupProbe needs a check of its own`,
  },
  'locks-nothing': {
    code: 'SF341',
    text: ({ path, by }: At & { readonly by: string }) =>
      `${path}: "on" locks nothing beside ${by}, and the rule is enforced; take one of the two away`,
  },
  'too-many-entries': {
    code: 'SF342',
    text: ({ path, count, most }: At & { readonly count: number; readonly most: number }) =>
      `${path} has ${count} entries; it takes ${most}`,
  },
  missing: { code: 'SF321', text: ({ path }: At) => `${path} is missing` },
  'choice-missing': {
    code: 'SF322',
    text: ({ path, choices }: At & { readonly choices: readonly string[] }) =>
      `${path} is missing; use ${choices.join(', ')}`,
  },
  'tier-missing': {
    code: 'SF323',
    text: ({ path }: At) => `${path} is missing; write a number, lower ones start first`,
  },
  'matches-nothing': {
    code: 'SF324',
    text: ({ path }: At) => `${path} names no container, image or preset; it needs one of them`,
  },
  'hook-bounds-itself': { code: 'SF325', text: ({ path }: At) => `${path}: a hook bounds itself; remove it` },
  'lock-unknown': {
    code: 'SF350',
    text: ({ path }: At) =>
      `${path}: "on" needs Kubernetes 1.35 on every node, and kubernetesVersion is older; leave it out`,
  },
  'values-missing': {
    code: 'SF326',
    text: ({ path, operator }: At & { readonly operator: string }) => `${path}: ${operator} needs at least one`,
  },
  'values-unused': {
    code: 'SF327',
    text: ({ path, operator }: At & { readonly operator: string }) => `${path}: ${operator} takes none; leave them out`,
  },
  'duplicate-rule': {
    code: 'SF328',
    text: ({ rule, index }: { readonly rule: string; readonly index: number }) =>
      `${quote(rule)} is already the name of rules[${index}]`,
  },
  // What isn't wrong by itself, but is hardly meant.
  'never-matches': {
    code: 'SF329',
    text: ({ rule, other }: Two) =>
      `the rule ${rule} never matches: the rule ${other} before it takes all its containers`,
  },
  'checks-share-tier': {
    code: 'SF330',
    text: ({ rule, other, tier }: Two & { readonly tier: number }) =>
      `the rules ${other} and ${rule} share tier ${tier}, but both checks must run in their own container, and a tier can have only one such: give them two tiers`,
  },
  'no-enforced-rule': {
    code: 'SF332',
    text: ({ path }: At) => `${path} changes nothing: no rule has enforce: true`,
  },
  'only-enforced': {
    code: 'SF336',
    text: ({ path }: At) => `${path} changes nothing: the rule isn't enforced`,
  },
  'too-many-rules': {
    code: 'SF331',
    text: () => 'there are too many rules to compare this one and later ones with all others',
  },
} as const satisfies CodedWords
export type Fault = Values<typeof faults>

/** Something in a configuration file, and where; both count from 1. */
export interface Remark {
  readonly line: number
  readonly column: number
  readonly fault: Fault
}

/** The public code; where a value is wrong, that of what is wrong with it. */
export function faultCode(fault: Fault): Code {
  if (fault.kind !== 'wrong-value') return faults[fault.kind].code
  return isWrongValue(fault.problem) ? valueCode(fault.problem) : codeOf(fault.problem)
}

export const valueCode = ({ kind }: WrongValue): Code => values[kind].code
export const valueText = (value: WrongValue): string => wordsFor(values, value)

const notices: ReadonlySet<Fault['kind']> = new Set([
  'never-matches',
  'checks-share-tier',
  'no-enforced-rule',
  'only-enforced',
  'too-many-rules',
])
/** Whether the file is valid all the same. */
export const isNotice = ({ kind }: Fault): boolean => notices.has(kind)

export const faultText = (fault: Fault): string => wordsFor(faults, fault)

/** One line for a remark on a file, without its code. */
export const remarkWords = (file: string, { line, column, fault }: Remark): string =>
  `${file}:${line}:${column}: ${faultText(fault)}`

/** One line for a remark on a file. */
export const remarkText = (file: string, { line, column, fault }: Remark): string =>
  `${file}:${line}:${column}: ${faultCode(fault)} ${faultText(fault)}`

/** The table of a kind is known by then, so its data fits. */
function wordsFor<T extends { readonly kind: string }>(table: Words, value: T): string {
  return (table[value.kind] as { text: (data: T) => string }).text(value)
}

/** Admission has none of these kinds. */
const isWrongValue = (problem: WrongValue | Problem): problem is WrongValue => Object.hasOwn(values, problem.kind)

/** `did you mean X?`, or all there are. */
function suggest(text: string, choices: readonly string[]): string {
  const near = nearest(text, choices)
  return near === undefined ? `known are ${choices.join(', ')}` : `did you mean ${near}?`
}
