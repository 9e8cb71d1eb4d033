import { define, passOn, wordsFor } from '../../admission/words/define.ts'
import { keys } from '../../admission/words/keys.ts'
import { codeOf, textOf, type Warning } from '../../admission/words/messages.ts'
import type { Code, Values } from '../../admission/words/values.ts'
import { mutatingReference, validatingReference } from '../../kubernetes/names.ts'
import type { JudgedStart, Unjudged } from '../../outcome/outcome.ts'
import type { Early, Lacking, Stuck, Unknown } from '../../outcome/why.ts'
import {
  downCode,
  downText,
  earlyText,
  heldNotes,
  lackingCode,
  lackingNext,
  lackingText,
  laterCodes,
  outcomeCodes,
  outcomeWords,
  startText,
  stuckNext,
  stuckText,
  unjudgedText,
  unknownText,
} from '../../outcome/words.ts'
import type { Today } from '../../scan/today.ts'
import { told as scanned } from '../../scan/words.ts'
import {
  type Affected,
  forText,
  podsText,
  type Uncovered,
  uncoveredNext,
  uncoveredText,
  type Where,
  where,
} from './pods.ts'
import { fullName } from './webhooks.ts'

const late = 'before its namespace was labelled, or before the configuration named its containers'
/** Why the webhook has patched a running pod otherwise than it would today, or not at all. */
const misses = {
  altered: {
    text: () =>
      'it was patched when it was created; another webhook moved its containers afterwards, or the configuration has changed',
  },
  'before-webhook': {
    text: ({ created, since }: { readonly created: string; readonly since: string }) =>
      `it was created ${created}, before the webhook configuration (${since})`,
  },
  'outage-or-late': { text: () => `it was created while no replica answered (failurePolicy Ignore), ${late}` },
  late: { text: () => `it was created ${late}` },
}
export type MissedBecause = Values<typeof misses>

interface MaybeRenewed {
  /** How to create the pod again; a template has none. */
  readonly renew: string | undefined
}
function then(renew: string | undefined): string {
  return renew === undefined ? '' : `; then ${renew}`
}
interface Scanned {
  readonly today: Today
  readonly lines: readonly { readonly key: string; readonly value: string }[]
  /** Why no line would help. */
  readonly why: string | undefined
}
/** What would be said of `pod`, one of those that stand alike. */
interface Alike extends Affected {
  readonly pod: string
  readonly told: { readonly code: Code; readonly text: string; readonly next?: string }
}
const alikeCode = ({ told }: Alike) => told.code
const alikeText = (data: Alike) => `${podsText(data)}, such as ${data.pod}: ${data.told.text}`
const alikeNext = ({ told }: Alike) => told.next ?? ''
interface Warned {
  readonly warning: Warning
  /** Where in the object that was asked about: `spec.template.metadata.annotations[sidecar-first.dev/gate]`. */
  readonly path?: string
}

const would = 'start envoy, before app'
const lacking = { sidecar: 'envoy', why: 'crashed', message: 'exit code 1' } as const
const early = [{ why: 'crashed', sidecars: ['envoy'] }] as const
const stuck = { why: 'hook', container: 'envoy', sidecars: ['envoy'], since: undefined } as const
const renew = 'kubectl rollout restart -n shop deployment/web'
const [ok, warning, problem] = [define('ok'), define('warning'), define('problem')]

