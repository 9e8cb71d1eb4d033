import { define, passOn, tell, wordsFor } from '../admission/words/define.ts'
import { codeOf, type Problem, textOf } from '../admission/words/messages.ts'
import { nearest } from '../admission/words/nearest.ts'
import { quote } from '../admission/words/quote.ts'
import type { Code, Values } from '../admission/words/values.ts'

const see = 'docs/rules.md lists all keys and what they take.'

const wrong = define('refusal', { path: 'rules[0].name' })
/** What isn't wrong by itself, but is hardly meant: the file is valid all the same. */
const note = define('note')
const refusal = define('refusal')

/** What is wrong with a value, beside what admission's own parsers say. The path comes first. */
export const values = {
  'not-text': wrong('SF301', {
    example: { is: 'a number' },
    text: ({ is }) => `takes text, not ${is}`,
    means: 'The key takes text, and YAML reads something else there.',
    next: 'Put quotes around the value.',
  }),
  'not-the-value': wrong('SF302', {
    example: { text: 'v2', value: 'sidecar-first.dev/v1' },
    text: ({ text, value }) => `${quote(text)} is not ${value}`,
    means: 'The key takes one value only.',
    next: 'Write that value.',
  }),
  'not-a-version': wrong<{ text: string; isOld?: boolean }>('SF303', {
    example: { text: 'latest' },
    text: ({ text, isOld }) =>
      isOld
        ? `${quote(text)} is too old: nodes need Kubernetes 1.27 or newer, and API servers 1.30`
        : `${quote(text)} is not a version; write it like 1.36`,
    means:
      'kubernetesVersion is the version of the oldest node, as two numbers. A kubelet may be three minor versions older than its API server, which has to be of 1.30 or newer.',
    next: 'Write it like `"1.36"`, in quotes.',
  }),
  'not-an-image': wrong('SF304', {
    example: { text: 'waiter image' },
    text: ({ text }) => `${quote(text)} is not an image`,
    means: 'The text cannot be the name of a container image.',
    next: 'Write REGISTRY/NAME:TAG.',
  }),
  'not-a-runtime-class': wrong('SF333', {
    example: { text: 'gVisor!' },
    text: ({ text }) => `${quote(text)} is not the name of a RuntimeClass`,
    means: 'lock.runtimeClasses lists the names that pods give as their runtimeClassName.',
    next: 'Write a name that `kubectl get runtimeclasses` shows.',
  }),
  'not-a-rule-name': wrong('SF305', {
    example: { text: 'my rule!' },
    text: ({ text }) => `${quote(text)} is not a rule name: up to 63 characters`,
    means: "A rule's name stands in answers and annotations, so it is short and plain.",
    next: 'Use lower-case letters, digits and `-`.',
  }),
  'not-a-preset': wrong('SF306', {
    example: { text: 'isto', known: ['istio', 'linkerd'] },
    text: ({ text, known }) => `${quote(text)} is not a preset; ${suggest(text, known)}`,
    means: 'No preset has that name.',
    next: 'docs/presets.md lists them all.',
  }),
  'not-a-container-glob': wrong('SF307', {
    example: { text: 'Envoy_*' },
    text: ({ text }) =>
      `${quote(text)} can't match a container name: those have a–z, 0–9 and "-"; "*" stands for any characters`,
    means: 'The pattern has characters that no container name can have, so it would never match.',
    next: 'Correct it; only `*` is special.',
  }),
  'not-an-image-glob': wrong('SF308', {
    example: { text: '*/proxy v2' },
    text: ({ text }) => `${quote(text)} can't match an image; only "*" is special and stands for any characters`,
    means: 'The pattern has characters that no image can have, so it would never match.',
    next: 'Correct it; only `*` is special.',
  }),
  'not-a-pod-glob': wrong('SF334', {
    example: { text: 'checkout-*' },
    text: ({ text }) =>
      `${quote(text)} is not NAMESPACE/NAME, such as shop/checkout-*; "*" stands for any characters of a name`,
    means: 'An exemption names pods of one namespace.',
    next: 'Write the namespace, a slash and a name; `*` stands for any characters of the name.',
  }),
  'not-a-container': wrong('SF335', {
    example: { text: 'istio-*' },
    text: ({ text }) => `${quote(text)} is not a container name; no patterns here`,
    means: 'The value cannot be the name of a container.',
    next: 'Write the whole name.',
  }),
  'not-a-label-key': wrong('SF309', {
    example: { text: 'app name' },
    text: ({ text }) => `${quote(text)} is not a label key; write it like app or example.com/app`,
    means: 'Kubernetes allows no label with that key.',
    next: 'Correct the key.',
  }),
  'not-a-label-value': wrong('SF310', {
    example: { text: 'web*' },
    text: ({ text }) =>
      `${quote(text)} is not a label value: up to 63 letters, digits, "-", "_" and "."; no patterns here`,
    means: 'Kubernetes allows no label with that value.',
    next: 'Correct the value; use matchExpressions with several values instead of a pattern.',
  }),
}
export type WrongValue = Values<typeof values>
interface WrongValueAt {
  /** `rules[0].match`; empty for the whole. */
  readonly path: string
  readonly problem: WrongValue | Problem
}

