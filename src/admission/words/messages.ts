import { type Asked, askedText } from './asked.ts'
import { keys, nearestKey, perContainer } from './keys.ts'
import { nearest } from './nearest.ts'
import { printable } from './printable.ts'
import { quote } from './quote.ts'
import type { Code, CodedWords, Grade, Values, Words } from './values.ts'

/**
 * All that admission says, each kind once: what it is about and the words for it. A message is a value, its `kind` and its data, so that
 * nothing has to read a text to find out what it says. Texts are made here and nowhere else.
 */

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

const mean = (near: string | undefined) => (near === undefined ? '' : `; did you mean ${near}?`)
const didYouMean = (text: string, choices: readonly string[]) => mean(nearest(text, choices))

/** The form of a check is what it begins with. */
function nearCheck(text: string): string {
  const near = nearest(text.split(':', 1)[0] ?? '', checkKinds)
  return mean(near === undefined || text.startsWith(`${near}:`) ? undefined : near)
}
const checkKinds = ['probe', 'none', 'http', 'https', 'tcp', 'grpc', 'unix', 'file', 'exec', 'hook']

/** By its first letter; a U is nearly always spoken as in user. */
const article = (noun: string) => (/^[aeio]/i.test(noun) ? 'an' : 'a')

interface Named {
  readonly name: string
}
interface At {
  /** Counted from 1. */
  readonly character: number
  readonly text: string
}
const at = ({ character, text }: At) => `at character ${character} of ${quote(text)}`

