import { type Problem, textOf } from '../admission/words/messages.ts'
import { quote } from '../admission/words/quote.ts'
import type { Values, Words } from '../admission/words/values.ts'
import { nearest } from '../nearest.ts'

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
  'not-text': { text: ({ is }: Is) => `takes text, not ${is}` },
  'not-the-value': {
    text: ({ text, value }: Text & { readonly value: string }) => `${quote(text)} is not ${value}`,
  },
  'not-a-version': { text: ({ text }: Text) => `${quote(text)} is not a version; write it like 1.36` },
  'not-an-image': { text: ({ text }: Text) => `${quote(text)} is not an image` },
  'not-a-rule-name': { text: ({ text }: Text) => `${quote(text)} is not a rule name: up to 63 characters` },
  'not-a-preset': {
    text: ({ text, known }: Text & { readonly known: readonly string[] }) =>
      `${quote(text)} is not a preset; ${suggest(text, known)}`,
  },
  'not-a-container-glob': {
    text: ({ text }: Text) =>
      `${quote(text)} can't match a container name: those have a–z, 0–9 and "-"; "*" stands for any characters`,
  },
  'not-an-image-glob': {
    text: ({ text }: Text) => `${quote(text)} can't match an image; only "*" is special and stands for any characters`,
  },
  'not-a-label-key': {
    text: ({ text }: Text) => `${quote(text)} is not a label key; write it like app or example.com/app`,
  },
  'not-a-label-value': {
    text: ({ text }: Text) =>
      `${quote(text)} is not a label value: up to 63 letters, digits, "-", "_" and "."; no patterns here`,
  },
} as const
export type WrongValue = Values<typeof values>

/** All that can be wrong in a configuration file, or is hardly meant, each kind once. */
const faults = {
  'invalid-yaml': { text: ({ message }: { readonly message: string }) => message },
  unreadable: { text: ({ message }: { readonly message: string }) => `can't be read: ${message}` },
  'second-document': { text: () => 'a second document; there has to be exactly one' },
  'not-an-object': { text: ({ path, is }: At & Is) => `${path || 'the configuration'} is an object, not ${is}` },
  'not-a-list': { text: ({ path, is }: At & Is) => `${path} is a list, not ${is}` },
  'not-a-number': {
    text: ({ path, is, least, most }: At & Is & { readonly least: number; readonly most: number }) =>
      `${path} takes a whole number from ${least} to ${most}, not ${is}`,
  },
  'not-a-boolean': { text: ({ path, is }: At & Is) => `${path} takes true or false, not ${is}` },
  'wrong-value': {
    text: ({ path, problem }: At & { readonly problem: WrongValue | Problem }) =>
      `${path}: ${isWrongValue(problem) ? wordsFor(values, problem) : textOf(problem)}`,
  },
  'unknown-key': {
    text: ({ path, key, known }: At & { readonly key: string; readonly known: readonly string[] }) =>
      `unknown key ${quote(key)}${path && ` in ${path}`}; ${suggest(key, known)}`,
  },
  'key-missing': {
    text: ({ key, value }: { readonly key: string; readonly value: string }) =>
      `${key} is missing; write ${key}: ${value}`,
  },
  missing: { text: ({ path }: At) => `${path} is missing` },
  'choice-missing': {
    text: ({ path, choices }: At & { readonly choices: readonly string[] }) =>
      `${path} is missing; use ${choices.join(', ')}`,
  },
  'tier-missing': { text: ({ path }: At) => `${path} is missing; write a number, lower ones start first` },
  'matches-nothing': { text: ({ path }: At) => `${path} names no container, image or preset; it needs one of them` },
  'hook-bounds-itself': { text: ({ path }: At) => `${path}: a hook bounds itself; remove it` },
  'values-missing': {
    text: ({ path, operator }: At & { readonly operator: string }) => `${path}: ${operator} needs at least one`,
  },
  'values-unused': {
    text: ({ path, operator }: At & { readonly operator: string }) => `${path}: ${operator} takes none; leave them out`,
  },
  'duplicate-rule': {
    text: ({ rule, index }: { readonly rule: string; readonly index: number }) =>
      `${quote(rule)} is already the name of rules[${index}]`,
  },
  // What isn't wrong by itself, but is hardly meant.
  'never-matches': {
    text: ({ rule, other }: Two) =>
      `the rule ${rule} never matches: the rule ${other} before it takes all its containers`,
  },
  'checks-share-tier': {
    text: ({ rule, other, tier }: Two & { readonly tier: number }) =>
      `the rules ${other} and ${rule} share tier ${tier}, but both checks must run in their own container, and a tier can have only one such: give them two tiers`,
  },
  'no-enforced-rule': {
    text: ({ path }: At) => `${path} changes nothing: no rule has enforce: true`,
  },
  'too-many-rules': { text: () => 'there are too many rules to compare this one and later ones with all others' },
} as const
export type Fault = Values<typeof faults>

/** Something in a configuration file, and where; both count from 1. */
export interface Remark {
  readonly line: number
  readonly column: number
  readonly fault: Fault
}

export const faultText = (fault: Fault): string => wordsFor(faults, fault)

/** One line for a remark on a file. */
export const remarkText = (file: string, { line, column, fault }: Remark): string =>
  `${file}:${line}:${column}: ${faultText(fault)}`

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
