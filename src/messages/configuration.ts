import type { Fault, WrongValue } from '../configuration/faults.ts'
import type { Entries } from './entry.ts'

const see = 'docs/rules.md lists all keys and what they take.'

/** What is wrong with a value of a configuration file. */
export const values: Entries<WrongValue> = {
  'not-text': {
    means: 'The key takes text, and YAML reads something else there.',
    example: { is: 'a number' },
    next: 'Put quotes around the value.',
  },
  'not-the-value': {
    means: 'The key takes one value only.',
    example: { text: 'v2', value: 'sidecar-first.dev/v1' },
    next: 'Write that value.',
  },
  'not-a-version': {
    means: 'kubernetesVersion is the version of the oldest node, as two numbers.',
    example: { text: 'latest' },
    next: 'Write it like `"1.36"`, in quotes.',
  },
  'not-an-image': {
    means: 'The text cannot be the name of a container image.',
    example: { text: 'waiter image' },
    next: 'Write REGISTRY/NAME:TAG.',
  },
  'not-a-runtime-class': {
    means: 'lock.runtimeClasses lists the names that pods give as their runtimeClassName.',
    example: { text: 'gVisor!' },
    next: 'Write a name that `kubectl get runtimeclasses` shows.',
  },
  'not-a-rule-name': {
    means: "A rule's name stands in answers and annotations, so it is short and plain.",
    example: { text: 'my rule!' },
    next: 'Use lower-case letters, digits and `-`.',
  },
  'not-a-preset': {
    means: 'No preset has that name.',
    example: { text: 'isto', known: ['istio', 'linkerd'] },
    next: 'docs/presets.md lists them all.',
  },
  'not-a-container-glob': {
    means: 'The pattern has characters that no container name can have, so it would never match.',
    example: { text: 'Envoy_*' },
    next: 'Correct it; only `*` is special.',
  },
  'not-an-image-glob': {
    means: 'The pattern has characters that no image can have, so it would never match.',
    example: { text: '*/proxy v2' },
    next: 'Correct it; only `*` is special.',
  },
  'not-a-pod-glob': {
    means: 'An exemption names pods of one namespace.',
    example: { text: 'checkout-*' },
    next: 'Write the namespace, a slash and a name; `*` stands for any characters of the name.',
  },
  'not-a-container': {
    means: 'The value cannot be the name of a container.',
    example: { text: 'istio-*' },
    next: 'Write the whole name.',
  },
  'not-a-label-key': {
    means: 'Kubernetes allows no label with that key.',
    example: { text: 'app name' },
    next: 'Correct the key.',
  },
  'not-a-label-value': {
    means: 'Kubernetes allows no label with that value.',
    example: { text: 'web*' },
    next: 'Correct the value; use matchExpressions with several values instead of a pattern.',
  },
}