/** What makes a pod invalid. Where the annotation or field is known, it is the `path`, and the text begins with it. */
const problems = {
  'unexpected-value': {
    code: 'SF101',
    text: ({ expected }: { readonly expected: Shape }) => `expected ${shapes[expected]}`,
  },
  'too-many-annotations': {
    code: 'SF102',
    text: ({ characters, most }: { readonly characters: number; readonly most: number }) =>
      `the annotations have ${characters.toLocaleString('en')} characters; Kubernetes takes ${most / 1024} KiB together`,
  },
  'too-many-containers': {
    code: 'SF103',
    text: ({ count, most }: { readonly count: number; readonly most: number }) =>
      `the pod has ${count.toLocaleString('en')} containers; sidecar-first looks at most at ${most}`,
  },
  'review-too-large': {
    code: 'SF158',
    text: ({ what, has, most }: { readonly what: string; readonly has: number; readonly most: number }) =>
      `the review of this pod has ${has.toLocaleString('en')} ${what}; sidecar-first reads at most ${most.toLocaleString('en')}`,
  },
  'answer-too-large': {
    code: 'SF159',
    text: ({ has, most }: { readonly has: number; readonly most: number }) =>
      `the answer about this pod would have at least ${has.toLocaleString('en')} bytes; sidecar-first sends at most ${most.toLocaleString('en')}`,
  },
  'duplicate-container': { code: 'SF104', text: ({ name }: Named) => `another container is called ${name}` },
  'unknown-choice': {
    code: 'SF105',
    text: ({ text, choices }: { readonly text: string; readonly choices: readonly string[] }) =>
      `${quote(text)} is not one of ${choices.join(', ')}${didYouMean(text, choices)}`,
  },
  'not-a-duration': {
    code: 'SF106',
    text: ({ text, range }: { readonly text: string; readonly range: string }) =>
      `${quote(text)} is not a duration; use ${range}, such as 1m30s`,
  },
  'duration-out-of-range': {
    code: 'SF107',
    text: ({ text, range }: { readonly text: string; readonly range: string }) =>
      `${quote(text)} is out of range; use ${range}`,
  },
  'not-a-check': {
    code: 'SF108',
    text: ({ text }: { readonly text: string }) => `${quote(text)} is not a check; use ${checkForms}${nearCheck(text)}`,
  },
  'check-syntax': {
    code: 'SF109',
    text: (data: At & { readonly expected: string }) => `expected ${data.expected} ${at(data)}`,
  },
  'check-not-allowed': {
    code: 'SF110',
    text: ({ allowed }: { readonly allowed: readonly string[] }) =>
      `this cluster's configuration allows annotations only ${allowed.join(', ')} checks`,
  },
  'hook-bounds-itself': {
    code: 'SF111',
    text: ({ check }: { readonly check: string }) => `the hook in ${check} sets its own limit; remove one of the two`,
  },
  'container-name-expected': { code: 'SF112', text: (data: At) => `expected a container name ${at(data)}` },
  'star-not-alone': { code: 'SF113', text: (data: At) => `"*" has to stand alone between commas, ${at(data)}` },
  'too-many-named': {
    code: 'SF114',
    text: ({ most }: { readonly most: number }) => `more than ${most} names; a pod has at most that many containers`,
  },
  'not-a-container-name': {
    code: 'SF115',
    text: (data: At & Named) => `${quote(data.name)} is not a container name, ${at(data)}`,
  },
  'named-twice': { code: 'SF116', text: (data: At & Named) => `${quote(data.name)} is named twice, again ${at(data)}` },
  'no-app-left': {
    code: 'SF117',
    text: () => `native would leave no app container: ${keys.sidecars} names them all; leave the app out`,
  },
  'ends-before-app': {
    code: 'SF118',
    text: ({ name }: Named) =>
      `${name} is an init container that ends before the app starts; nothing has to wait for it`,
  },
  'restart-policy-set': {
    code: 'SF119',
    text: ({ name }: Named) => `native sets a restartPolicy, and ${name} already has one; remove it or use hook`,
  },
  'check-beside-hook': {
    code: 'SF120',
    text: ({ name }: Named) => `${name} already has a different PostStart hook; remove one of the two`,
  },
  'hook-refused': {
    code: 'SF121',
    text: ({ name }: Named) => `${name} has a PostStart hook, which "refuse" rules out; remove it or use chain`,
  },
  'hook-unreadable': {
    code: 'SF122',
    text: ({ name }: Named) =>
      `container ${name} has a hook that another version of sidecar-first wrote and this one cannot read; remove its lifecycle.postStart`,
  },
  'tier-of-two-hooks': {
    code: 'SF123',
    text: ({ names }: { readonly names: readonly string[] }) =>
      `${names.join(' and ')} can't share a tier: each needs the hook in its own container (an exec, file, unix or hook check, or a PostStart hook it already has); write "${names.join(', ')}"`,
  },
  'tcp-hook': {
    code: 'SF124',
    text: ({ name }: Named) => `${name} has a tcpSocket PostStart hook, which the kubelet always fails; remove it`,
  },
  'hook-cannot-run': {
    code: 'SF125',
    text: ({ name }: Named) =>
      `${name} has a PostStart hook that can't run: its program is empty or a word has a NUL; remove it`,
  },
  'shell-http-hook': {
    code: 'SF126',
    text: ({ name }: Named) => `the shell form can't chain the httpGet hook of ${name}; use init-container`,
  },
  'shell-check': {
    code: 'SF127',
    text: ({ name, check }: Named & { readonly check: string }) =>
      `the shell form polls http and tcp only, and ${name} has ${check}; use init-container`,
  },
  'hook-too-large': {
    code: 'SF128',
    text: ({ name, cause }: Named & { readonly cause: string }) =>
      `the hook of ${name} would be more than 96 KiB because of ${cause}, and the kernel takes 128 KiB in one argument; move the command into a script`,
  },
  'hook-port-missing': {
    code: 'SF129',
    text: ({ name, port }: Named & { readonly port: string }) =>
      `the PostStart hook of ${name} asks the port ${quote(port)}, which it doesn't have`,
  },
  'hook-header-unsendable': {
    code: 'SF130',
    text: ({ name, header }: Named & { readonly header: string }) =>
      `the PostStart hook of ${name} has a header ${quote(header)} that HTTP can't carry`,
  },
  'port-missing': { code: 'SF131', text: noPort },
  'name-taken': {
    code: 'SF132',
    text: ({ what, name }: Named & { readonly what: 'volume' | 'container' | 'init container' }) =>
      `the ${what} ${name} is not ours; rename it, sidecar-first needs the name`,
  },
  'mount-taken': {
    code: 'SF133',
    text: ({ name, directory }: Named & { readonly directory: string }) =>
      `the mount ${directory} of ${name} is not ours; move it, sidecar-first needs the path`,
  },
  'lock-unknown': {
    code: 'SF160',
    text: ({ version }: { readonly version: string }) =>
      `"on" needs Kubernetes 1.35 on every node, and the configuration's kubernetesVersion is ${version}: older nodes would start the app at once; leave the lock out`,
  },
  'lock-too-large': {
    code: 'SF161',
    text: ({ count, most }: { readonly count: number; readonly most: number }) =>
      `the lock would add more than ${most} variables (at least ${count}): one to each container for each tier before it; use fewer tiers, or set it to off`,
  },
  'variable-taken': {
    code: 'SF162',
    text: ({ name, variable }: Named & { readonly variable: string }) =>
      `the variable ${quote(variable)} of ${name} is not ours; rename it, sidecar-first needs the name`,
  },
  'lock-mounted': {
    code: 'SF163',
    text: ({ name }: Named) =>
      `an enforced rule lets only sidecars write that they are ready, and ${name} mounts the volume sidecar-first-lock; remove that mount`,
  },
  /** What would open the gate of an enforced rule. */
  'not-the-waiter': {
    code: 'SF134',
    text: ({ what, image }: { readonly what: 'volume' | 'init container'; readonly image: string }) =>
      `an enforced rule needs the waiter's own image, and the ${what} sidecar-first-waiter has ${quote(image)}; if that is a mirror, allow it in the configuration under waiter.mirrors`,
  },
  'waiter-too-old': {
    code: 'SF168',
    text: ({ image }: { readonly image: string }) =>
      `the template brings the waiter ${quote(image)}, which doesn't know what an enforced rule asks of it; write the template again with inject`,
  },
  'installer-changed': {
    code: 'SF135',
    text: ({ part }: { readonly part: string }) =>
      `an enforced rule needs the init container sidecar-first-waiter as sidecar-first writes it, and it has ${part}; remove that`,
  },
  'waiter-writable': {
    code: 'SF136',
    text: ({ name, at }: Named & { readonly at: string }) =>
      `an enforced rule lets nobody change the waiter, and ${name} mounts the volume sidecar-first-waiter writable at ${quote(at)}; make that mount readOnly`,
  },
  'waiter-covered': {
    code: 'SF137',
    text: ({ name, at }: Named & { readonly at: string }) =>
      `an enforced rule needs the waiter itself at /.sidecar-first, and ${name} has something else at ${quote(at)}; move it`,
  },
  'starts-in-front': {
    code: 'SF169',
    text: ({ name, native, sidecar, rule }: Ruled & { readonly native: boolean; readonly sidecar: string }) =>
      native
        ? `the init container ${name} keeps running and starts before ${sidecar}, whose rule ${rule} is enforced; make it a regular container, or let it by in the configuration: allowNatives in the rule, or enforced.inFront`
        : `${name} has a PostStart hook and the name of a mesh's proxy, so it starts before ${sidecar}, whose rule ${rule} is enforced; if it is the proxy, let it by in the configuration under enforced.inFront`,
  },
  'not-locked': {
    code: 'SF170',
    text: ({ name, rule }: Ruled) =>
      `the enforced rule ${rule} wants the app locked until ${name} is ready, and no hook of sidecar-first can tell: give ${name} a probe that can be asked, or the rule a check`,
  },
  'processes-shared': {
    code: 'SF171',
    text: ({ name, by }: Named & { readonly by: string }) =>
      `with ${by}, ${name} could open an enforced lock from outside before the sidecars are ready; take away ${by}, or start ${name} behind them`,
  },
  'image-unread': {
    code: 'SF172',
    text: ({ name, most }: Named & { readonly most: number }) =>
      `the image of ${name} has more than ${most} characters, so an enforced rule can't tell whether it is about it; use a shorter name`,
  },
  /** What a final pod lacks. */
  'wrong-list': {
    code: 'SF139',
    text: ({ name, list }: Named & { readonly list: string }) =>
      `${name} has to be in spec.${list} with restartPolicy: Always`,
  },
  'wrong-place': {
    code: 'SF140',
    text: ({ name, place, instead }: Named & { readonly place: string; readonly instead: string | undefined }) =>
      `${name} has to be at ${place}${instead === undefined ? '' : `, before ${instead}, which is there now`}`,
  },
  'hook-left-over': { code: 'SF141', text: ({ name }: Named) => `${name} still has a hook of ours that no tier needs` },
  'hook-missing': {
    code: 'SF142',
    text: ({ name }: Named) => `${name} lacks the PostStart hook that holds the app back`,
  },
  'startup-probe-differs': {
    code: 'SF150',
    text: ({ name, wanted }: Named & { readonly wanted: 'eager' | 'removed' }) =>
      wanted === 'eager'
        ? `the startupProbe of ${name} isn't asked every second from its start`
        : `${name} still has its startupProbe`,
  },
  'mount-missing': {
    code: 'SF143',
    text: ({ name }: Named) => `${name} lacks the mount of the waiter that its hook runs`,
  },
  'volume-missing': {
    code: 'SF144',
    text: ({ image }: { readonly image: boolean }) =>
      `the volume of the waiter is missing${image ? '; an API server without image volumes drops it (they are on by default from Kubernetes 1.35): use the delivery init-container' : ''}`,
  },
  'installer-missing': { code: 'SF145', text: () => 'the init container that delivers the waiter is missing' },
  'lock-missing': { code: 'SF164', text: () => 'the volume of the lock is missing or not in memory' },
  'lock-mount-missing': {
    code: 'SF165',
    text: ({ name }: Named) => `${name} lacks the mount of the lock that its hook opens`,
  },
  'reset-missing': { code: 'SF166', text: () => "the waiter's init container doesn't close the lock of a new sandbox" },
  'variable-wrong': {
    code: 'SF167',
    text: ({ name }: Named) => `${name} hasn't exactly the variables that keep it locked until the sidecars are ready`,
  },
  'changed-later': {
    code: 'SF146',
    text: () =>
      'another webhook may have changed the pod after sidecar-first, or sidecar-first was not called: run "sidecar-first check"',
  },
} as const satisfies CodedWords

