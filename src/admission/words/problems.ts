import { bounded } from './bounded.ts'
import { define } from './define.ts'
import { keys, perContainer } from './keys.ts'
import { nearest } from './nearest.ts'
import { quote } from './quote.ts'
import type { Values } from './values.ts'

/** What a field has to be. */
const shapes = {
  map: 'a map',
  list: 'a list',
  text: 'text; put quotes around it',
  number: 'a whole number',
  port: "a port's number or name",
  command: 'a list of strings, a program first',
  quantities: 'quantities',
  hook: 'exec, httpGet, sleep or tcpSocket',
  scheme: 'HTTP or HTTPS',
  containers: 'at least one container',
  boolean: '"true" or "false", in quotes',
  reviewVersion: 'admission.k8s.io/v1',
  review: 'AdmissionReview',
} as const
export type Shape = keyof typeof shapes

const checkForms =
  'probe, none, http://:PORT/PATH, https://, tcp://, grpc://, unix:///PATH, file:///PATH, exec:["…"] or hook:["…"]'

/** What a text is a misspelling of. */
export const mean = (near: string | undefined) => (near === undefined ? '' : `; did you mean ${near}?`)
const didYouMean = (text: string, choices: readonly string[]) => mean(nearest(text, choices))

/** The form of a check is what it begins with. */
function nearCheck(text: string): string {
  const near = nearest(text.split(':', 1)[0] ?? '', checkKinds)
  return mean(near === undefined || text.startsWith(`${near}:`) ? undefined : near)
}
const checkKinds = ['probe', 'none', 'http', 'https', 'tcp', 'grpc', 'unix', 'file', 'exec', 'hook']

interface At {
  /** Counted from 1. */
  readonly character: number
  readonly text: string
}
const at = ({ character, text }: At) => `at character ${character} of ${quote(text)}`

export interface MissingPort {
  readonly container: string
  readonly port: string
  /** The names of those it has. */
  readonly ports: readonly string[]
}

export function noPort({ container, port, ports }: MissingPort): string {
  const there = ports.length === 0 ? 'no named ports' : `the ports ${ports.join(', ')}`
  return `${container} has no port ${quote(port)}; it has ${there}`
}

const check = `${perContainer.check}envoy`
const timeout = `${perContainer.timeout}envoy`
const otherWebhook =
  'Run `sidecar-first check`: it names webhooks that are called after ours, and replicas that did not answer.'
const rename = 'Rename it: sidecar-first needs that name for what it adds.'

const refusal = define('refusal')