/** Of one pod or workload. */
export const podFindings = {
  unlocked: warning<MaybeRenewed & { names: string[] }>('SF583', {
    example: { names: ['app'], renew },
    text: ({ names }) =>
      `${names.join(', ')} lost the lock: another webhook or client wrote the pod and dropped the field fileKeyRef, which its libraries don't know`,
    means: 'It was locked when it was created, and runs or waits without it: its order is held by the hook alone.',
    next: ({ renew }) =>
      `update it to libraries of Kubernetes 1.34 or later${renew === undefined ? '' : `; then ${renew}`}`,
  }),
  'subject-missing': problem('SF601', {
    example: { subject: 'Pod', name: 'web-0', namespace: 'shop' },
    text: ({ subject, name, namespace }) => `there is no ${subject} ${name} in namespace ${namespace}`,
    means: 'No such object in that namespace.',
    next: () => 'name its namespace with -n',
  }),
  'subject-ending': warning('SF602', {
    example: { subject: 'Pod' },
    text: ({ subject }) => `this ${subject} is being deleted`,
    means: 'What is being deleted is not judged.',
    next: () => 'name the one that takes its place',
  }),
  'webhooks-unreadable': warning('SF603', {
    example: { message: 'forbidden' },
    text: ({ message }) => `the webhook configuration can't be read: ${message}`,
    means: 'Whether the API server sends the pod is not known.',
    next: 'Grant the right that the message names.',
  }),
  'own-namespace-unread': warning('SF668', {
    example: { namespace: 'shop' },
    text: ({ namespace }) =>
      `whether the webhook is called for it is not known: you may not read the namespace ${namespace}`,
    means: 'Its labels say whether the webhook covers a namespace.',
    next: 'Get the right to get that namespace.',
  }),
  'default-configuration': warning<{ live: 'invalid' | 'missing or may not be read' }>('SF604', {
    example: { live: 'missing or may not be read' },
    text: ({ live }) => `judged by the default configuration: the live one is ${live}`,
    means: "Without the cluster's own configuration, its rules are missing here.",
    next: 'Grant the right to read the ConfigMap, or correct it.',
  }),
  asks: ok('SF605', {
    example: { sidecars: 'envoy' },
    text: ({ sidecars }) => `${keys.sidecars}: ${sidecars}`,
  }),
  'patched-already': ok('SF606', {
    example: { status: '{"version":"0.2.0"}' },
    text: ({ status }) => `patched by sidecar-first, in its webhook or by inject: ${status}`,
  }),
  ruled: ok('SF607', {
    example: { rule: 'mesh', container: 'envoy' },
    text: ({ rule, container }) => `the rule ${rule} makes ${container} a sidecar`,
  }),
  'admission-warning': passOn(
    'warning',
    ({ warning }: Warned) => codeOf(warning),
    ({ warning }: Warned) => textOf(warning),
  ),
  'left-alone': ok('SF609', {
    example: { why: 'a Windows pod' },
    text: ({ why }) => `it is left alone: ${why}`,
  }),
  'opted-out': warning('SF610', {
    text: `${keys.sidecars} has no effect beside ${keys.inject}: "false"`,
    means: 'The pod names sidecars and opts out, and opting out wins.',
    next: () => `remove ${keys.inject} to have it patched`,
  }),
  'in-order': ok('SF611', {
    example: { due: 'envoy, before app' },
    text: ({ due }) => `its order is as it should be: starts ${due}`,
  }),
  should: warning('SF612', {
    example: { would },
    text: ({ would }) => `it should ${would}`,
    means: 'What the webhook would do to such a pod.',
    next: 'Nothing, if the pod is about to be created.',
  }),
  'should-no-webhooks': problem<MaybeRenewed & { would: string; refusing: boolean }>('SF613', {
    example: { would, refusing: false, renew: undefined },
    text: ({ would, refusing }) =>
      `it should ${would}, but there is no ${fullName(mutatingReference)}${refusing ? `, and ${fullName(validatingReference)} refuses such pods` : ''}`,
    means: 'The pod asks for an order, and nothing gives it.',
    next: ({ renew }) => `sidecar-first check says how to create it${then(renew)}`,
  }),
  'should-uncovered': problem<MaybeRenewed & { would: string; uncovered: Uncovered }>('SF614', {
    example: { would, uncovered: { why: 'excluded', namespace: 'kube-system' }, renew: undefined },
    text: ({ would, uncovered }) => `it should ${would}, but ${uncoveredText(uncovered)}`,
    means: 'The pod asks for an order, and the API server does not send it.',
    next: ({ uncovered, renew }) => `${uncoveredNext(uncovered)}${then(renew)}`,
  }),
  refused: problem('SF615', {
    example: { why: 'sidecar-first.dev/gate: "nativ" is not one of hook, native, auto', exists: true },
    text: ({ why, exists }) => `${exists ? 'created again, it would be' : 'its pods are'} refused: ${why}`,
    means: 'The next pod from this manifest will not be created.',
    next: () => 'correct the manifest',
  }),
  observed: ok('SF616', {
    example: { would },
    text: ({ would }) => `mode: observe; otherwise it would ${would}`,
  }),
  'template-right': ok('SF617', {
    example: { would },
    text: ({ would }) => `its pods ${would}`,
  }),
  older: ok('SF618', {
    example: { version: '0.1.0' },
    text: ({ version }) =>
      `its order is held: version ${version} has patched it, and only details differ from what this version writes`,
  }),
  outdated: warning('SF619', {
    example: { renew },
    text: 'its order is held, but another configuration or version would patch it differently today',
    means: 'The order is held, and another version or configuration would write the pod differently.',
    next: ({ renew }) => renew,
  }),
  missed: problem<{ would: string; because: MissedBecause; renew: string }>('SF620', {
    example: { would, because: { kind: 'late' }, renew },
    text: ({ would, because }) => `it should ${would}, and doesn't: ${wordsFor(misses, because)}`,
    means: 'The pod runs without the order that it should have.',
    next: ({ renew }) => renew,
  }),
  held: ok<{ unwatched: readonly string[]; asked: readonly string[] }>(outcomeCodes.held, {
    example: { unwatched: ['envoy'], asked: [] },
    text: (held) =>
      ['its app began after its sidecars were ready', ...heldNotes(held).map((note) => `(${note})`)].join(' '),
  }),
  'waiter-stays': ok<{ name: string; limit: string }>('SF638', {
    example: { name: 'envoy', limit: '16Mi' },
    text: ({ name, limit }) =>
      `the waiter's process stays in ${name} for the lock's lease, with 1 to 3 MiB of its memory limit of ${limit}`,
  }),
  'starts-unjudged': ok<Unjudged & { owner: string | undefined }>('SF635', {
    example: { all: 768, more: 640, owner: undefined },
    text: ({ owner, ...cut }) => `${owner === undefined ? '' : `${owner}: `}${unjudgedText(cut)}`,
  }),
  'too-early': warning<Where & { early: readonly Early[] }>(outcomeCodes['too-early'], {
    example: { ...where, early },
    text: ({ early }) => `its app began too early: ${early.map(earlyText).join('; ')}`,
    means: 'The app began before its sidecars were ready. It may work by now; what it did first may have failed.',
    next: ({ namespace, pod }) => `sidecar-first timeline -n ${namespace} pod/${pod}`,
  }),
  stuck: problem<Where & { stuck: Stuck; seconds: number }>(outcomeCodes.stuck, {
    example: { ...where, stuck, seconds: 240 },
    text: (data) => `stuck${forText(data)}: ${stuckText(data.stuck)}`,
    means: 'The app has not started, because something before it does not end or get ready.',
    next: ({ stuck, namespace, pod }) => stuckNext(stuck, `-n ${namespace} ${pod}`),
  }),
  'start-unknown': ok<{ unsure: Unknown[] }>(outcomeCodes.unknown, {
    example: { unsure: [{ why: 'events', sidecars: ['envoy'] }] },
    text: ({ unsure }) =>
      `whether its app began after its sidecars were ready is not known: ${unsure.map(unknownText).join('; ')}`,
  }),
  lacking: problem<Where & { lacking: Lacking }>(lackingCode, {
    example: { ...where, lacking },
    text: ({ lacking }) => `it runs without ${lacking.sidecar}: ${lackingText(lacking)}`,
    means: 'The app runs while a sidecar of its does not, whoever created the pod.',
    next: ({ lacking, namespace, pod }) => lackingNext(lacking, `-n ${namespace} ${pod}`),
  }),
  'unless-injected': warning('SF633', {
    example: { names: ['vault'], exists: false },
    text: ({ names, exists }) =>
      `${exists ? 'created again, it would be' : 'its pods are'} refused unless an injector adds ${names.join(', ')}`,
    means: 'Annotations name containers that the manifest does not have. The final check refuses a pod without them.',
    next: () => 'correct the names, or list them under injected in the configuration',
  }),
  down: problem<Where & { down: Stuck; seconds: number }>(downCode, {
    example: {
      ...where,
      down: { why: 'crashed', container: 'app', message: 'exit code 1', since: undefined },
      seconds: 240,
    },
    text: (data) => `its app isn't running now${forText(data)}: ${downText(data.down)}`,
    means: 'The app has run before and does not now.',
    next: ({ down, namespace, pod }) => stuckNext(down, `-n ${namespace} ${pod}`),
  }),
  'later-early': warning<Where & { start: Pick<JudgedStart, 'container' | 'nth'>; early: readonly Early[] }>(
    laterCodes['too-early'],
    {
      example: { ...where, start: { container: 'app', nth: 2 }, early },
      text: (data) => `${startText(data.start)} was too early: ${data.early.map(earlyText).join('; ')}`,
      means: 'A later start of an app, after a restart, found a sidecar of its not ready. It may work by now.',
      next: ({ namespace, pod }) => `sidecar-first timeline -n ${namespace} pod/${pod}`,
    },
  ),
  'later-unknown': ok<{ start: Pick<JudgedStart, 'container' | 'nth'>; unsure: readonly Unknown[] }>(
    laterCodes.unknown,
    {
      example: { start: { container: 'app', nth: 2 }, unsure: [{ why: 'unready-since', sidecars: ['envoy'] }] },
      text: ({ start, unsure }) =>
        `whether ${startText(start)} found its sidecars ready is not known: ${unsure.map(unknownText).join('; ')}`,
    },
  ),
  'pods-looked-at': ok<{ counts: readonly { outcome: keyof typeof outcomeWords; count: number }[]; expired: boolean }>(
    'SF630',
    {
      example: { counts: [{ outcome: 'held', count: 2 }], expired: false },
      text: ({ counts, expired }) => {
        const told = counts.map(({ outcome, count }) => `${count} ${outcomeWords[outcome]}`).join(', ')
        const all = counts.length === 0 ? 'it has no pods now' : `its pods: ${told}`
        return expired ? `${all}; their list expired on the way, so one may be missing` : all
      },
    },
  ),
  'pods-stand-wrong': passOn('problem', alikeCode, alikeText, alikeNext),
  'pods-stand-doubtful': passOn('warning', alikeCode, alikeText, alikeNext),
  'pods-unread': warning<{ message: string }>('SF631', {
    example: { message: 'pods is forbidden' },
    text: ({ message }) => `its pods can't be looked at, so how they started is not known: ${message}`,
    means: 'The right to list pods is missing, or the call failed.',
    next: 'Get the right to list pods in its namespace.',
  }),
  'not-created': problem('SF634', {
    example: { message: 'admission webhook "pods.sidecar-first.dev" denied the request: SF173 …' },
    text: ({ message }) => `its pods can't be created: ${message}`,
    means: 'The API server refuses the pods of the workload, as the controller that creates them last noted.',
    next: () => 'correct what the message names; the controller tries again by itself',
  }),
  'unseen-warnings': ok('SF626', {
    example: { shown: false },
    text: ({ shown }) =>
      shown
        ? 'whoever applies it is shown such warnings: the webhook for workloads looks at its template'
        : "whoever applies it isn't shown such warnings: the API server sends those about its pods to the controller that creates them",
  }),
  scanned: passOn(
    'warning',
    ({ today }: Scanned) => scanned(today).code,
    ({ today }: Scanned) => scanned(today).text,
    ({ lines, why }: Scanned) =>
      lines.length === 0
        ? (why ?? 'see sidecar-first scan')
        : `add to the pod template's annotations: ${lines.map(({ key, value }) => `${key}: ${value}`).join('; ')}`,
  ),
}
