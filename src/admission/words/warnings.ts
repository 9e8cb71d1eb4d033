import { define } from './define.ts'
import { keys, nearestKey, perContainer } from './keys.ts'
import { codedProblem, mean, noPort, type Problem, problemText } from './problems.ts'
import { quote } from './quote.ts'
import type { Values } from './values.ts'

/** How much a warning matters: the API cuts long lists, so the worst come first. */
export const severities = ['app-may-start-too-early', 'bites-later', 'costs', 'has-no-effect'] as const
export type Severity = (typeof severities)[number]

const check = `${perContainer.check}envoy`
const tooEarly = define('warning', { severity: 'app-may-start-too-early' })
const bitesLater = define('warning', { severity: 'bites-later' })
/** Only names a price: nothing that somebody should act on. */
const costs = define('note', { severity: 'costs' })
const noEffect = define('warning', { severity: 'has-no-effect' })
const unwaited = (name: string, why: string) =>
  `${name} is started first but not waited for: ${why}; set the annotation ${perContainer.check}${name}`

interface BeforeProxy {
  readonly names: readonly string[]
  readonly proxy: string
  readonly instead: keyof ReturnType<typeof insteadOfEarly>
}
const insteadOfEarly = (proxy: string) => ({
  list: `name ${proxy} first in ${keys.sidecars}`,
  hook: `${proxy} is not a native sidecar, so use ${keys.gate}: hook`,
  last: `use ${keys.nativePosition}: last`,
})

interface NeverReady {
  readonly name: string
  readonly needs: string
  /** A gate that no timeout opens. */
  readonly closed: boolean
  /** Whether it helps to list it before. */
  readonly listable: boolean
  /** Whose injector has rewritten the probe. */
  readonly mesh?: string
}

/** Why a preStop never runs. */
const cannotRun = {
  tcpSocket: 'the kubelet has no tcpSocket hooks',
  command: 'its program is empty, or a word has a NUL',
  httpGet: "it asks a port that isn't there, or sends a header that HTTP can't carry",
} as const

/** After which something else gives up on the pod, and what happens then. */
const deadlines = {
  progressDeadlineSeconds: 'the Deployment counts as failed',
  activeDeadlineSeconds: 'the pod is killed',
} as const
export type Deadline = keyof typeof deadlines

/** Why an app isn't locked although its pod asks for its sidecars, or for the lock. */
const noLocks = {
  'no-hook': `no hook of sidecar-first waits for a sidecar, and only that could unlock it`,
  'never-restarted': `with restartPolicy Never a sidecar that dies would leave it waiting for ever; set ${keys.gate}: native, or ${keys.lock}: "on" if that is better than a start without it`,
  'other-waiter':
    'the pod brings a waiter of another image, which may be too old to unlock it; write its template again with inject',
  'runtime-class': `the kubelet can't read the files of every runtime; if it can for this runtimeClassName, name it in the configuration under lock.runtimeClasses`,
  'virtual-node': 'a virtual node has no kubelet that knows the lock',
  tekton: 'Tekton fails a TaskRun whose container waits for its configuration',
  'own-hook': `the sidecar's own hook waits, and the lock would need the waiter beside it; set ${keys.lock}: "on" for that`,
} as const
export type NoLock = keyof typeof noLocks