/** What makes a pod invalid. Where the annotation or field is known, it is the `path`, and the text begins with it. */
export const problems = {
  'unexpected-value': refusal<{ expected: Shape }>('SF101', {
    path: 'spec.containers[0].name',
    example: { expected: 'text' },
    text: ({ expected }) => `expected ${shapes[expected]}`,
    means:
      'An annotation or a field of the manifest has a value of another type. In YAML, `on`, `true` and `5` without quotes are not text.',
    next: 'Write the value in the form that the message names; annotations always need quotes around numbers and booleans.',
  }),
  'too-many-annotations': refusal('SF102', {
    path: 'metadata.annotations',
    example: { characters: 300_000, most: 262_144 },
    text: ({ characters, most }) =>
      `the annotations have ${characters.toLocaleString('en')} characters; Kubernetes takes ${most / 1024} KiB together`,
    means: 'All annotations of the pod together, keys and values, are larger than Kubernetes stores.',
    next: 'Move large values into a ConfigMap.',
  }),
  'too-many-containers': refusal('SF103', {
    path: 'spec',
    example: { count: 1000, most: 512 },
    text: ({ count, most }) =>
      `the pod has ${count.toLocaleString('en')} containers; sidecar-first looks at most at ${most}`,
    means: 'The pod has more containers than sidecar-first looks at, so that no pod can keep it busy.',
    next: 'Split the pod, or take its annotations away.',
  }),
  'review-too-large': refusal('SF158', {
    example: { what: 'bytes', has: 20_000_000, most: 10_485_760 },
    text: ({ what, has, most }) =>
      `the review of this pod has ${has.toLocaleString('en')} ${what}; sidecar-first reads at most ${most.toLocaleString('en')}`,
    means:
      'The pod is larger, or more deeply nested, than any that could be stored and run; it is not read, so that no pod can keep sidecar-first busy.',
    next: 'Look for an accident in what generates it.',
  }),
  'answer-too-large': refusal('SF159', {
    example: { has: 2_000_000, most: 1_048_576 },
    text: ({ has, most }) =>
      `the answer about this pod would have at least ${has.toLocaleString('en')} bytes; sidecar-first sends at most ${most.toLocaleString('en')}`,
    means: 'The changes to the pod would be larger than what is sent to the API server.',
    next: 'Name fewer sidecars, or shorten their hooks and probes.',
  }),
  'duplicate-container': refusal('SF104', {
    path: 'spec.containers[1].name',
    example: { name: 'envoy' },
    text: ({ name }) => `another container is called ${name}`,
    means: 'Two containers of the pod have one name. Kubernetes would refuse it as well.',
    next: 'Rename one of the two.',
  }),
  'unknown-choice': refusal('SF105', {
    path: keys.gate,
    example: { text: 'nativ', choices: ['hook', 'native', 'auto'] },
    text: ({ text, choices }) => `${quote(text)} is not one of ${choices.join(', ')}${didYouMean(text, choices)}`,
    means: 'The value is none of those that the annotation takes.',
    next: 'Use one of the listed values.',
  }),
  'not-a-duration': refusal('SF106', {
    path: keys.timeout,
    example: { text: '5 minutes', range: '1s to 24h' },
    text: ({ text, range }) => `${quote(text)} is not a duration; use ${range}, such as 1m30s`,
    means: 'The value cannot be read as a duration.',
    next: 'Write hours, minutes and seconds without spaces: `90s`, `1m30s`, `2h`.',
  }),
  'duration-out-of-range': refusal('SF107', {
    path: keys.timeout,
    example: { text: '48h', range: '1s to 24h' },
    text: ({ text, range }) => `${quote(text)} is out of range; use ${range}`,
    means: 'The duration is shorter or longer than what can be waited for.',
    next: 'Use a duration in the range that the message names.',
  }),
  'not-lock-restarts': refusal<{ text: string; near: string | undefined }>('SF175', {
    path: keys.lockRestarts,
    example: { text: '45s', near: '30s' },
    text: ({ text, near }) =>
      `${quote(text)} is neither a duration from 0s to 30s nor always${near === undefined ? '' : `; did you mean ${near}?`}`,
    means: "The value isn't one that says how long a later start waits for its sidecars.",
    next: 'Write `5s`, `0s`, another duration up to `30s`, or `always`.',
  }),
  'not-a-check': refusal('SF108', {
    path: check,
    example: { text: 'localhost:8080/ready' },
    text: ({ text }) => `${quote(text)} is not a check; use ${checkForms}${nearCheck(text)}`,
    means: 'The value begins like none of the checks.',
    next: "Write it in one of the listed forms, such as `http://:8080/ready`. The pod's own loopback address is asked, so the host is left out.",
  }),
  'check-syntax': refusal('SF109', {
    path: check,
    example: { expected: 'a port', character: 9, text: 'http://:/ready' },
    text: (data) => `expected ${data.expected} ${at(data)}`,
    means: 'The check has a known form, but something in it is missing or misplaced.',
    next: 'Correct it at the character that the message names.',
  }),
  'check-not-allowed': refusal('SF110', {
    path: check,
    example: { allowed: ['http', 'tcp'] },
    text: ({ allowed }) => `this cluster's configuration allows annotations only ${allowed.join(', ')} checks`,
    means:
      'The configuration limits which checks annotations may use (`annotations.checks`), and this is not one of them.',
    next: 'Use one of the allowed checks, or ask the owner of the configuration for a rule.',
  }),
  'hook-bounds-itself': refusal('SF111', {
    path: timeout,
    example: { check },
    text: ({ check }) => `the hook in ${check} sets its own limit; remove one of the two`,
    means:
      'A `hook:` check runs as it is and ends by itself; a timeout or an action on timeout would never take effect.',
    next: 'Remove the annotation, or use an `exec:` check, which sidecar-first repeats until the timeout.',
  }),
  'container-name-expected': refusal('SF112', {
    path: keys.sidecars,
    example: { character: 7, text: 'envoy,,otel' },
    text: (data) => `expected a container name ${at(data)}`,
    means: 'The list of sidecars has an empty place, such as two commas in a row.',
    next: 'Remove the comma or plus, or write the missing name.',
  }),
  'star-not-alone': refusal('SF113', {
    path: keys.sidecars,
    example: { character: 9, text: 'envoy + *' },
    text: (data) => `"*" has to stand alone between commas, ${at(data)}`,
    means: '`*` stands for the tiers that rules add, so it cannot share a tier with names.',
    next: 'Put it between commas: `envoy, *`.',
  }),
  'too-many-named': refusal('SF114', {
    path: keys.sidecars,
    example: { most: 512 },
    text: ({ most }) => `more than ${most} names; a pod has at most that many containers`,
    means: 'The list has more names than a pod can have containers.',
    next: 'List only containers of this pod.',
  }),
  'not-a-container-name': refusal('SF115', {
    path: keys.sidecars,
    example: { name: 'Envoy', character: 1, text: 'Envoy' },
    text: (data) => `${quote(data.name)} is not a container name, ${at(data)}`,
    means: 'Kubernetes allows no container of that name: names have lower-case letters, digits and `-`.',
    next: "Write the container's name as it stands in the pod.",
  }),
  'named-twice': refusal('SF116', {
    path: keys.sidecars,
    example: { name: 'envoy', character: 14, text: 'envoy, otel, envoy' },
    text: (data) => `${quote(data.name)} is named twice, again ${at(data)}`,
    means: 'A container is in the list twice, so its place is not clear.',
    next: 'Remove one of the two.',
  }),
  'no-app-left': refusal('SF117', {
    path: keys.gate,
    text: `native would leave no app container: ${keys.sidecars} names them all; leave the app out`,
    means:
      'With the native gate, sidecars become init containers. If all containers are named, the pod is left without any, and Kubernetes refuses it.',
    next: 'Name only the sidecars, not the app.',
  }),
  'ends-before-app': refusal('SF118', {
    path: keys.sidecars,
    example: { name: 'migrate' },
    text: ({ name }) => `${name} is an init container that ends before the app starts; nothing has to wait for it`,
    means: 'An ordinary init container is named as a sidecar. It has ended before any container starts.',
    next: 'Take it out of the list.',
  }),
  'restart-policy-set': refusal('SF119', {
    path: keys.gate,
    example: { name: 'envoy' },
    text: ({ name }) => `native sets a restartPolicy, and ${name} already has one; remove it or use hook`,
    means: 'The native gate sets `restartPolicy: Always` on the container, and it has another one.',
    next: "Remove the container's `restartPolicy`, or use `gate: hook`.",
  }),
  'check-beside-hook': refusal('SF120', {
    path: check,
    example: { name: 'envoy' },
    text: ({ name }) => `${name} already has a different PostStart hook; remove one of the two`,
    means: 'The container has a PostStart hook and a `hook:` check, and a container can have only one hook.',
    next: 'Remove one of the two; any other check is chained behind the hook that is there.',
  }),
  'hook-refused': refusal('SF121', {
    path: keys.existingHook,
    example: { name: 'envoy' },
    text: ({ name }) => `${name} has a PostStart hook, which "refuse" rules out; remove it or use chain`,
    means: 'The container already has a PostStart hook, and `existing-hook: refuse` says that it must not.',
    next: 'Remove the hook, or use `chain`, which runs it first.',
  }),
  'hook-unreadable': refusal<{ name: string; hook: 'postStart' | 'preStop' }>('SF122', {
    example: { name: 'envoy', hook: 'postStart' },
    text: ({ name, hook }) =>
      `container ${name} has a hook that another version of sidecar-first wrote and this one cannot read; remove its lifecycle.${hook}`,
    means:
      'The manifest contains a hook that another version of sidecar-first wrote, for example because a patched pod was exported and applied again.',
    next: "Remove that hook from the container's `lifecycle`; it is written again.",
  }),
  'tier-of-two-hooks': refusal('SF123', {
    path: keys.sidecars,
    example: { names: ['envoy', 'otel'] },
    text: ({ names }) =>
      `${names.join(' and ')} can't share a tier: each needs the hook in its own container (an exec, file, unix or hook check, or a PostStart hook it already has); write "${names.join(', ')}"`,
    means:
      'One hook waits for a whole tier, and some checks only work in their own container. Two of those cannot share a tier.',
    next: 'Separate the two with a comma, so that they start one after the other.',
  }),
  'tcp-hook': refusal('SF124', {
    example: { name: 'envoy' },
    text: ({ name }) => `${name} has a tcpSocket PostStart hook, which the kubelet always fails; remove it`,
    means: 'The kubelet has never implemented tcpSocket hooks; it kills the container.',
    next: 'Remove the hook. A `tcp://:PORT` check waits for a port.',
  }),
  'hook-cannot-run': refusal('SF125', {
    example: { name: 'envoy' },
    text: ({ name }) =>
      `${name} has a PostStart hook that can't run: its program is empty or a word has a NUL; remove it`,
    means: 'The hook that is there would fail in any case, and the kubelet would kill the container.',
    next: 'Remove the hook or correct its command.',
  }),
  'shell-http-hook': refusal('SF126', {
    path: keys.waiter,
    example: { name: 'envoy' },
    text: ({ name }) => `the shell form can't chain the httpGet hook of ${name}; use init-container`,
    means: 'With `waiter: shell`, an existing hook becomes part of a shell command, which an httpGet hook cannot.',
    next: 'Use `waiter: init-container`.',
  }),
  'shell-check': refusal('SF127', {
    path: keys.waiter,
    example: { name: 'envoy', check: 'a grpc check' },
    text: ({ name, check }) => `the shell form polls http and tcp only, and ${name} has ${check}; use init-container`,
    means: 'With `waiter: shell`, only `http://` and `tcp://` checks can be asked.',
    next: 'Use `waiter: init-container`, or another check.',
  }),
  'end-by-shell': refusal('SF177', {
    path: keys.end,
    example: { name: 'envoy' },
    text: ({ name }) => `the shell form can't have ${name} end last; use init-container`,
    means: 'With `waiter: shell`, no process can hold what says that a container still runs.',
    next: 'Use `waiter: init-container`, or `end: together`.',
  }),
  'end-too-large': refusal('SF180', {
    path: keys.end,
    example: { count: 14_400, most: 2048 },
    text: ({ count, most }) =>
      `the sidecars would wait for ${count} ends; at most ${most} are possible, so end fewer of them last`,
    means:
      'Each sidecar that ends last names every container behind it, and a pod with many of both would grow too large.',
    next: 'Let fewer sidecars end last, or join tiers with `+`.',
  }),
  'hook-too-large': refusal('SF128', {
    example: { name: 'envoy', cause: 'its own hook' },
    text: ({ name, cause }) =>
      `the hook of ${name} would be more than 96 KiB because of ${cause}, and the kernel takes 128 KiB in one argument; move the command into a script`,
    means: "The hook's command would be longer than an argument of a process may be, so it could never run.",
    next: 'Move the long command into a script in the image.',
  }),
  'hook-port-missing': refusal('SF129', {
    example: { name: 'envoy', port: 'admin' },
    text: ({ name, port }) => `the PostStart hook of ${name} asks the port ${quote(port)}, which it doesn't have`,
    means: 'The hook that is there names a port that the container does not declare, so the kubelet would fail it.',
    next: "Correct the port's name, or declare the port.",
  }),
  'hook-header-unsendable': refusal('SF130', {
    example: { name: 'envoy', header: 'X-A: b\n' },
    text: ({ name, header }) => `the PostStart hook of ${name} has a header ${quote(header)} that HTTP can't carry`,
    means: 'The hook that is there has an HTTP header that no client can send.',
    next: "Correct the header's name or value.",
  }),
  'port-missing': refusal('SF131', {
    path: check,
    example: { container: 'envoy', port: 'admin', ports: ['http'] },
    text: noPort,
    means: 'A check names a port that the container does not declare.',
    next: 'Use one of its ports, or a number.',
  }),
  'name-taken': refusal<{ what: 'volume' | 'container' | 'init container'; name: string }>('SF132', {
    example: { what: 'volume', name: 'sidecar-first-waiter' },
    text: ({ what, name }) => `the ${what} ${name} is not ours; rename it, sidecar-first needs the name`,
    means: 'The pod has something of its own under a name that sidecar-first needs.',
    next: rename,
  }),
  'mount-taken': refusal('SF133', {
    example: { name: 'envoy', directory: '/.sidecar-first' },
    text: ({ name, directory }) =>
      `the mount ${directory} of ${name} is not ours; move it, sidecar-first needs the path`,
    means: 'The container has another volume mounted where its hook expects the waiter.',
    next: 'Mount that volume elsewhere.',
  }),
  'lock-unknown': refusal('SF160', {
    path: keys.lock,
    example: { version: '1.34' },
    text: ({ version }) =>
      `"on" needs Kubernetes 1.35 on every node, and the configuration's kubernetesVersion is ${version}: older nodes would start the app at once; leave the lock out`,
    means:
      'The lock is a variable that the kubelet reads from a file, which Kubernetes has from 1.35 on. An older API server would drop it and refuse the pod, an older kubelet would ignore it.',
    next: 'Leave the lock out until every node runs 1.35. If all do, correct `kubernetesVersion` in the configuration.',
  }),
  'lock-too-large': refusal('SF161', {
    path: keys.lock,
    example: { count: 2100, most: 2048 },
    text: ({ count, most }) =>
      `the lock would add more than ${most} variables (at least ${count}): one to each container for each tier before it; use fewer tiers, or set it to off`,
    means: 'Every container gets a variable for each tier before it, and a pod with many of both would grow too large.',
    next: 'Join sidecars to fewer tiers with `+`, or leave the lock out.',
  }),
  'variable-taken': refusal('SF162', {
    example: { name: 'app', variable: 'SIDECAR_FIRST_READY_1' },
    text: ({ name, variable }) =>
      `the variable ${quote(variable)} of ${name} is not ours; rename it, sidecar-first needs the name`,
    means:
      'A container has an environment variable with a name that the lock needs, and its value comes from elsewhere.',
    next: 'Rename it: sidecar-first needs that name for what it adds.',
  }),
  'lock-mounted': refusal('SF163', {
    example: { name: 'app' },
    text: ({ name }) =>
      `an enforced rule lets only sidecars write that they are ready, and ${name} mounts the volume sidecar-first-lock; remove that mount`,
    means: 'Whoever can write to the volume of the lock can open it, and an enforced rule lets only sidecars do that.',
    next: 'Remove the mount.',
  }),
  /** What would open the gate of an enforced rule. */
  'not-the-waiter': refusal<{ what: 'volume' | 'init container'; image: string }>('SF134', {
    example: { what: 'init container', image: 'example.com/mirror/waiter:1' },
    text: ({ what, image }) =>
      `an enforced rule needs the waiter's own image, and the ${what} sidecar-first-waiter has ${quote(image)}; if that is a mirror, allow it in the configuration under waiter.mirrors`,
    means: "The pod's author delivers another image as the waiter. Under an enforced rule that would open the gate.",
    next: 'Remove it from the manifest; or, if it is a mirror of yours, list it under `waiter.mirrors` in the configuration.',
  }),
  'waiter-too-old': refusal('SF168', {
    example: { image: 'sidecar-first/waiter:0.1.0' },
    text: ({ image }) =>
      `the template brings the waiter ${quote(image)}, which doesn't know what an enforced rule asks of it; write the template again with inject`,
    means:
      'inject of 0.1 wrote the template with its waiter. An enforced rule rewrites the hook, and that waiter would refuse it.',
    next: 'Write the template again with the present `sidecar-first inject`, or take out what `inject` wrote where the webhook runs.',
  }),
  'installer-changed': refusal('SF135', {
    example: { part: 'env' },
    text: ({ part }) =>
      `an enforced rule needs the init container sidecar-first-waiter as sidecar-first writes it, and it has ${part}; remove that`,
    means:
      'The init container that delivers the waiter is not as sidecar-first writes it. Under an enforced rule that would open the gate.',
    next: 'Remove it from the manifest; it is written again.',
  }),
  'waiter-writable': refusal('SF136', {
    example: { name: 'app', at: '/tmp/w' },
    text: ({ name, at }) =>
      `an enforced rule lets nobody change the waiter, and ${name} mounts the volume sidecar-first-waiter writable at ${quote(at)}; make that mount readOnly`,
    means: 'A container could replace the waiter before it runs. Under an enforced rule that would open the gate.',
    next: 'Remove the mount, or make it `readOnly: true`.',
  }),
  'waiter-covered': refusal('SF137', {
    example: { name: 'envoy', at: '/.sidecar-first' },
    text: ({ name, at }) =>
      `an enforced rule needs the waiter itself at /.sidecar-first, and ${name} has something else at ${quote(at)}; move it`,
    means: 'A volume hides the waiter from the hook. Under an enforced rule that would open the gate.',
    next: 'Mount that volume elsewhere.',
  }),
  'starts-in-front': refusal<{ name: string; native: boolean; sidecar: string; rule: string }>('SF169', {
    example: { name: 'istio-proxy', native: false, sidecar: 'envoy', rule: 'egress' },
    text: ({ name, native, sidecar, rule }) =>
      native
        ? `the init container ${name} keeps running and starts before ${sidecar}, whose rule ${rule} is enforced; make it a regular container, or let it by in the configuration: allowNatives in the rule, or enforced.inFront`
        : `${name} has a PostStart hook and the name of a mesh's proxy, so it starts before ${sidecar}, whose rule ${rule} is enforced; if it is the proxy, let it by in the configuration under enforced.inFront`,
    means:
      'The rule is enforced, and the container would run before its sidecar is ready. A mesh proxy is refused and not moved: behind another sidecar it could leave that without a network.',
    next: "Start the container behind the sidecar. If it has to be in front, name it in the rule's `allowNatives`, or with its image under `enforced.inFront`; `sidecar-first check` proposes the entries for what runs.",
  }),
  'not-locked': refusal('SF170', {
    example: { name: 'envoy', rule: 'mesh' },
    text: ({ name, rule }) =>
      `the enforced rule ${rule} wants the app locked until ${name} is ready, and no hook of sidecar-first can tell: give ${name} a probe that can be asked, or the rule a check`,
    means:
      'The rule has `lock: on`, and nothing could unlock the app: the sidecar has no check, or only the kubelet can ask it.',
    next: 'Give the rule a `check`, or the sidecar a readinessProbe that can be written as one.',
  }),
  'processes-shared': refusal('SF171', {
    example: { name: 'helper', by: 'shareProcessNamespace' },
    text: ({ name, by }) =>
      `with ${by}, ${name} could open an enforced lock from outside before the sidecars are ready; take away ${by}, or start ${name} behind them`,
    means:
      "A process that sees the sidecar's processes can write into their files, so it could open the lock before the sidecar is ready.",
    next: 'Take the field away. A container that starts behind the sidecars may keep it.',
  }),
  'image-unread': refusal('SF172', {
    example: { name: 'envoy', most: 520 },
    text: ({ name, most }) =>
      `the image of ${name} has more than ${most} characters, so an enforced rule can't tell whether it is about it; use a shorter name`,
    means:
      'The image is longer than any that a registry can have, so it is not compared with the rules; an enforced one could be about it.',
    next: 'Write the image with its tag or its digest, without what is superfluous.',
  }),
  /** What a final pod lacks. */
  'wrong-list': refusal('SF139', {
    example: { name: 'envoy', list: 'initContainers' },
    text: ({ name, list }) => `${name} has to be in spec.${list} with restartPolicy: Always`,
    means: 'The final pod has the sidecar in another list than the plan, after all webhooks.',
    next: otherWebhook,
  }),
  'wrong-place': refusal<{ name: string; place: string; instead: string | undefined }>('SF140', {
    example: { name: 'envoy', place: 'spec.containers[0]', instead: 'app' },
    text: ({ name, place, instead }) =>
      `${name} has to be at ${place}${instead === undefined ? '' : `, before ${instead}, which is there now`}`,
    means: 'The final pod has the sidecar behind a container that should wait for it.',
    next: otherWebhook,
  }),
  'hook-left-over': refusal('SF141', {
    example: { name: 'envoy' },
    text: ({ name }) => `${name} still has a hook of ours that no tier needs`,
    means: 'The final pod has a hook of ours where the plan has none.',
    next: otherWebhook,
  }),
  'hook-missing': refusal('SF142', {
    example: { name: 'envoy' },
    text: ({ name }) => `${name} lacks the PostStart hook that holds the app back`,
    means: 'The final pod has lost the hook that holds the app back, or never got it.',
    next: otherWebhook,
  }),
  'lease-differs': refusal('SF176', {
    example: { name: 'envoy' },
    text: ({ name }) => `the PostStart hook of ${name} doesn't hold later starts back as its enforced rule says`,
    means:
      'In the final pod, the `lease` or the `restarts` of a hook are others than the rule or the configuration says.',
    next: otherWebhook,
  }),
  'startup-probe-differs': refusal<{ name: string; wanted: 'eager' | 'removed' }>('SF150', {
    example: { name: 'envoy', wanted: 'eager' },
    text: ({ name, wanted }) =>
      wanted === 'eager'
        ? `the startupProbe of ${name} isn't asked every second from its start`
        : `${name} still has its startupProbe`,
    means: "The final pod's startupProbe isn't as `startup-probe` wants it.",
    next: otherWebhook,
  }),
  'mount-missing': refusal('SF143', {
    example: { name: 'envoy' },
    text: ({ name }) => `${name} lacks the mount of the waiter that its hook runs`,
    means: "The final pod's hook could not run: the waiter is not mounted.",
    next: otherWebhook,
  }),
  'volume-missing': refusal('SF144', {
    example: { image: false },
    text: ({ image }) =>
      `the volume of the waiter is missing${image ? '; an API server without image volumes drops it (they are on by default from Kubernetes 1.35): use the delivery init-container' : ''}`,
    means: "The final pod's hook could not run: the waiter's volume is missing.",
    next: otherWebhook,
  }),
  'installer-missing': refusal('SF145', {
    text: 'the init container that delivers the waiter is missing',
    means: "The final pod's hook could not run: nothing copies the waiter into its volume.",
    next: otherWebhook,
  }),
  'end-hook-missing': refusal('SF178', {
    example: { name: 'envoy' },
    text: ({ name }) => `${name} lacks the preStop hook by which the pod ends in its order`,
    means: 'The final pod has lost the preStop hook that waits until the app has ended, or the one that tells of it.',
    next: otherWebhook,
  }),
  'end-mount-missing': refusal('SF179', {
    example: { name: 'app' },
    text: ({ name }) => `${name} lacks the mount of sidecar-first-ends, in which its end is seen`,
    means: 'The preStop hooks tell each other of their ends in a volume, and it is not mounted in this container.',
    next: otherWebhook,
  }),
  'lock-missing': refusal('SF164', {
    text: 'the volume of the lock is missing or not in memory',
    means:
      'The final pod is to be locked, and the volume of the lock is missing, or on disk, where it would outlast a reboot.',
    next: otherWebhook,
  }),
  'lock-mount-missing': refusal('SF165', {
    example: { name: 'envoy' },
    text: ({ name }) => `${name} lacks the mount of the lock that its hook opens`,
    means: 'The hook of this sidecar opens the lock, and the volume of the lock is not mounted in it.',
    next: otherWebhook,
  }),
  'reset-missing': refusal('SF166', {
    text: "the waiter's init container doesn't close the lock of a new sandbox",
    means: 'The init container has to empty the files of the lock, so that a recreated sandbox begins closed.',
    next: otherWebhook,
  }),
  'variable-wrong': refusal('SF167', {
    example: { name: 'app' },
    text: ({ name }) => `${name} hasn't exactly the variables that keep it locked until the sidecars are ready`,
    means:
      'A container lacks a variable of the lock, has it twice or with `optional: true`, or has one that nothing would ever open. A webhook with an old client library drops the field `fileKeyRef` when it writes the pod.',
    next: otherWebhook,
  }),
  'container-misspelt': refusal<{ key: string; name: string; near: string }>('SF173', {
    example: { key: keys.sidecars, name: 'envoyy', near: 'envoy' },
    text: ({ key, name, near }) => `${key} names ${quote(name)}, but no container is called that${mean(near)}`,
    means:
      'An annotation names a container that the pod does not have, and one that it has is called nearly the same. The final check refuses the pod.',
    next: 'Correct the name. If an injector adds a container of that name, list it under `injected` in the configuration, or tell `preview --expect NAME`.',
  }),
  'container-missing': refusal<{ key: string; name: string }>('SF174', {
    example: { key: keys.sidecars, name: 'vault' },
    text: ({ key, name }) =>
      `${key} names ${quote(name)}, but no container is called that, and no injector has added one`,
    means: 'An annotation names a container that the final pod does not have.',
    next: 'Correct the name, or find out why its injector did not add the container: it may be off for this namespace.',
  }),
  'changed-later': refusal('SF146', {
    text: 'another webhook may have changed the pod after sidecar-first, or sidecar-first was not called: run "sidecar-first check"',
    means: 'A hint that follows other refusals of the final pod: why it may lack what sidecar-first writes.',
    next: otherWebhook,
  }),
}

export type Problem = Values<typeof problems> & {
  /** The annotation or the field, or else who asked for what can't be had. */
  readonly path?: string
}

export const problemText = (problem: Problem): string => bounded(problems, problem)

/** Behind its code. */
export const codedProblem = (problem: Problem): string => `${problems[problem.kind].code} ${problemText(problem)}`
