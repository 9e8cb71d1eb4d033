import { keys, perContainer } from '../admission/words/keys.ts'
import type { Problem, Warning } from '../admission/words/messages.ts'
import type { Entries } from './entry.ts'

const check = `${perContainer.check}envoy`
const timeout = `${perContainer.timeout}envoy`
const otherWebhook =
  'Run `sidecar-first check`: it names webhooks that are called after ours, and replicas that did not answer.'
const rename = 'Rename it: sidecar-first needs that name for what it adds.'

/** What a pod is refused for. */
export const problems: Entries<Problem> = {
  'unexpected-value': {
    means:
      'An annotation or a field of the manifest has a value of another type. In YAML, `on`, `true` and `5` without quotes are not text.',
    example: { path: 'spec.containers[0].name', expected: 'text' },
    next: 'Write the value in the form that the message names; annotations always need quotes around numbers and booleans.',
  },
  'too-many-annotations': {
    means: 'All annotations of the pod together, keys and values, are larger than Kubernetes stores.',
    example: { path: 'metadata.annotations', characters: 300_000, most: 262_144 },
    next: 'Move large values into a ConfigMap.',
  },
  'too-many-containers': {
    means: 'The pod has more containers than sidecar-first looks at, so that no pod can keep it busy.',
    example: { path: 'spec', count: 1000, most: 512 },
    next: 'Split the pod, or take its annotations away.',
  },
  'review-too-large': {
    means:
      'The pod is larger, or more deeply nested, than any that could be stored and run; it is not read, so that no pod can keep sidecar-first busy.',
    example: { what: 'bytes', has: 20_000_000, most: 10_485_760 },
    next: 'Look for an accident in what generates it.',
  },
  'answer-too-large': {
    means: 'The changes to the pod would be larger than what is sent to the API server.',
    example: { has: 2_000_000, most: 1_048_576 },
    next: 'Name fewer sidecars, or shorten their hooks and probes.',
  },
  'duplicate-container': {
    means: 'Two containers of the pod have one name. Kubernetes would refuse it as well.',
    example: { path: 'spec.containers[1].name', name: 'envoy' },
    next: 'Rename one of the two.',
  },
  'unknown-choice': {
    means: 'The value is none of those that the annotation takes.',
    example: { path: keys.gate, text: 'nativ', choices: ['hook', 'native', 'auto'] },
    next: 'Use one of the listed values.',
  },
  'not-a-duration': {
    means: 'The value cannot be read as a duration.',
    example: { path: keys.timeout, text: '5 minutes', range: '1s to 24h' },
    next: 'Write hours, minutes and seconds without spaces: `90s`, `1m30s`, `2h`.',
  },
  'duration-out-of-range': {
    means: 'The duration is shorter or longer than what can be waited for.',
    example: { path: keys.timeout, text: '48h', range: '1s to 24h' },
    next: 'Use a duration in the range that the message names.',
  },
  'not-a-check': {
    means: 'The value begins like none of the checks.',
    example: { path: check, text: 'localhost:8080/ready' },
    next: "Write it in one of the listed forms, such as `http://:8080/ready`. The pod's own loopback address is asked, so the host is left out.",
  },
  'check-syntax': {
    means: 'The check has a known form, but something in it is missing or misplaced.',
    example: { path: check, expected: 'a port', character: 9, text: 'http://:/ready' },
    next: 'Correct it at the character that the message names.',
  },
  'check-not-allowed': {
    means:
      'The configuration limits which checks annotations may use (`annotations.checks`), and this is not one of them.',
    example: { path: check, allowed: ['http', 'tcp'] },
    next: 'Use one of the allowed checks, or ask the owner of the configuration for a rule.',
  },
  'hook-bounds-itself': {
    means:
      'A `hook:` check runs as it is and ends by itself; a timeout or an action on timeout would never take effect.',
    example: { path: timeout, check },
    next: 'Remove the annotation, or use an `exec:` check, which sidecar-first repeats until the timeout.',
  },
  'container-name-expected': {
    means: 'The list of sidecars has an empty place, such as two commas in a row.',
    example: { path: keys.sidecars, character: 7, text: 'envoy,,otel' },
    next: 'Remove the comma or plus, or write the missing name.',
  },
  'star-not-alone': {
    means: '`*` stands for the tiers that rules add, so it cannot share a tier with names.',
    example: { path: keys.sidecars, character: 9, text: 'envoy + *' },
    next: 'Put it between commas: `envoy, *`.',
  },
  'too-many-named': {
    means: 'The list has more names than a pod can have containers.',
    example: { path: keys.sidecars, most: 512 },
    next: 'List only containers of this pod.',
  },
  'not-a-container-name': {
    means: 'Kubernetes allows no container of that name: names have lower-case letters, digits and `-`.',
    example: { path: keys.sidecars, name: 'Envoy', character: 1, text: 'Envoy' },
    next: "Write the container's name as it stands in the pod.",
  },
  'named-twice': {
    means: 'A container is in the list twice, so its place is not clear.',
    example: { path: keys.sidecars, name: 'envoy', character: 14, text: 'envoy, otel, envoy' },
    next: 'Remove one of the two.',
  },
  'no-app-left': {
    means:
      'With the native gate, sidecars become init containers. If all containers are named, the pod is left without any, and Kubernetes refuses it.',
    example: { path: keys.gate },
    next: 'Name only the sidecars, not the app.',
  },
  'ends-before-app': {
    means: 'An ordinary init container is named as a sidecar. It has ended before any container starts.',
    example: { path: keys.sidecars, name: 'migrate' },
    next: 'Take it out of the list.',
  },
  'restart-policy-set': {
    means: 'The native gate sets `restartPolicy: Always` on the container, and it has another one.',
    example: { path: keys.gate, name: 'envoy' },
    next: "Remove the container's `restartPolicy`, or use `gate: hook`.",
  },
  'check-beside-hook': {
    means: 'The container has a PostStart hook and a `hook:` check, and a container can have only one hook.',
    example: { path: check, name: 'envoy' },
    next: 'Remove one of the two; any other check is chained behind the hook that is there.',
  },
  'hook-refused': {
    means: 'The container already has a PostStart hook, and `existing-hook: refuse` says that it must not.',
    example: { path: keys.existingHook, name: 'envoy' },
    next: 'Remove the hook, or use `chain`, which runs it first.',
  },
  'hook-unreadable': {
    means:
      'The manifest contains a hook that another version of sidecar-first wrote, for example because a patched pod was exported and applied again.',
    example: { name: 'envoy' },
    next: "Remove the container's `lifecycle.postStart`; it is written again.",
  },
  'tier-of-two-hooks': {
    means:
      'One hook waits for a whole tier, and some checks only work in their own container. Two of those cannot share a tier.',
    example: { path: keys.sidecars, names: ['envoy', 'otel'] },
    next: 'Separate the two with a comma, so that they start one after the other.',
  },
  'tcp-hook': {
    means: 'The kubelet has never implemented tcpSocket hooks; it kills the container.',
    example: { name: 'envoy' },
    next: 'Remove the hook. A `tcp://:PORT` check waits for a port.',
  },
  'hook-cannot-run': {
    means: 'The hook that is there would fail in any case, and the kubelet would kill the container.',
    example: { name: 'envoy' },
    next: 'Remove the hook or correct its command.',
  },
  'shell-http-hook': {
    means: 'With `waiter: shell`, an existing hook becomes part of a shell command, which an httpGet hook cannot.',
    example: { path: keys.waiter, name: 'envoy' },
    next: 'Use `waiter: init-container`.',
  },
  'shell-check': {
    means: 'With `waiter: shell`, only `http://` and `tcp://` checks can be asked.',
    example: { path: keys.waiter, name: 'envoy', check: 'a grpc check' },
    next: 'Use `waiter: init-container`, or another check.',
  },
  'hook-too-large': {
    means: "The hook's command would be longer than an argument of a process may be, so it could never run.",
    example: { name: 'envoy', cause: 'its own hook' },
    next: 'Move the long command into a script in the image.',
  },
  'hook-port-missing': {
    means: 'The hook that is there names a port that the container does not declare, so the kubelet would fail it.',
    example: { name: 'envoy', port: 'admin' },
    next: "Correct the port's name, or declare the port.",
  },
  'hook-header-unsendable': {
    means: 'The hook that is there has an HTTP header that no client can send.',
    example: { name: 'envoy', header: 'X-A: b\n' },
    next: "Correct the header's name or value.",
  },
  'port-missing': {
    means: 'A check names a port that the container does not declare.',
    example: { path: check, container: 'envoy', port: 'admin', ports: ['http'] },
    next: 'Use one of its ports, or a number.',
  },
  'name-taken': {
    means: 'The pod has something of its own under a name that sidecar-first needs.',
    example: { what: 'volume', name: 'sidecar-first-waiter' },
    next: rename,
  },
  'mount-taken': {
    means: 'The container has another volume mounted where its hook expects the waiter.',
    example: { name: 'envoy', directory: '/.sidecar-first' },
    next: 'Mount that volume elsewhere.',
  },
  'not-the-waiter': {
    means: "The pod's author delivers another image as the waiter. Under an enforced rule that would open the gate.",
    example: { what: 'init container', image: 'example.com/mirror/waiter:1' },
    next: 'Remove it from the manifest; or, if it is a mirror of yours, list it under `waiter.mirrors` in the configuration.',
  },
  'waiter-too-old': {
    means:
      'inject of 0.1 wrote the template with its waiter. An enforced rule rewrites the hook, and that waiter would refuse it.',
    example: { image: 'sidecar-first/waiter:0.1.0' },
    next: 'Write the template again with the present `sidecar-first inject`, or take out what `inject` wrote where the webhook runs.',
  },
  'installer-changed': {
    means:
      'The init container that delivers the waiter is not as sidecar-first writes it. Under an enforced rule that would open the gate.',
    example: { part: 'env' },
    next: 'Remove it from the manifest; it is written again.',
  },
  'waiter-writable': {
    means: 'A container could replace the waiter before it runs. Under an enforced rule that would open the gate.',
    example: { name: 'app', at: '/tmp/w' },
    next: 'Remove the mount, or make it `readOnly: true`.',
  },
  'waiter-covered': {
    means: 'A volume hides the waiter from the hook. Under an enforced rule that would open the gate.',
    example: { name: 'envoy', at: '/.sidecar-first' },
    next: 'Mount that volume elsewhere.',
  },
  'starts-in-front': {
    means:
      'The rule is enforced, and the container would run before its sidecar is ready. A mesh proxy is refused and not moved: behind another sidecar it could leave that without a network.',
    example: { name: 'istio-proxy', native: false, sidecar: 'envoy', rule: 'egress' },
    next: "Start the container behind the sidecar. If it has to be in front, name it in the rule's `allowNatives`, or with its image under `enforced.inFront`; `sidecar-first check` proposes the entries for what runs.",
  },
  'not-locked': {
    means:
      'The rule has `lock: on`, and nothing could unlock the app: the sidecar has no check, or only the kubelet can ask it.',
    example: { name: 'envoy', rule: 'mesh' },
    next: 'Give the rule a `check`, or the sidecar a readinessProbe that can be written as one.',
  },
  'processes-shared': {
    means:
      "A process that sees the sidecar's processes can write into their files, so it could open the lock before the sidecar is ready.",
    example: { name: 'helper', by: 'shareProcessNamespace' },
    next: 'Take the field away. A container that starts behind the sidecars may keep it.',
  },
  'image-unread': {
    means:
      'The image is longer than any that a registry can have, so it is not compared with the rules; an enforced one could be about it.',
    example: { name: 'envoy', most: 520 },
    next: 'Write the image with its tag or its digest, without what is superfluous.',
  },
  'wrong-list': {
    means: 'The final pod has the sidecar in another list than the plan, after all webhooks.',
    example: { name: 'envoy', list: 'initContainers' },
    next: otherWebhook,
  },
  'wrong-place': {
    means: 'The final pod has the sidecar behind a container that should wait for it.',
    example: { name: 'envoy', place: 'spec.containers[0]', instead: 'app' },
    next: otherWebhook,
  },
  'hook-left-over': {
    means: 'The final pod has a hook of ours where the plan has none.',
    example: { name: 'envoy' },
    next: otherWebhook,
  },
  'hook-missing': {
    means: 'The final pod has lost the hook that holds the app back, or never got it.',
    example: { name: 'envoy' },
    next: otherWebhook,
  },
  'startup-probe-differs': {
    means: "The final pod's startupProbe isn't as `startup-probe` wants it.",
    example: { name: 'envoy', wanted: 'eager' },
    next: otherWebhook,
  },
  'mount-missing': {
    means: "The final pod's hook could not run: the waiter is not mounted.",
    example: { name: 'envoy' },
    next: otherWebhook,
  },
  'volume-missing': {
    example: { image: false },
    means: "The final pod's hook could not run: the waiter's volume is missing.",
    next: otherWebhook,
  },
  'installer-missing': {
    means: "The final pod's hook could not run: nothing copies the waiter into its volume.",
    next: otherWebhook,
  },
  'lock-unknown': {
    means:
      'The lock is a variable that the kubelet reads from a file, which Kubernetes has from 1.35 on. An older API server would drop it and refuse the pod, an older kubelet would ignore it.',
    example: { path: keys.lock, version: '1.34' },
    next: 'Leave the lock out until every node runs 1.35. If all do, correct `kubernetesVersion` in the configuration.',
  },
  'lock-too-large': {
    means: 'Every container gets a variable for each tier before it, and a pod with many of both would grow too large.',
    example: { path: keys.lock, count: 2100, most: 2048 },
    next: 'Join sidecars to fewer tiers with `+`, or leave the lock out.',
  },
  'variable-taken': {
    means:
      'A container has an environment variable with a name that the lock needs, and its value comes from elsewhere.',
    example: { name: 'app', variable: 'SIDECAR_FIRST_READY_1' },
    next: 'Rename it: sidecar-first needs that name for what it adds.',
  },
  'lock-mounted': {
    means: 'Whoever can write to the volume of the lock can open it, and an enforced rule lets only sidecars do that.',
    example: { name: 'app' },
    next: 'Remove the mount.',
  },
  'lock-missing': {
    means:
      'The final pod is to be locked, and the volume of the lock is missing, or on disk, where it would outlast a reboot.',
    next: otherWebhook,
  },
  'lock-mount-missing': {
    means: 'The hook of this sidecar opens the lock, and the volume of the lock is not mounted in it.',
    example: { name: 'envoy' },
    next: otherWebhook,
  },
  'reset-missing': {
    means: 'The init container has to empty the files of the lock, so that a recreated sandbox begins closed.',
    next: otherWebhook,
  },
  'variable-wrong': {
    means:
      'A container lacks a variable of the lock, has it twice or with `optional: true`, or has one that nothing would ever open. A webhook with an old client library drops the field `fileKeyRef` when it writes the pod.',
    example: { name: 'app' },
    next: otherWebhook,
  },
  'changed-later': {
    means: 'A hint that follows other refusals of the final pod: why it may lack what sidecar-first writes.',
    next: otherWebhook,
  },
}