/** Why a pod is left alone, or what is done to it. */
const reasons = {
  'opted-out': { text: () => `${keys.inject} is "false"` },
  'mirror-pod': { text: () => 'a mirror pod: the kubelet runs it from a file on the node' },
  'windows-pod': { text: () => 'a Windows pod' },
  'only-sidecars': { text: () => 'every container is a sidecar by the rules, so there is no app to hold back' },
  'no-app': {
    text: () => 'every container is a well-known sidecar or belongs to one, so there is no app to hold back',
  },
  'nothing-asked': {
    text: ({ rules }: { readonly rules: boolean }) =>
      `no ${keys.sidecars} annotation${rules ? ', and no rule matches' : ''}`,
  },
  'none-known': {
    text: ({ names }: { readonly names: readonly string[] }) =>
      `it has no sidecar that a preset knows; if its namespace has one injected (${names.join(', ')}), name that in the annotation, or preview it with its Namespace`,
  },
  'none-there': { text: () => 'none of the named sidecars is in this pod' },
  'to-be-injected': {
    text: ({ name, key }: KeyOf) => `${name} isn't there yet; the injector that ${key} asks for has to add it`,
  },
  'star-alone': { text: () => '"*" stands for the sidecars that rules add, and no rule matches' },
  'not-a-pod': { text: () => 'not a Pod' },
  subresource: { text: () => 'a subresource of a Pod' },
  'not-a-creation': { text: () => 'not the creation of a Pod' },
  'no-pod-template': {
    text: ({ object }: { readonly object: string }) => `${article(object)} ${object} has no pod template`,
  },
  'startup-probe-holds': {
    text: ({ name, already, ...asked }: Named & Asked & { readonly already: boolean }) =>
      `${name}: its startupProbe${already ? ' already' : ''} holds the app (${askedText(asked)})`,
  },
  'own-hook-holds': { text: ({ name }: Named) => `${name}: its own hook already holds the app` },
  prepared: {
    text: ({ name, by }: Named & { readonly by: string }) =>
      `${name}: ${by}, an init container, does its work before the app starts`,
  },
  starts: { text: (order: StartOrder) => `starts ${orderText(order)}` },
  'starts-already': { text: (order: StartOrder) => `already starts ${orderText(order)}` },
} as const