/** All that can be wrong in a configuration file, or is hardly meant, each kind once. */
export const faults = {
  'invalid-yaml': refusal('SF311', {
    example: { message: 'invalid YAML: missing closing "quote' },
    text: ({ message }) => message,
    means: 'The file is not YAML.',
    next: 'Correct it at the line that the message names.',
  }),
  unreadable: refusal('SF312', {
    example: { message: 'permission denied' },
    text: ({ message }) => `can't be read: ${message}`,
    means: 'The file cannot be read.',
    next: 'Look at its path and rights.',
  }),
  'second-document': refusal('SF313', {
    text: 'a second document; there has to be exactly one',
    means: 'A configuration is one YAML document.',
    next: 'Remove everything from the second `---` on, or merge the two.',
  }),
  'not-an-object': refusal('SF314', {
    example: { path: 'rules[0].match', is: 'a list' },
    text: ({ path, is }) => `${path || 'the configuration'} is an object, not ${is}`,
    means: 'A mapping is expected there.',
    next: see,
  }),
  'not-a-list': refusal('SF315', {
    example: { path: 'rules', is: 'an object' },
    text: ({ path, is }) => `${path} is a list, not ${is}`,
    means: 'A list is expected there.',
    next: see,
  }),
  'not-a-number': refusal('SF316', {
    example: { path: 'rules[0].tier', least: 0, most: 1000, is: 'text' },
    text: ({ path, is, least, most }) => `${path} takes a whole number from ${least} to ${most}, not ${is}`,
    means: 'A whole number within bounds is expected there.',
    next: 'Write a number without quotes.',
  }),
  'not-a-boolean': refusal('SF317', {
    example: { path: 'rules[0].enforce', is: 'text', word: 'audit' },
    text: ({ path, is, word }) => `${path} takes true, false or ${word}, not ${is}`,
    means: 'true, false or one word is expected there.',
    next: 'Write it without quotes.',
  }),
  'wrong-value': passOn(
    'refusal',
    ({ problem }: WrongValueAt) => (isWrongValue(problem) ? values[problem.kind].code : codeOf(problem)),
    ({ path, problem }: WrongValueAt) =>
      `${path}: ${isWrongValue(problem) ? wordsFor(values, problem) : textOf(problem)}`,
  ),
  'unknown-key': refusal('SF319', {
    example: { path: 'rules[0]', key: 'chekc', known: ['check', 'tier'] },
    text: ({ path, key, known }) => `unknown key ${quote(key)}${path && ` in ${path}`}; ${suggest(key, known)}`,
    means: 'No key of that name has a meaning there. It would be ignored, so the file is refused instead.',
    next: see,
  }),
  'key-missing': refusal('SF320', {
    example: { key: 'apiVersion', value: 'sidecar-first.dev/v1' },
    text: ({ key, value }) => `${key} is missing; write ${key}: ${value}`,
    means: 'The key is required.',
    next: 'Write the line that the message names.',
  }),
  'enforced-probe-gone': refusal('SF340', {
    example: { path: 'rules[0].startupProbe' },
    text: ({ path }) => `${path}: an enforced rule that removes the startupProbe needs a check of its own`,
    means: 'Without its probe, only the hook would say what to wait for, and anyone can write a hook.',
    next: 'Give the rule a `check`, or use `startupProbe: eager`.',
  }),
  'locks-nothing': refusal('SF341', {
    example: { path: 'rules[0].lock', by: 'check: none' },
    text: ({ path, by }) =>
      `${path}: "on" locks nothing beside ${by}, and the rule is enforced; take one of the two away`,
    means: 'An enforced rule would promise a lock, and no hook of sidecar-first could open one.',
    next: 'Give the rule a `check` and let `existingHook` be `chain`, or take `lock: on` away.',
  }),
  'too-many-entries': refusal('SF342', {
    example: { path: 'rules[0].exempt', count: 100, most: 64 },
    text: ({ path, count, most }) => `${path} has ${count} entries; it takes ${most}`,
    means: 'Each entry is compared with pods one by one, so there can only be a few.',
    next: 'Use `*`, or a podSelector.',
  }),
  missing: refusal('SF321', {
    example: { path: 'rules[0].name' },
    text: ({ path }) => `${path} is missing`,
    means: 'The key is required.',
    next: see,
  }),
  'choice-missing': refusal('SF322', {
    example: { path: 'rules[0].match.podSelector.matchExpressions[0].operator', choices: ['In', 'Exists'] },
    text: ({ path, choices }) => `${path} is missing; use ${choices.join(', ')}`,
    means: 'The key is required.',
    next: 'Use one of the listed values.',
  }),
  'tier-missing': refusal('SF323', {
    example: { path: 'rules[0].tier' },
    text: ({ path }) => `${path} is missing; write a number, lower ones start first`,
    means: 'A rule says in which tier its containers start.',
    next: 'Write `tier: 10`, or another number.',
  }),
  'matches-nothing': refusal('SF324', {
    example: { path: 'rules[0].match' },
    text: ({ path }) => `${path} names no container, image or preset; it needs one of them`,
    means: 'A rule has to say which containers are sidecars.',
    next: 'Add containers, images or a preset.',
  }),
  'hook-bounds-itself': refusal('SF325', {
    example: { path: 'rules[0].timeout' },
    text: ({ path }) => `${path}: a hook bounds itself; remove it`,
    means: 'A `hook:` check ends by itself; a timeout would never take effect.',
    next: 'Remove it.',
  }),
  'lock-unknown': refusal('SF350', {
    example: { path: 'defaults.lock' },
    text: ({ path }) =>
      `${path}: "on" needs Kubernetes 1.35 on every node, and kubernetesVersion is older; leave it out`,
    means:
      'An older node would ignore the lock and start the app at once, although the configuration says that it is locked.',
    next: 'Leave it out until every node runs Kubernetes 1.35. If all do, correct `kubernetesVersion`.',
  }),
  'values-missing': refusal('SF326', {
    example: { path: 'matchExpressions[0].values', operator: 'In' },
    text: ({ path, operator }) => `${path}: ${operator} needs at least one`,
    means: 'The operator compares with values, and none is given.',
    next: 'List at least one value.',
  }),
  'values-unused': refusal('SF327', {
    example: { path: 'matchExpressions[0].values', operator: 'Exists' },
    text: ({ path, operator }) => `${path}: ${operator} takes none; leave them out`,
    means: 'The operator looks at the key only.',
    next: 'Remove the values.',
  }),
  'duplicate-rule': refusal('SF328', {
    example: { rule: 'mesh', index: 0 },
    text: ({ rule, index }) => `${quote(rule)} is already the name of rules[${index}]`,
    means: 'Two rules have one name, so answers could not say which one it was.',
    next: 'Rename one of the two.',
  }),
  'never-matches': note('SF329', {
    example: { rule: 'envoy', other: 'everything' },
    text: ({ rule, other }) => `the rule ${rule} never matches: the rule ${other} before it takes all its containers`,
    means: 'The first rule that matches a container wins, and an earlier one matches all of these.',
    next: 'Put the narrower rule first.',
  }),
  'checks-share-tier': note('SF330', {
    example: { rule: 'envoy', other: 'otel', tier: 10 },
    text: ({ rule, other, tier }) =>
      `the rules ${other} and ${rule} share tier ${tier}, but both checks must run in their own container, and a tier can have only one such: give them two tiers`,
    means:
      'Pods that both rules match would be left untouched: some checks run in their own container, and a tier has one hook.',
    next: 'Give the two rules different tiers.',
  }),
  'only-enforced': note('SF336', {
    example: { path: 'rules[0].exempt' },
    text: ({ path }) => `${path} changes nothing: the rule isn't enforced`,
    means: 'The key says what an enforced rule lets by, and this rule refuses nothing.',
    next: 'Take it away, or write `enforce: true` or `enforce: audit`.',
  }),
  'restarts-unused': note('SF337', {
    example: { path: 'defaults.lockRestarts' },
    text: ({ path }) => `${path} changes nothing: lock.lease is off`,
    means: 'Without a lease, no later start waits for its sidecars.',
    next: 'Remove it, or let `lock.lease` be `on`.',
  }),
  'end-by-shell': note('SF338', {
    example: { path: 'defaults.end' },
    text: ({ path }) => `${path}: last asks for what the delivery shell can't do`,
    means:
      'A pod that is delivered with `shell` and has a sidecar that would have to wait is refused, or left alone if only a rule asks for it.',
    next: 'Let `waiter.delivery` be `init-container` or `image-volume`, or remove it.',
  }),
  'no-enforced-rule': note('SF332', {
    example: { path: 'enforced.failurePolicy' },
    text: ({ path }) => `${path} changes nothing: no rule has enforce: true`,
    means: 'The section is about enforced rules, and the configuration has none.',
    next: 'Remove the section, or set enforce: true in a rule.',
  }),
  'too-many-rules': note('SF331', {
    text: 'there are too many rules to compare this one and later ones with all others',
    means:
      'The comparison of rules takes at most half a second. All rules take effect; only notices about the rest are missing.',
    next: 'Nothing, or use fewer globs.',
  }),
}
export type Fault = Values<typeof faults>

/** Something in a configuration file, and where; both count from 1. */
export interface Remark {
  readonly line: number
  readonly column: number
  readonly fault: Fault
}

/** The public code; where a value is wrong, that of what is wrong with it. */
export const faultCode = (fault: Fault): Code => tell(faults, fault).code

export const faultText = (fault: Fault): string => wordsFor(faults, fault)

/** One line for a remark on a file, without its code. */
export const remarkWords = (file: string, { line, column, fault }: Remark): string =>
  `${file}:${line}:${column}: ${faultText(fault)}`

/** One line for a remark on a file. */
export const remarkText = (file: string, { line, column, fault }: Remark): string =>
  `${file}:${line}:${column}: ${faultCode(fault)} ${faultText(fault)}`

/** Admission has none of these kinds. */
const isWrongValue = (problem: WrongValue | Problem): problem is WrongValue => Object.hasOwn(values, problem.kind)

/** `did you mean X?`, or all there are. */
function suggest(text: string, choices: readonly string[]): string {
  const near = nearest(text, choices)
  return near === undefined ? `known are ${choices.join(', ')}` : `did you mean ${near}?`
}