/** What the pod's owner should know although the pod is admitted. */
export const warnings = {
  audited: tooEarly<{ problem: Problem }>('SF257', {
    example: { problem: { kind: 'starts-in-front', name: 'otel', native: true, sidecar: 'envoy', rule: 'mesh' } },
    text: ({ problem }) => `would be refused if enforce: audit were true: ${codedProblem(problem)}`,
    means:
      'A rule with `enforce: audit` matches the pod. Nothing is refused yet; with `enforce: true` the pod would be.',
    next: 'Look up the quoted problem, and mend the pod or the rule before the rule is enforced.',
  }),
  exempt: tooEarly<{ rule: string }>('SF258', {
    example: { rule: 'mesh' },
    text: ({ rule }) => `the rule ${rule} isn't enforced here: it exempts this pod`,
    means: "The rule is enforced, and its `exempt` names this pod, so here the pod's own keys win over it.",
    next: 'Take the entry out of `exempt` once the pod no longer needs it.',
  }),
  'left-untouched': tooEarly<{ problem: Problem }>('SF201', {
    example: { problem: { kind: 'name-taken', what: 'volume', name: 'sidecar-first-waiter' } },
    text: ({ problem }) => `left untouched: ${codedProblem(problem)}`,
    means:
      'Something is wrong, and the pod is admitted as it is: only a rule asks for an order, or the configuration says `invalid: warn`.',
    next: 'Do what the entry of the code inside says; until then the app does not wait.',
  }),
  'container-absent': tooEarly<{ key: string; name: string; near?: string }>('SF202', {
    example: { key: keys.sidecars, name: 'evnoy', near: 'envoy' },
    text: ({ key, name, near }) =>
      `${key} names ${quote(name)}, but no container is called that; unless an injector adds it, nothing waits for it${mean(near)}`,
    means:
      'An annotation names a container that the pod does not have, and the configuration has no pod refused for it. If no injector adds the container later, nothing waits for it.',
    next: 'Correct the name. If an injector adds the container, list it under `injected` in the configuration.',
  }),
  'container-awaited': tooEarly<{ key: string; name: string; near?: string }>('SF259', {
    example: { key: keys.sidecars, name: 'vault' },
    text: ({ key, name, near }) =>
      `${key} names ${quote(name)}, but no container is called that: the pod is refused unless an injector adds it${mean(near)}`,
    means:
      'An annotation names a container that the pod does not have. If no injector adds it later, the final check refuses the pod.',
    next: 'Correct the name. If an injector adds the container, list it under `injected` in the configuration, or tell `preview --expect NAME`.',
  }),
  'keeps-own-hook': tooEarly('SF203', {
    example: { name: 'envoy' },
    text: ({ name }) => `${name} keeps its own PostStart hook (${keys.existingHook}: keep), so it is not waited for`,
    means: "The container's own PostStart hook stays, so there is no place for ours.",
    next: 'Use `existing-hook: chain` unless the hook itself waits until the sidecar is ready.',
  }),
  'no-probe': tooEarly('SF204', {
    example: { name: 'envoy', probes: ['startupProbe', 'readinessProbe'] },
    text: ({ name, probes }) => unwaited(name, `it has no ${probes.join(' or ')}`),
    means: 'The check is `probe`, and the container has no probe to take it from.',
    next: 'Say how to ask the sidecar, for example `http://:8080/ready`, or give it a readinessProbe.',
  }),
  'probe-without-handler': tooEarly('SF205', {
    example: { name: 'envoy', probe: 'readinessProbe' },
    text: ({ name, probe }) => unwaited(name, `its ${probe} asks nothing`),
    means: "The container's probe has neither httpGet, tcpSocket, grpc nor exec.",
    next: 'Complete the probe, or set the check.',
  }),
  'probe-port-missing': tooEarly('SF206', {
    example: { name: 'envoy', probe: 'readinessProbe', container: 'envoy', port: 'admin', ports: ['http'] },
    text: (data) => unwaited(data.name, `its ${data.probe} asks a port it doesn't have: ${noPort(data)}`),
    means: "The container's probe names a port that the container does not declare. The kubelet cannot ask it either.",
    next: "Correct the probe's port.",
  }),
  'probe-not-a-check': tooEarly('SF207', {
    example: { name: 'envoy', probe: 'readinessProbe', check: 'http://example.com:80/' },
    text: ({ name, probe, check }) => unwaited(name, `its ${probe} can't be written as a check (${quote(check)})`),
    means: "The container's probe asks something that a check cannot, such as another host.",
    next: "Set the check to something on the pod's own loopback.",
  }),
  'probe-header-unsendable': tooEarly('SF208', {
    example: { name: 'envoy', probe: 'readinessProbe', header: 'X-A: b\n' },
    text: ({ name, probe, header }) =>
      unwaited(name, `its ${probe} has a header ${quote(header)} that HTTP can't carry`),
    means: "The container's probe has an HTTP header that no client can send.",
    next: 'Correct the header.',
  }),
  deadlock: tooEarly('SF209', {
    example: { name: 'daprd', endpoint: '/v1.0/healthz', instead: 'http://:3500/v1.0/healthz/outbound' },
    text: ({ name, endpoint, instead }) =>
      `deadlock: ${endpoint} of ${name} only answers once the app is up, and the app waits for ${name}; use ${instead}`,
    means:
      'The sidecar is ready only when the app is, and the app waits for the sidecar: both would wait until the timeout.',
    next: 'Use the check that the message names.',
  }),
  'never-ready': tooEarly<NeverReady>('SF242', {
    example: { name: 'cache', needs: 'istio-proxy', closed: false, listable: true, mesh: 'Istio' },
    text: ({ name, needs, closed, listable, mesh }) =>
      `deadlock: ${needs} answers the check of ${name}${mesh ? ` (${mesh} rewrote its probe)` : ''} and starts behind it, so ${closed ? 'the app never starts' : 'the app starts at the timeout, without it'}; ${listable ? `name ${needs} before ${name} in ${keys.sidecars}` : `set ${perContainer.check}${name}`}`,
    means:
      'The check can only pass when a container runs that the pod starts later, behind this gate. A mesh that rewrites probes answers them itself, from its proxy.',
    next: 'Name the container that answers in an earlier tier, or set a check that the sidecar answers itself.',
  }),
  'webhooks-behind': bitesLater('SF210', {
    text: 'the webhook configuration is behind the configuration of sidecar-first: print it again with "sidecar-first config"',
    means: 'The API server calls a path of an older configuration; rules with a namespaceSelector may not take effect.',
    next: 'Apply the webhook configurations again: `sidecar-first config --webhooks`, or `sidecar-first install --apply`.',
  }),
  'job-never-completes': bitesLater('SF211', {
    example: { names: ['envoy'] },
    text: ({ names }) => `${names.join(', ')} runs on, so the Job never completes; set ${keys.gate}: native`,
    means: 'A Job completes when all regular containers have ended, and the sidecar does not end.',
    next: 'Use the native gate: the kubelet ends native sidecars after the app.',
  }),
  'init-container-first': bitesLater('SF212', {
    example: { name: 'envoy', early: 'migrate' },
    text: ({ name, early }) =>
      `${early} is an init container and starts before ${name}, whatever the order says; set ${keys.gate}: native`,
    means:
      "Init containers run before all regular containers, by Kubernetes' own order. With the hook gate the sidecar comes after them.",
    next: 'If that init container needs the sidecar, use the native gate.',
  }),
  'before-mesh-proxy': bitesLater<BeforeProxy>('SF213', {
    example: { names: ['vault-agent'], proxy: 'istio-proxy', instead: 'list' },
    text: ({ names, proxy, instead }) =>
      `${names.join(', ')} starts before the mesh proxy ${proxy}, and may reach nothing without it: ${insteadOfEarly(proxy)[instead]}`,
    means:
      "The sidecar is waited for before the mesh's proxy starts, and once traffic is redirected nothing leaves the pod without the proxy. A sidecar that needs the network then becomes ready only when it is given up.",
    next: 'Do as the message says, or have the mesh inject its proxy as a native sidecar. A sidecar that needs no network can ignore this.',
  }),
  'not-restarted': bitesLater('SF214', {
    example: { names: ['envoy'], restartPolicy: 'Never', locked: false },
    // Under OnFailure, too, one that exits 0 when it is killed isn't restarted.
    text: ({ names, restartPolicy, locked }) =>
      `restartPolicy is ${restartPolicy}: if ${names.join(', ')} isn't ready in time it ${restartPolicy === 'Never' ? 'stays' : 'may stay'} down, and the app ${locked ? 'never starts, since it is locked' : 'starts without it'}`,
    means:
      "A sidecar that is not ready in time is killed, and its restartPolicy, or the pod's, does not bring it back.",
    next: 'Use the native gate, which restarts sidecars, or `on-timeout: continue`.',
  }),
  'no-lock': bitesLater<{ why: NoLock }>('SF250', {
    example: { why: 'never-restarted' },
    text: ({ why }) => `the app isn't locked: ${noLocks[why]}`,
    means: 'The pod asks for its sidecars, or for the lock, and its app is held back by the hook alone.',
    next: 'What the message names, or `sidecar-first.dev/lock: "off"`, which says that this is meant.',
  }),
  'no-lock-by-rule': costs('SF256', {
    text: `the app isn't locked: only a rule asks for its sidecars, and lock: on in the rule would lock it`,
    means:
      'A rule alone never keeps an app down: `auto` locks only pods that ask for their sidecars themselves, and those under enforced rules.',
    next: 'Nothing, or `lock: on` in the rule.',
  }),
  'lock-in-the-way': bitesLater<{ problem: Problem }>('SF251', {
    example: { problem: { kind: 'variable-taken', name: 'app', variable: 'SIDECAR_FIRST_READY_1' } },
    text: ({ problem }) => `the app isn't locked: ${problemText(problem)}`,
    means: 'The app would be locked by default, but something in the pod is in the way.',
    next: 'Correct that, or set `sidecar-first.dev/lock: "off"`.',
  }),
  'node-loopback': bitesLater('SF215', {
    example: { name: 'envoy' },
    text: ({ name }) => `hostNetwork: the check of ${name} asks the node's loopback, where another process may answer`,
    means: "The pod shares the node's network, so the check may reach another pod's process.",
    next: 'Use an `exec:`, `unix:` or `file:` check, which only this container can answer.',
  }),
  'liveness-unprotected': bitesLater('SF240', {
    example: { name: 'envoy' },
    text: ({ name }) =>
      `the livenessProbe of ${name} may kill it while it still starts, once its hook is over or the kubelet restarts: ${keys.startupProbe}: hook takes away the startupProbe that held it off`,
    means:
      'A startupProbe holds off the livenessProbe until it passes, and this one is removed. While the hook runs the kubelet asks neither.',
    next: 'Give the livenessProbe a `failureThreshold` that a slow start fits into, or use `startup-probe: eager`.',
  }),
  'port-moves': bitesLater('SF216', {
    example: { port: 'http', from: 'app', to: 'envoy' },
    text: ({ port, from, to }) =>
      `a Service's targetPort ${port} now means ${to} and no longer ${from}: both have a port of that name`,
    means:
      'Kubernetes takes the first container with a port of that name for a Service. The new order changes which one that is.',
    next: 'Give one of the two ports another name.',
  }),
  deadline: bitesLater<{ seconds: number; field: Deadline; limit: number }>('SF217', {
    example: { seconds: 900, field: 'progressDeadlineSeconds', limit: 600 },
    text: ({ seconds, field, limit }) =>
      `the sidecars may take ${seconds}s, and after ${field} (${limit}s) ${deadlines[field]}: shorten ${keys.timeout} or raise ${field}`,
    means: 'The sidecars may take longer than something else waits for the pod.',
    next: 'Shorten the timeout, or raise the field.',
  }),
  'only-observed': bitesLater<{ would: 'change' | 'refuse'; reasons: string[] }>('SF218', {
    example: { would: 'change', reasons: ['starts envoy, before app'] },
    text: ({ would, reasons }) => `sidecar-first only observes; it would ${would} this: ${reasons.join('; ')}`,
    means: 'The configuration says `mode: observe`: pods are looked at and never changed.',
    next: 'Nothing, while you try it out. `mode: enforce` has it done.',
  }),
  'adds-empty-dir': costs('SF219', {
    text: 'the waiter adds an emptyDir: kubectl drain asks for --delete-emptydir-data, and the cluster autoscaler for cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: sidecar-first-waiter',
    means: "The price of the waiter's delivery by an init container: tools that remove pods ask about any emptyDir.",
    next: 'Nothing, or use the delivery `image-volume` or `shell`, which needs no emptyDir.',
  }),
  'adds-memory-dir': costs<{ by: 'lock' | 'end' }>('SF252', {
    example: { by: 'lock' },
    text: ({ by }) =>
      `${by === 'lock' ? 'the lock' : `${keys.end}: last`} adds an emptyDir in memory: kubectl drain asks for --delete-emptydir-data`,
    means:
      'The price of the lock, or of `end: last`: tools that remove pods ask about any emptyDir, even in memory. The cluster autoscaler does not.',
    next: 'Nothing, or `sidecar-first.dev/lock: "off"` and `end: together`.',
  }),
  'sleeps-for-nothing': costs('SF263', {
    example: { name: 'envoy' },
    text: ({ name }) => `the preStop of ${name} sleeps; with ${keys.end}: last it can go`,
    means:
      'A fixed sleep keeps a sidecar until its app may have ended. It now waits for that by itself, and sleeps on top.',
    next: 'Remove the preStop.',
  }),
  'grace-short': bitesLater<{ names: string[]; seconds: number }>('SF264', {
    example: { names: ['envoy'], seconds: 3 },
    text: ({ names, seconds }) =>
      `terminationGracePeriodSeconds is ${seconds}: ${names.join(', ')} ${seconds <= 3 ? "can't wait for what is behind" : `waits for what is behind for ${seconds - 3} s at most`}`,
    means: 'To end last, a sidecar waits for all but the last 3 s of the grace period.',
    next: 'Let `terminationGracePeriodSeconds` be at least 5; 30 is the default.',
  }),
  'prestop-cannot-run': noEffect<{ name: string; why: keyof typeof cannotRun }>('SF261', {
    example: { name: 'envoy', why: 'tcpSocket' },
    text: ({ name, why }) => `the preStop of ${name} is left out: ${cannotRun[why]}`,
    means: 'The kubelet fails this preStop whenever the pod ends, and goes on.',
    next: 'Remove the preStop, or correct it.',
  }),
  'end-of-older': noEffect('SF262', {
    text: `${keys.end}: last has no effect: the waiter in the pod has another image, and may be older`,
    means:
      '`inject` has written a waiter of another image into the template. One of before knows no ends, and its preStop hooks would fail.',
    next: 'Write the template again with `sidecar-first inject` of this version.',
  }),
  'tier-of-several': costs('SF244', {
    // The carrier has the hook.
    example: { names: ['vault-agent'], carrier: 'envoy', seconds: 60 },
    text: ({ names, carrier, seconds }) =>
      `if ${names.join(' or ')} crashes before it is ready, nothing restarts it while the hook on ${carrier} runs (up to ${seconds}s): give what may crash a tier of its own, with "," instead of "+"`,
    means:
      "The sidecars of a tier start together, which is faster, and one hook waits for all. While a hook runs, the kubelet restarts none of the pod's other containers.",
    next: 'Nothing, if they rarely crash while they start. Otherwise one tier each, or a shorter timeout.',
  }),
  'unknown-key': noEffect('SF220', {
    example: { key: 'sidecar-first.dev/timout', version: '0.2.0' },
    text: ({ key, version }) =>
      `${key} has no effect: this version (${version}) doesn't know it${mean(nearestKey(key))}`,
    means:
      'An annotation in our domain, or in one that looks like it, that this version does not know: misspelt, or of a newer version.',
    next: 'Correct the key; docs/annotations.md lists them all.',
  }),
  'idle-key': noEffect<{ key: string }>('SF221', {
    example: { key: keys.timeout },
    text: ({ key }) => `${key} has no effect without ${keys.sidecars}`,
    means: 'The annotation changes how sidecars are waited for, and nothing makes a container of this pod a sidecar.',
    next: `Name the sidecars with \`${keys.sidecars}\`, or remove the annotation.`,
  }),
  'not-a-sidecar': noEffect('SF222', {
    example: { key: check, name: 'envoy' },
    text: ({ key, name }) => `${key} has no effect: ${name} is not in ${keys.sidecars}`,
    means: 'An annotation for one container names one that is not a sidecar.',
    next: `Add the container to \`${keys.sidecars}\`, or remove the annotation.`,
  }),
  'key-on-workload': noEffect<{ key: string; workload: string; place: string }>('SF223', {
    example: { key: keys.sidecars, workload: 'Deployment', place: 'spec.template.metadata.annotations' },
    text: ({ key, workload, place }) => `${key} has no effect on the ${workload} itself: write it in ${place}`,
    means: 'Annotations of a workload are not copied to its pods, so this one is never seen.',
    next: 'Move it to the pod template.',
  }),
  'key-as-label': noEffect<{ key: string; place: string }>('SF224', {
    example: { key: keys.sidecars, place: 'metadata.annotations' },
    text: ({ key, place }) => `${key} has no effect as a label: write it in ${place}`,
    means: 'The key is written as a label, and only annotations are read.',
    next: 'Move it to the annotations.',
  }),
  'enforced-opt-out': noEffect('SF225', {
    example: { name: 'envoy', rule: 'mesh' },
    text: ({ name, rule }) => `${keys.inject}: "false" has no effect on ${name}: the rule ${rule} is enforced`,
    means: 'The pod opts out, and an enforced rule holds all the same.',
    next: 'Remove the annotation, or ask the owner of the rule to exclude the pod.',
  }),
  'enforced-order': noEffect('SF226', {
    example: { name: 'envoy', rule: 'mesh' },
    text: ({ name, rule }) => `${keys.sidecars} has no effect on ${name}: the rule ${rule} is enforced`,
    means: 'The pod names a place for a sidecar that an enforced rule has already placed.',
    next: 'Take the container out of the list.',
  }),
  'enforced-key': noEffect<{ key: string; rule: string }>('SF227', {
    example: { key: keys.gate, rule: 'mesh' },
    text: ({ key, rule }) => `${key} has no effect: the rule ${rule} is enforced`,
    means: 'An annotation says something that an enforced rule decides.',
    next: 'Remove the annotation.',
  }),
  'enforced-keys': noEffect('SF228', {
    example: { name: 'envoy', rule: 'mesh' },
    text: ({ name, rule }) => `the keys of ${name} have no effect: the rule ${rule} is enforced`,
    means: 'Annotations for a container say something that an enforced rule decides.',
    next: 'Remove them.',
  }),
  'restarts-unused': noEffect('SF260', {
    text: `${keys.lockRestarts} has no effect: nothing in the pod waits for a lock with a lease`,
    means:
      'A later start waits only behind a lock whose file is leased: not with `lock: "off"`, `lease: off` in the configuration, the delivery `shell`, a tier of `hook:` checks alone, or a sidecar of the tier without a probe. Where all containers are sidecars of one tier, nothing is behind it.',
    next: 'Remove the annotation, or change what keeps the lock from being leased.',
  }),
  'check-replaced': noEffect('SF243', {
    example: { name: 'daprd', endpoint: '/v1.0/healthz', instead: 'http://:3501/v1.0/healthz/outbound' },
    text: ({ name, endpoint, instead }) =>
      `${endpoint}, which the probe of ${name} asks, waits for more than ${name}: ${instead} is asked instead`,
    means:
      'The probe asks an endpoint that answers only when the app, or a database, is up. A preset knows a better one.',
    next: 'Nothing. If you want another check, set `check.sidecar-first.dev/NAME`.',
  }),
  'bounds-of-probe': noEffect('SF241', {
    example: { name: 'envoy', key: 'sidecar-first.dev/timeout', limit: 60 },
    text: ({ name, limit, key }) =>
      `${key} has no effect on ${name}: its startupProbe holds the app, and the kubelet restarts ${name} after ${limit} s; set ${keys.startupProbe}: hook`,
    means: 'The kubelet waits for this sidecar, by its startupProbe, and no hook of sidecar-first has a limit.',
    next: 'Change the `failureThreshold` of the startupProbe, or use `startup-probe: hook`.',
  }),
  'waits-by-itself': noEffect('SF229', {
    example: { app: 'app', port: 15021, name: 'istio-proxy' },
    text: ({ app, port, name }) =>
      `${app} waits for port ${port} of ${name} in its own command; that is no longer needed`,
    means: "The app's command already waits for the sidecar in a loop of its own.",
    next: 'You can remove the loop.',
  }),
  'no-such-code': noEffect('SF253', {
    example: { code: 'SF999' },
    text: ({ code }) => `${keys.ignore}: ${quote(code)} is not the code of a warning about pods; they are like SF204`,
    means: 'The list of codes to ignore has one that no warning about pods has: misspelt, or of another version.',
    next: 'Correct it; docs/messages.md lists them all.',
  }),
  'not-ignorable': noEffect('SF254', {
    example: { code: 'SF105' },
    text: ({ code }) => `${keys.ignore}: ${code} can't be ignored`,
    means: 'Refusals, and warnings that say what becomes of the pod, are always told.',
    next: 'Take it out of the list, and correct what it says.',
  }),
  'pods-refused': tooEarly<{ problem: Problem }>('SF255', {
    example: {
      problem: { kind: 'unknown-choice', path: keys.gate, text: 'nativ', choices: ['hook', 'native', 'auto'] },
    },
    text: ({ problem }) => `its pods will be refused: ${codedProblem(problem)}`,
    means: 'A workload was applied whose pods will be refused when its controller creates them.',
    next: 'Correct the pod template as the code inside says.',
  }),
  'more-warnings': noEffect<{ count: number; least?: boolean }>('SF230', {
    example: { count: 3 },
    text: ({ count, least = false }) => `and ${least ? 'at least ' : ''}${count} more warnings`,
    means: 'An answer has at most 15 warnings: the API server drops longer lists.',
    next: 'Correct the others first, or run `sidecar-first preview` on the manifest.',
  }),
}

export type Warning = Values<typeof warnings>