/** How much a warning matters: the API cuts long lists, so the worst come first. */
export const severities = ['app-may-start-too-early', 'bites-later', 'costs', 'has-no-effect'] as const
export type Severity = (typeof severities)[number]

const tooEarly = { severity: 'app-may-start-too-early' } as const
const bitesLater = { severity: 'bites-later' } as const
const noEffect = { severity: 'has-no-effect' } as const
const unwaited = (name: string, why: string) =>
  `${name} is started first but not waited for: ${why}; set the annotation ${perContainer.check}${name}`

interface Ruled extends Named {
  readonly rule: string
}
interface Misplaced {
  readonly key: string
  readonly place: string
}
interface FromProbe extends Named {
  readonly probe: string
}
interface KeyOf extends Named {
  readonly key: string
}

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

interface NeverReady extends Named {
  readonly needs: string
  /** A gate that no timeout opens. */
  readonly closed: boolean
  /** Whether it helps to list it before. */
  readonly listable: boolean
  /** Whose injector has rewritten the probe. */
  readonly mesh?: string
}

interface SharedTier {
  readonly names: readonly string[]
  /** The one with the hook. */
  readonly carrier: string
  readonly seconds: number
}

/** What the pod's owner should know although the pod is admitted. */
const warnings = {
  audited: {
    code: 'SF257',
    ...tooEarly,
    text: ({ problem }: { readonly problem: Problem }): string =>
      `would be refused if enforce: audit were true: ${textOf(problem)}`,
  },
  exempt: {
    code: 'SF258',
    ...tooEarly,
    text: ({ rule }: { readonly rule: string }) => `the rule ${rule} isn't enforced here: it exempts this pod`,
  },
  'left-untouched': {
    code: 'SF201',
    ...tooEarly,
    text: ({ problem }: { readonly problem: Problem }): string => `left untouched: ${coded(problem)}`,
  },
  'container-absent': {
    code: 'SF202',
    ...tooEarly,
    text: ({ key, name, near }: KeyOf & { readonly near?: string }) =>
      `${key} names ${quote(name)}, but no container is called that; unless an injector adds it, nothing waits for it${mean(near)}`,
  },
  'keeps-own-hook': {
    code: 'SF203',
    ...tooEarly,
    text: ({ name }: Named) =>
      `${name} keeps its own PostStart hook (${keys.existingHook}: keep), so it is not waited for`,
  },
  'no-probe': {
    code: 'SF204',
    ...tooEarly,
    text: ({ name, probes }: Named & { readonly probes: readonly string[] }) =>
      unwaited(name, `it has no ${probes.join(' or ')}`),
  },
  'probe-without-handler': {
    code: 'SF205',
    ...tooEarly,
    text: ({ name, probe }: FromProbe) => unwaited(name, `its ${probe} asks nothing`),
  },
  'probe-port-missing': {
    code: 'SF206',
    ...tooEarly,
    text: (data: FromProbe & MissingPort) =>
      unwaited(data.name, `its ${data.probe} asks a port it doesn't have: ${noPort(data)}`),
  },
  'probe-not-a-check': {
    code: 'SF207',
    ...tooEarly,
    text: ({ name, probe, check }: FromProbe & { readonly check: string }) =>
      unwaited(name, `its ${probe} can't be written as a check (${quote(check)})`),
  },
  'probe-header-unsendable': {
    code: 'SF208',
    ...tooEarly,
    text: ({ name, probe, header }: FromProbe & { readonly header: string }) =>
      unwaited(name, `its ${probe} has a header ${quote(header)} that HTTP can't carry`),
  },
  deadlock: {
    code: 'SF209',
    ...tooEarly,
    text: ({ name, endpoint, instead }: Named & { readonly endpoint: string; readonly instead: string }) =>
      `deadlock: ${endpoint} of ${name} only answers once the app is up, and the app waits for ${name}; use ${instead}`,
  },
  'never-ready': {
    code: 'SF242',
    ...tooEarly,
    text: ({ name, needs, closed, listable, mesh }: NeverReady) =>
      `deadlock: ${needs} answers the check of ${name}${mesh ? ` (${mesh} rewrote its probe)` : ''} and starts behind it, so ${closed ? 'the app never starts' : 'the app starts at the timeout, without it'}; ${listable ? `name ${needs} before ${name} in ${keys.sidecars}` : `set ${perContainer.check}${name}`}`,
  },
  'webhooks-behind': {
    code: 'SF210',
    ...bitesLater,
    text: () =>
      'the webhook configuration is behind the configuration of sidecar-first: print it again with "sidecar-first config"',
  },
  'job-never-completes': {
    code: 'SF211',
    ...bitesLater,
    text: ({ names }: { readonly names: readonly string[] }) =>
      `${names.join(', ')} runs on, so the Job never completes; set ${keys.gate}: native`,
  },
  'init-container-first': {
    code: 'SF212',
    ...bitesLater,
    text: ({ name, early }: Named & { readonly early: string }) =>
      `${early} is an init container and starts before ${name}, whatever the order says; set ${keys.gate}: native`,
  },
  'before-mesh-proxy': {
    code: 'SF213',
    ...bitesLater,
    text: ({ names, proxy, instead }: BeforeProxy) =>
      `${names.join(', ')} starts before the mesh proxy ${proxy}, and may reach nothing without it: ${insteadOfEarly(proxy)[instead]}`,
  },
  'not-restarted': {
    code: 'SF214',
    ...bitesLater,
    // Under OnFailure, too, one that exits 0 when it is killed isn't restarted.
    text: ({
      names,
      restartPolicy,
      locked,
    }: {
      readonly names: readonly string[]
      readonly restartPolicy: string
      readonly locked: boolean
    }) =>
      `restartPolicy is ${restartPolicy}: if ${names.join(', ')} isn't ready in time it ${restartPolicy === 'Never' ? 'stays' : 'may stay'} down, and the app ${locked ? 'never starts, since it is locked' : 'starts without it'}`,
  },
  'no-lock': {
    code: 'SF250',
    ...bitesLater,
    text: ({ why }: { readonly why: NoLock }) => `the app isn't locked: ${noLocks[why]}`,
  },
  'no-lock-by-rule': {
    code: 'SF256',
    severity: 'costs',
    text: () => `the app isn't locked: only a rule asks for its sidecars, and lock: on in the rule would lock it`,
  },
  'lock-in-the-way': {
    code: 'SF251',
    ...bitesLater,
    text: ({ problem }: { readonly problem: Problem }): string => `the app isn't locked: ${textOf(problem)}`,
  },
  'node-loopback': {
    code: 'SF215',
    ...bitesLater,
    text: ({ name }: Named) =>
      `hostNetwork: the check of ${name} asks the node's loopback, where another process may answer`,
  },
  'liveness-unprotected': {
    code: 'SF240',
    ...bitesLater,
    text: ({ name }: Named) =>
      `the livenessProbe of ${name} may kill it while it still starts, once its hook is over or the kubelet restarts: ${keys.startupProbe}: hook takes away the startupProbe that held it off`,
  },
  'port-moves': {
    code: 'SF216',
    ...bitesLater,
    text: ({ port, from, to }: { readonly port: string; readonly from: string; readonly to: string }) =>
      `a Service's targetPort ${port} now means ${to} and no longer ${from}: both have a port of that name`,
  },
  deadline: {
    code: 'SF217',
    ...bitesLater,
    text: ({ seconds, field, limit }: { readonly seconds: number; readonly field: Deadline; readonly limit: number }) =>
      `the sidecars may take ${seconds}s, and after ${field} (${limit}s) ${deadlines[field]}: shorten ${keys.timeout} or raise ${field}`,
  },
  'only-observed': {
    code: 'SF218',
    ...bitesLater,
    text: ({ would, reasons }: { readonly would: 'change' | 'refuse'; readonly reasons: readonly string[] }) =>
      `sidecar-first only observes; it would ${would} this: ${reasons.join('; ')}`,
  },
  'adds-empty-dir': {
    code: 'SF219',
    severity: 'costs',
    text: () =>
      'the waiter adds an emptyDir: kubectl drain asks for --delete-emptydir-data, and the cluster autoscaler for cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: sidecar-first-waiter',
  },
  'adds-memory-dir': {
    code: 'SF252',
    severity: 'costs',
    text: () => 'the lock adds an emptyDir in memory: kubectl drain asks for --delete-emptydir-data',
  },
  'tier-of-several': {
    code: 'SF244',
    severity: 'costs',
    text: ({ names, carrier, seconds }: SharedTier) =>
      `if ${names.join(' or ')} crashes before it is ready, nothing restarts it while the hook on ${carrier} runs (up to ${seconds}s): give what may crash a tier of its own, with "," instead of "+"`,
  },
  'unknown-key': {
    code: 'SF220',
    ...noEffect,
    text: ({ key, version }: { readonly key: string; readonly version: string }) =>
      `${key} has no effect: this version (${version}) doesn't know it${mean(nearestKey(key))}`,
  },
  'idle-key': {
    code: 'SF221',
    ...noEffect,
    text: ({ key }: { readonly key: string }) => `${key} has no effect without ${keys.sidecars}`,
  },
  'not-a-sidecar': {
    code: 'SF222',
    ...noEffect,
    text: ({ key, name }: KeyOf) => `${key} has no effect: ${name} is not in ${keys.sidecars}`,
  },
  'key-on-workload': {
    code: 'SF223',
    ...noEffect,
    text: ({ key, workload, place }: Misplaced & { readonly workload: string }) =>
      `${key} has no effect on the ${workload} itself: write it in ${place}`,
  },
  'key-as-label': {
    code: 'SF224',
    ...noEffect,
    text: ({ key, place }: Misplaced) => `${key} has no effect as a label: write it in ${place}`,
  },
  'enforced-opt-out': {
    code: 'SF225',
    ...noEffect,
    text: ({ name, rule }: Ruled) => `${keys.inject}: "false" has no effect on ${name}: the rule ${rule} is enforced`,
  },
  'enforced-order': {
    code: 'SF226',
    ...noEffect,
    text: ({ name, rule }: Ruled) => `${keys.sidecars} has no effect on ${name}: the rule ${rule} is enforced`,
  },
  'enforced-key': {
    code: 'SF227',
    ...noEffect,
    text: ({ key, rule }: { readonly key: string; readonly rule: string }) =>
      `${key} has no effect: the rule ${rule} is enforced`,
  },
  'enforced-keys': {
    code: 'SF228',
    ...noEffect,
    text: ({ name, rule }: Ruled) => `the keys of ${name} have no effect: the rule ${rule} is enforced`,
  },
  'check-replaced': {
    code: 'SF243',
    ...noEffect,
    text: ({ name, endpoint, instead }: Named & { readonly endpoint: string; readonly instead: string }) =>
      `${endpoint}, which the probe of ${name} asks, waits for more than ${name}: ${instead} is asked instead`,
  },
  'bounds-of-probe': {
    code: 'SF241',
    ...noEffect,
    text: ({ name, limit, key }: KeyOf & { readonly limit: number }) =>
      `${key} has no effect on ${name}: its startupProbe holds the app, and the kubelet restarts ${name} after ${limit} s; set ${keys.startupProbe}: hook`,
  },
  'waits-by-itself': {
    code: 'SF229',
    ...noEffect,
    text: ({ app, port, name }: Named & { readonly app: string; readonly port: number }) =>
      `${app} waits for port ${port} of ${name} in its own command; that is no longer needed`,
  },
  'no-such-code': {
    code: 'SF253',
    ...noEffect,
    text: ({ code }: { readonly code: string }) =>
      `${keys.ignore}: ${quote(code)} is not the code of a warning about pods; they are like SF204`,
  },
  'not-ignorable': {
    code: 'SF254',
    ...noEffect,
    text: ({ code }: { readonly code: string }) => `${keys.ignore}: ${code} can't be ignored`,
  },
  'pods-refused': {
    code: 'SF255',
    ...tooEarly,
    text: ({ problem }: { readonly problem: Problem }): string => `its pods will be refused: ${coded(problem)}`,
  },
  'more-warnings': {
    code: 'SF230',
    ...noEffect,
    text: ({ count, least = false }: { readonly count: number; readonly least?: boolean }) =>
      `and ${least ? 'at least ' : ''}${count} more warnings`,
  },
} as const satisfies { readonly [kind: string]: CodedWords[string] & { readonly severity: Severity } }

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