/** What is wrong in a configuration file. */
export const faults: Entries<Exclude<Fault, { kind: 'wrong-value' }>> = {
  'invalid-yaml': {
    means: 'The file is not YAML.',
    example: { message: 'invalid YAML: missing closing "quote' },
    next: 'Correct it at the line that the message names.',
  },
  unreadable: {
    means: 'The file cannot be read.',
    example: { message: 'permission denied' },
    next: 'Look at its path and rights.',
  },
  'second-document': {
    means: 'A configuration is one YAML document.',
    next: 'Remove everything from the second `---` on, or merge the two.',
  },
  'not-an-object': {
    means: 'A mapping is expected there.',
    example: { path: 'rules[0].match', is: 'a list' },
    next: see,
  },
  'not-a-list': { means: 'A list is expected there.', example: { path: 'rules', is: 'an object' }, next: see },
  'not-a-number': {
    means: 'A whole number within bounds is expected there.',
    example: { path: 'rules[0].tier', least: 0, most: 1000, is: 'text' },
    next: 'Write a number without quotes.',
  },
  'not-a-boolean': {
    means: 'true, false or one word is expected there.',
    example: { path: 'rules[0].enforce', is: 'text', word: 'audit' },
    next: 'Write it without quotes.',
  },
  'unknown-key': {
    means: 'No key of that name has a meaning there. It would be ignored, so the file is refused instead.',
    example: { path: 'rules[0]', key: 'chekc', known: ['check', 'tier'] },
    next: see,
  },
  'key-missing': {
    means: 'The key is required.',
    example: { key: 'apiVersion', value: 'sidecar-first.dev/v1' },
    next: 'Write the line that the message names.',
  },
  'enforced-probe-gone': {
    means: 'Without its probe, only the hook would say what to wait for, and anyone can write a hook.',
    example: { path: 'rules[0].startupProbe' },
    next: 'Give the rule a `check`, or use `startupProbe: eager`.',
  },
  'locks-nothing': {
    means: 'An enforced rule would promise a lock, and no hook of sidecar-first could open one.',
    example: { path: 'rules[0].lock', by: 'check: none' },
    next: 'Give the rule a `check` and let `existingHook` be `chain`, or take `lock: on` away.',
  },
  'too-many-entries': {
    means: 'Each entry is compared with pods one by one, so there can only be a few.',
    example: { path: 'rules[0].exempt', count: 100, most: 64 },
    next: 'Use `*`, or a podSelector.',
  },
  missing: { means: 'The key is required.', example: { path: 'rules[0].name' }, next: see },
  'choice-missing': {
    means: 'The key is required.',
    example: { path: 'rules[0].match.podSelector.matchExpressions[0].operator', choices: ['In', 'Exists'] },
    next: 'Use one of the listed values.',
  },
  'tier-missing': {
    means: 'A rule says in which tier its containers start.',
    example: { path: 'rules[0].tier' },
    next: 'Write `tier: 10`, or another number.',
  },
  'matches-nothing': {
    means: 'A rule has to say which containers are sidecars.',
    example: { path: 'rules[0].match' },
    next: 'Add containers, images or a preset.',
  },
  'hook-bounds-itself': {
    means: 'A `hook:` check ends by itself; a timeout would never take effect.',
    example: { path: 'rules[0].timeout' },
    next: 'Remove it.',
  },
  'lock-unknown': {
    means:
      'An older node would ignore the lock and start the app at once, although the configuration says that it is locked.',
    example: { path: 'defaults.lock' },
    next: 'Leave it out until every node runs Kubernetes 1.35. If all do, correct `kubernetesVersion`.',
  },
  'values-missing': {
    means: 'The operator compares with values, and none is given.',
    example: { path: 'matchExpressions[0].values', operator: 'In' },
    next: 'List at least one value.',
  },
  'values-unused': {
    means: 'The operator looks at the key only.',
    example: { path: 'matchExpressions[0].values', operator: 'Exists' },
    next: 'Remove the values.',
  },
  'duplicate-rule': {
    means: 'Two rules have one name, so answers could not say which one it was.',
    example: { rule: 'mesh', index: 0 },
    next: 'Rename one of the two.',
  },
  'never-matches': {
    means: 'The first rule that matches a container wins, and an earlier one matches all of these.',
    example: { rule: 'envoy', other: 'everything' },
    next: 'Put the narrower rule first.',
  },
  'checks-share-tier': {
    means:
      'Pods that both rules match would be left untouched: some checks run in their own container, and a tier has one hook.',
    example: { rule: 'envoy', other: 'otel', tier: 10 },
    next: 'Give the two rules different tiers.',
  },
  'only-enforced': {
    means: 'The key says what an enforced rule lets by, and this rule refuses nothing.',
    example: { path: 'rules[0].exempt' },
    next: 'Take it away, or write `enforce: true` or `enforce: audit`.',
  },
  'no-enforced-rule': {
    means: 'The section is about enforced rules, and the configuration has none.',
    example: { path: 'enforced.failurePolicy' },
    next: 'Remove the section, or set enforce: true in a rule.',
  },
  'too-many-rules': {
    means:
      'The comparison of rules takes at most half a second. All rules take effect; only notices about the rest are missing.',
    next: 'Nothing, or use fewer globs.',
  },
}