/** What is said of a pod that is admitted. */
export const warnings: Entries<Warning> = {
  audited: {
    means:
      'A rule with `enforce: audit` matches the pod. Nothing is refused yet; with `enforce: true` the pod would be.',
    example: { problem: { kind: 'starts-in-front', name: 'otel', native: true, sidecar: 'envoy', rule: 'mesh' } },
    next: 'Look up the quoted problem, and mend the pod or the rule before the rule is enforced.',
  },
  exempt: {
    means: "The rule is enforced, and its `exempt` names this pod, so here the pod's own keys win over it.",
    example: { rule: 'mesh' },
    next: 'Take the entry out of `exempt` once the pod no longer needs it.',
  },
  'left-untouched': {
    means:
      'Something is wrong, and the pod is admitted as it is: only a rule asks for an order, or the configuration says `invalid: warn`.',
    example: { problem: { kind: 'name-taken', what: 'volume', name: 'sidecar-first-waiter' } },
    next: 'Do what the entry of the code inside says; until then the app does not wait.',
  },
  'container-absent': {
    means:
      'An annotation names a container that the pod does not have. If no injector adds it later, nothing waits for it.',
    example: { key: keys.sidecars, name: 'evnoy', near: 'envoy' },
    next: 'Correct the name. If an injector adds the container, nothing is wrong: sidecar-first is called after it.',
  },
  'keeps-own-hook': {
    means: "The container's own PostStart hook stays, so there is no place for ours.",
    example: { name: 'envoy' },
    next: 'Use `existing-hook: chain` unless the hook itself waits until the sidecar is ready.',
  },
  'no-probe': {
    means: 'The check is `probe`, and the container has no probe to take it from.',
    example: { name: 'envoy', probes: ['startupProbe', 'readinessProbe'] },
    next: 'Say how to ask the sidecar, for example `http://:8080/ready`, or give it a readinessProbe.',
  },
  'probe-without-handler': {
    means: "The container's probe has neither httpGet, tcpSocket, grpc nor exec.",
    example: { name: 'envoy', probe: 'readinessProbe' },
    next: 'Complete the probe, or set the check.',
  },
  'probe-port-missing': {
    means: "The container's probe names a port that the container does not declare. The kubelet cannot ask it either.",
    example: { name: 'envoy', probe: 'readinessProbe', container: 'envoy', port: 'admin', ports: ['http'] },
    next: "Correct the probe's port.",
  },
  'probe-not-a-check': {
    means: "The container's probe asks something that a check cannot, such as another host.",
    example: { name: 'envoy', probe: 'readinessProbe', check: 'http://example.com:80/' },
    next: "Set the check to something on the pod's own loopback.",
  },
  'probe-header-unsendable': {
    means: "The container's probe has an HTTP header that no client can send.",
    example: { name: 'envoy', probe: 'readinessProbe', header: 'X-A: b\n' },
    next: 'Correct the header.',
  },
  deadlock: {
    means:
      'The sidecar is ready only when the app is, and the app waits for the sidecar: both would wait until the timeout.',
    example: { name: 'daprd', endpoint: '/v1.0/healthz', instead: 'http://:3500/v1.0/healthz/outbound' },
    next: 'Use the check that the message names.',
  },
  'never-ready': {
    means:
      'The check can only pass when a container runs that the pod starts later, behind this gate. A mesh that rewrites probes answers them itself, from its proxy.',
    example: { name: 'cache', needs: 'istio-proxy', closed: false, listable: true, mesh: 'Istio' },
    next: 'Name the container that answers in an earlier tier, or set a check that the sidecar answers itself.',
  },
  'webhooks-behind': {
    means: 'The API server calls a path of an older configuration; rules with a namespaceSelector may not take effect.',
    next: 'Apply the webhook configurations again: `sidecar-first config --webhooks`, or `sidecar-first install --apply`.',
  },
  'job-never-completes': {
    means: 'A Job completes when all regular containers have ended, and the sidecar does not end.',
    example: { names: ['envoy'] },
    next: 'Use the native gate: the kubelet ends native sidecars after the app.',
  },
  'init-container-first': {
    means:
      "Init containers run before all regular containers, by Kubernetes' own order. With the hook gate the sidecar comes after them.",
    example: { name: 'envoy', early: 'migrate' },
    next: 'If that init container needs the sidecar, use the native gate.',
  },
  'before-mesh-proxy': {
    means:
      "The sidecar is waited for before the mesh's proxy starts, and once traffic is redirected nothing leaves the pod without the proxy. A sidecar that needs the network then becomes ready only when it is given up.",
    example: { names: ['vault-agent'], proxy: 'istio-proxy', instead: 'list' },
    next: 'Do as the message says, or have the mesh inject its proxy as a native sidecar. A sidecar that needs no network can ignore this.',
  },
  'not-restarted': {
    means: "A sidecar that is not ready in time is killed, and the pod's restartPolicy does not bring it back.",
    example: { names: ['envoy'], restartPolicy: 'Never', locked: false },
    next: 'Use the native gate, which restarts sidecars, or `on-timeout: continue`.',
  },
  'node-loopback': {
    means: "The pod shares the node's network, so the check may reach another pod's process.",
    example: { name: 'envoy' },
    next: 'Use an `exec:`, `unix:` or `file:` check, which only this container can answer.',
  },
  'liveness-unprotected': {
    means:
      'A startupProbe holds off the livenessProbe until it passes, and this one is removed. While the hook runs the kubelet asks neither.',
    example: { name: 'envoy' },
    next: 'Give the livenessProbe a `failureThreshold` that a slow start fits into, or use `startup-probe: eager`.',
  },
  'port-moves': {
    means:
      'Kubernetes takes the first container with a port of that name for a Service. The new order changes which one that is.',
    example: { port: 'http', from: 'app', to: 'envoy' },
    next: 'Give one of the two ports another name.',
  },
  deadline: {
    means: 'The sidecars may take longer than something else waits for the pod.',
    example: { seconds: 900, field: 'progressDeadlineSeconds', limit: 600 },
    next: 'Shorten the timeout, or raise the field.',
  },
  'only-observed': {
    means: 'The configuration says `mode: observe`: pods are looked at and never changed.',
    example: { would: 'change', reasons: ['starts envoy, before app'] },
    next: 'Nothing, while you try it out. `mode: enforce` has it done.',
  },
  'adds-empty-dir': {
    means: "The price of the waiter's delivery by an init container: tools that remove pods ask about any emptyDir.",
    next: 'Nothing, or use the delivery `image-volume` or `shell`, which needs no emptyDir.',
  },
  'no-lock': {
    means: 'The pod asks for its sidecars, or for the lock, and its app is held back by the hook alone.',
    example: { why: 'never-restarted' },
    next: 'What the message names, or `sidecar-first.dev/lock: "off"`, which says that this is meant.',
  },
  'no-lock-by-rule': {
    means:
      'A rule alone never keeps an app down: `auto` locks only pods that ask for their sidecars themselves, and those under enforced rules.',
    next: 'Nothing, or `lock: on` in the rule.',
  },
  'lock-in-the-way': {
    means: 'The app would be locked by default, but something in the pod is in the way.',
    example: { problem: { kind: 'variable-taken', name: 'app', variable: 'SIDECAR_FIRST_READY_1' } },
    next: 'Correct that, or set `sidecar-first.dev/lock: "off"`.',
  },
  'adds-memory-dir': {
    means:
      'The price of the lock: tools that remove pods ask about any emptyDir, even in memory. The cluster autoscaler does not.',
    next: 'Nothing, or `sidecar-first.dev/lock: "off"`.',
  },
  'tier-of-several': {
    means:
      "The sidecars of a tier start together, which is faster, and one hook waits for all. While a hook runs, the kubelet restarts none of the pod's other containers.",
    example: { names: ['vault-agent'], carrier: 'envoy', seconds: 60 },
    next: 'Nothing, if they rarely crash while they start. Otherwise one tier each, or a shorter timeout.',
  },
  'unknown-key': {
    means:
      'An annotation in our domain, or in one that looks like it, that this version does not know: misspelt, or of a newer version.',
    example: { key: 'sidecar-first.dev/timout', version: '0.2.0' },
    next: 'Correct the key; docs/annotations.md lists them all.',
  },
  'idle-key': {
    means: 'The annotation changes how sidecars are waited for, and nothing makes a container of this pod a sidecar.',
    example: { key: keys.timeout },
    next: `Name the sidecars with \`${keys.sidecars}\`, or remove the annotation.`,
  },
  'not-a-sidecar': {
    means: 'An annotation for one container names one that is not a sidecar.',
    example: { key: check, name: 'envoy' },
    next: `Add the container to \`${keys.sidecars}\`, or remove the annotation.`,
  },
  'key-on-workload': {
    means: 'Annotations of a workload are not copied to its pods, so this one is never seen.',
    example: { key: keys.sidecars, workload: 'Deployment', place: 'spec.template.metadata.annotations' },
    next: 'Move it to the pod template.',
  },
  'key-as-label': {
    means: 'The key is written as a label, and only annotations are read.',
    example: { key: keys.sidecars, place: 'metadata.annotations' },
    next: 'Move it to the annotations.',
  },
  'enforced-opt-out': {
    means: 'The pod opts out, and an enforced rule holds all the same.',
    example: { name: 'envoy', rule: 'mesh' },
    next: 'Remove the annotation, or ask the owner of the rule to exclude the pod.',
  },
  'enforced-order': {
    means: 'The pod names a place for a sidecar that an enforced rule has already placed.',
    example: { name: 'envoy', rule: 'mesh' },
    next: 'Take the container out of the list.',
  },
  'enforced-key': {
    means: 'An annotation says something that an enforced rule decides.',
    example: { key: keys.gate, rule: 'mesh' },
    next: 'Remove the annotation.',
  },
  'enforced-keys': {
    means: 'Annotations for a container say something that an enforced rule decides.',
    example: { name: 'envoy', rule: 'mesh' },
    next: 'Remove them.',
  },
  'check-replaced': {
    means:
      'The probe asks an endpoint that answers only when the app, or a database, is up. A preset knows a better one.',
    example: { name: 'daprd', endpoint: '/v1.0/healthz', instead: 'http://:3501/v1.0/healthz/outbound' },
    next: 'Nothing. If you want another check, set `check.sidecar-first.dev/NAME`.',
  },
  'bounds-of-probe': {
    means: 'The kubelet waits for this sidecar, by its startupProbe, and no hook of sidecar-first has a limit.',
    example: { name: 'envoy', key: 'sidecar-first.dev/timeout', limit: 60 },
    next: 'Change the `failureThreshold` of the startupProbe, or use `startup-probe: hook`.',
  },
  'waits-by-itself': {
    means: "The app's command already waits for the sidecar in a loop of its own.",
    example: { app: 'app', port: 15021, name: 'istio-proxy' },
    next: 'You can remove the loop.',
  },
  'no-such-code': {
    means: 'The list of codes to ignore has one that no warning about pods has: misspelt, or of another version.',
    example: { code: 'SF999' },
    next: 'Correct it; docs/messages.md lists them all.',
  },
  'not-ignorable': {
    means: 'Refusals, and warnings that say what becomes of the pod, are always told.',
    example: { code: 'SF105' },
    next: 'Take it out of the list, and correct what it says.',
  },
  'pods-refused': {
    means: 'A workload was applied whose pods will be refused when its controller creates them.',
    example: {
      problem: { kind: 'unknown-choice', path: keys.gate, text: 'nativ', choices: ['hook', 'native', 'auto'] },
    },
    next: 'Correct the pod template as the code inside says.',
  },
  'more-warnings': {
    means: 'An answer has at most 15 warnings: the API server drops longer lists.',
    example: { count: 3 },
    next: 'Correct the others first, or run `sidecar-first preview` on the manifest.',
  },
}