export interface MissingPort {
  readonly container: string
  readonly port: string
  /** The names of those it has. */
  readonly ports: readonly string[]
}

function noPort({ container, port, ports }: MissingPort): string {
  const there = ports.length === 0 ? 'no named ports' : `the ports ${ports.join(', ')}`
  return `${container} has no port ${quote(port)}; it has ${there}`
}

interface StartedFirst extends Named {
  readonly waitedFor: boolean
  /** The rule that it is under. */
  readonly rule?: string | undefined
}

/** The order of a pod's start as the tiers have it. */
export interface StartOrder {
  readonly first: readonly (readonly StartedFirst[])[]
  /** The containers behind all sidecars. */
  readonly rest: readonly string[]
}

/** `vault-agent, then envoy (rule mesh) + otel (not waited for), before app` */
export function orderText({ first, rest }: StartOrder): string {
  const tiers = first.map((tier) => tier.map(startedFirst).join(' + '))
  return `${tiers.join(', then ')}${rest.length > 0 ? `, before ${rest.join(', ')}` : ''}`
}

function startedFirst({ name, waitedFor, rule }: StartedFirst): string {
  const notes = [...(rule === undefined ? [] : [`rule ${rule}`]), ...(waitedFor ? [] : ['not waited for'])]
  return notes.length === 0 ? name : `${name} (${notes.join(', ')})`
}

/** The same of a decision's reasons, where one is an order. */
export function startText(reasons: readonly Said[]): string {
  const order = reasons.find((reason) => reason.kind === 'starts' || reason.kind === 'starts-already')
  return order === undefined ? '' : orderText(order)
}

export type Problem = Values<typeof problems> & {
  /** The annotation or the field, or else who asked for what can't be had. */
  readonly path?: string
}
export type Reason = Values<typeof reasons>
export type Warning = Values<typeof warnings>
/** What a verdict is explained with. */
export type Said = Problem | Reason | Warning

export const severityOf = ({ kind }: Warning): Severity => warnings[kind].severity

/** The public code of what is refused or warned of. */
export const codeOf = ({ kind }: Problem | Warning): Code => codes[kind].code

export const gradeOf = (said: Problem | Warning): Grade => {
  if (!isWarning(said)) return isHint(said) ? 'note' : 'refusal'
  return isCost(said) ? 'note' : 'warning'
}

/** Whether it only says where to look, beside problems. */
export const isHint = ({ kind }: Said): boolean => kind === 'changed-later'

export const isProblem = (said: Said): said is Problem => Object.hasOwn(problems, said.kind)

const isWarning = (said: Said): said is Warning => Object.hasOwn(warnings, said.kind)

/** Those that say what becomes of the pod. */
const alwaysHeard: ReadonlySet<string> = new Set<Warning['kind']>([
  'audited',
  'exempt',
  'left-untouched',
  'only-observed',
  'pods-refused',
  'webhooks-behind',
  'no-such-code',
  'not-ignorable',
  'more-warnings',
])

/** Whether a code can be ignored; undefined if it is none of a message about pods. */
export function isIgnorable(code: string): boolean | undefined {
  const kind = kindOf.get(code)
  return kind === undefined ? undefined : Object.hasOwn(warnings, kind) && !alwaysHeard.has(kind)
}

/** The warnings and notes but those that somebody doesn't want to hear of. */
export function heard(all: readonly Warning[], ignored: ReadonlySet<string>): readonly Warning[] {
  return ignored.size === 0 ? all : all.filter((each) => !ignored.has(codeOf(each)) || alwaysHeard.has(each.kind))
}

/** Whether it only names a price, as the default way of the waiter into a pod always does: nothing that somebody should act on. */
export const isCost = (warning: Warning): boolean => severityOf(warning) === 'costs'

// The API server cuts a warning over 256 characters (k8s.io/apiserver, endpoints/filters/warning.go). The other limit is ours.
const longestWarning = 256 - 'SF999 '.length
const longest = 1024

/** The words for a message: on one line, bounded, safe to print. */
export function textOf(said: Said): string {
  const words = wordsFor(said)
  return printable('path' in said ? `${said.path}: ${words}` : words, isWarning(said) ? longestWarning : longest)
}

/** The same behind its code, if it has one: what somebody can look up. */
export function coded(said: Said): string {
  return Object.hasOwn(codes, said.kind) ? `${codeOf(said as Problem | Warning)} ${textOf(said)}` : textOf(said)
}

const codes = { ...problems, ...warnings }
const kindOf: ReadonlyMap<string, string> = new Map(Object.entries(codes).map(([kind, { code }]) => [code, kind]))
const messages: Words = { ...problems, ...reasons, ...warnings }

/** The kind decides which data there is, so it fits. */
function wordsFor(said: Said): string {
  return (messages[said.kind] as { text: (data: Said) => string }).text(shortened(said))
}

/** More of a name than any message shows: a pod can have one of a megabyte, told of in ten thousand warnings. */
const longestPart = longest + 1

function shortened(said: Said): Said {
  const isLong = (part: unknown) => typeof part === 'string' && part.length > longestPart
  if (!Object.values(said).some(isLong)) return said
  const parts = Object.entries(said).map(([key, part]) => [key, isLong(part) ? part.slice(0, longestPart) : part])
  return Object.fromEntries(parts) as Said
}
