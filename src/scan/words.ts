import { define, passOn, tell } from '../admission/words/define.ts'
import { type Asked, askedText, latest } from '../admission/words/probe-times.ts'
import type { Values } from '../admission/words/values.ts'
import { codeOf, type Trouble, wordsFor } from '../timeline/troubles.ts'
import type { Evidence } from './evidence.ts'
import type { Mend } from './mend.ts'
import type { Today } from './today.ts'

/** How much what was seen proves. */
export type Certainty = 'sure' | 'probable' | 'unknown'

/** Of how many pods it was seen. */
interface Amount {
  readonly some: number
  readonly all: number
}

/** What was seen of the pods of one workload. */
export type Sighting = { readonly [K in Evidence['kind']]: Extract<Evidence, { kind: K }> & Amount }[Evidence['kind']]

/** Why there is no line that would mend a workload. */
type Unmended = Exclude<Mend, { kind: 'lines' | 'nothing-to-mend' }>

/** What limits a scan as a whole. */
export type Limit = Values<typeof limits>

export type Said = Today | Sighting | Limit | Unmended

const seconds = (ms: number) => `${Math.max(1, Math.round(ms / 1000))} s`
const apps = ({ some, all }: Amount) => (all === 1 ? 'the app' : `${some} of ${all} apps`)
const pods = ({ some, all }: Amount) => (all === 1 ? 'its pod' : `${some} of ${all} pods`)
type Unguarded = Omit<Extract<Today, { kind: 'unguarded' }>, 'kind'>
const order = ({ order, app, sidecar }: Unguarded) =>
  order === 'app-first' ? `${app}, then ${sidecar}` : `${sidecar}${order === 'native' ? ' (native)' : ''}, then ${app}`

const amount = { some: 7, all: 12 }
const line = 'Write the line that the scan names into the pod template, where sidecar-first is installed.'
const [ok, note, warning] = [define('ok'), define('note'), define('warning')]
const sure = define('problem', { certainty: 'sure' })
const probable = define('warning', { certainty: 'probable' })
const unknown = define('note', { certainty: 'unknown' })

const limits = {
  'no-events': note('SF941', {
    text: `you may not list events: what was seen is from the pods' status alone`,
    means: 'The right to list events is missing. Whether probes of sidecars failed is not known.',
    next: 'Get the right to list events, and scan again.',
  }),
  'warnings-cut': note('SF942', {
    example: { most: 20_000 },
    text: ({ most }) => `there are more than ${most} warnings about pods; the others weren't read`,
    means: 'So many warnings are read, to bound memory and calls. Of some workloads more may have been to see.',
    next: 'Scan namespace by namespace, with `-n`.',
  }),
  'clock-behind': note('SF943', {
    example: { node: 'node-1', seconds: 40, others: 1 },
    text: ({ node, seconds, others }) =>
      `the clock of ${node}${others > 0 ? ` and ${others} more` : ''} is at least ${seconds} s behind the API server's; times are only compared within one node`,
    means: 'A kubelet saw a pod before the API server had created it, by their clocks.',
    next: 'Synchronise the clocks of the nodes; certificates and tokens depend on them, too.',
  }),
  'list-expired': note('SF944', {
    text: `the list of pods expired on the way and went on as of then: a pod may be missing`,
    means:
      'The API server had forgotten what its pods were like when the list began (410 Gone). The rest was read as it was then.',
    next: 'Scan again if the numbers matter.',
  }),
  'nothing-known': ok('SF945', {
    example: { workloads: 12 },
    text: ({ workloads }) =>
      workloads === 0
        ? 'there are no pods to look at'
        : `${workloads === 1 ? 'the workload has no' : `none of ${workloads} workloads has a`} sidecar that a preset knows, so a scan can't tell what waits for what; the webhook works with any container, see docs/annotations.md`,
  }),
  'pods-too-large': note('SF947', {
    example: { pods: 1, most: 512 },
    text: ({ pods, most }) =>
      `${pods} pod${pods === 1 ? ' has' : 's have'} more than ${most} containers and ${pods === 1 ? "wasn't" : "weren't"} looked at`,
    means: 'No pod that anybody needs has so many containers, and the webhook refuses to look at them, too.',
    next: 'Look at what made it.',
  }),
  'template-unread': warning('SF969', {
    example: { place: 'k8s/web.yaml:12', object: 'Deployment shop/web', why: 'spec.containers must be a list' },
    text: ({ place, object, why }) => `${place}: ${object} was not looked at: ${why}`,
    means: 'Its pod template is not one that an API server would take, so nothing is known of its sidecars.',
    next: 'Correct the manifest, and scan again.',
  }),
  'sidecar-nowhere': note('SF970', {
    example: { name: 'cache' },
    text: ({ name }) => `no container is called ${name} (--sidecar)`,
    means: 'What `--sidecar` names has no effect: nothing that was looked at has such a container.',
    next: 'Correct the name.',
  }),
  'manifests-only': note('SF946', {
    text: `these are manifests: what injectors and the webhook do, and what really happens, shows only in a cluster`,
    means: 'A manifest shows the order and the gate, and nothing of what has happened.',
    next: 'Scan the cluster: `sidecar-first scan`.',
  }),
}

/** Everything that a scan says, each kind once. */
export const words = {
  ...limits,
  unguarded: warning<Unguarded>('SF901', {
    example: { app: 'app', sidecar: 'istio-proxy', order: 'app-first' },
    text: (today) => `${order(today)}; nothing waits`,
    means: 'The kubelet starts the app whether the sidecar is ready or not. The spec alone shows it.',
    next: line,
  }),
  'late-hook': warning('SF902', {
    example: { app: 'app', sidecar: 'istio-proxy' },
    text: ({ app, sidecar }) => `${app}, then the hook that waits for ${sidecar}, in vain: the app has started by then`,
    means: 'A hook holds back only what is listed behind it, and the app stands in front.',
    next: line,
  }),
  'unknown-hook': note('SF903', {
    example: { app: 'app', sidecar: 'istio-proxy' },
    text: ({ app, sidecar }) =>
      `${sidecar}, then ${app}; ${sidecar} has a hook of its own, and what it waits for isn't known`,
    means: 'No preset knows the command of that PostStart hook: it may wait, or do something else.',
    next: 'Read the hook. If it does not wait, write the line that the scan names.',
  }),
  'startup-probe': note<Asked & { app: string; sidecar: string }>('SF904', {
    example: { app: 'app', sidecar: 'istio-proxy', every: 10 },
    text: ({ app, sidecar, ...asked }) =>
      `${sidecar} (native), then ${app}; its startupProbe holds the app. It is ${askedText(asked)}, so the app starts up to ${latest(asked)} s late`,
    means: 'The app waits, until the next time that the kubelet asks the startupProbe.',
    next: 'Nothing has to be mended; the lines that the scan names have the kubelet ask every second.',
  }),
  'not-yet-there': note('SF905', {
    example: { app: 'app', sidecar: 'istio-proxy', key: 'sidecar.istio.io/inject' },
    text: ({ sidecar, key }) => `its injector adds ${sidecar} (${key}), and whether it waits isn't in the manifest`,
    means: 'In a manifest, only an annotation or label shows that an injector will add the sidecar.',
    next: 'Scan the cluster, where the pods are as they run.',
  }),
  'own-hook': ok('SF906', {
    example: { app: 'app', sidecar: 'istio-proxy' },
    text: ({ app, sidecar }) => `${sidecar}, then ${app}; the hook that its injector wrote waits`,
  }),
  ours: ok('SF907', {
    example: { app: 'app', sidecar: 'istio-proxy' },
    text: ({ app, sidecar }) => `${sidecar}, then ${app}; a hook of sidecar-first waits`,
  }),
  prepared: ok('SF908', {
    example: { app: 'app', sidecar: 'vault-agent', init: 'vault-agent-init' },
    text: ({ sidecar, init }) => `${init} has done what an app would wait for before ${sidecar} starts`,
  }),
  asked: ok('SF909', {
    example: { app: 'app', sidecar: 'istio-proxy' },
    text: ({ app, sidecar }) =>
      `${sidecar}, then ${app}, once the webhook patches it: the manifest or a rule asks for that`,
  }),
  'started-later': sure('SF911', {
    example: { ...amount, sidecar: 'istio-proxy', ms: 3000 },
    text: ({ sidecar, ms, ...amount }) =>
      `${apps(amount)} started before ${sidecar} did, by up to about ${seconds(ms)}`,
    means: "Sure. The pods' status says when each container started, to the second, by the clock of one node.",
    next: line,
  }),
  'probe-failed': sure('SF912', {
    example: { ...amount, sidecar: 'istio-proxy', ms: 4000 },
    text: ({ sidecar, ms, ...amount }) =>
      `${apps(amount)} ran while ${sidecar} wasn't ready: its probe failed up to about ${seconds(ms)} after the app's start`,
    means:
      'Sure. An event of the kubelet says that a startupProbe or readinessProbe failed after the app had started, within two minutes and before the pod was ready.',
    next: line,
  }),
  trouble: {
    ...passOn(
      'problem',
      ({ part }: Trouble) => codeOf(part),
      (data: Trouble & Amount) => {
        const { state, text } = wordsFor(data, '')
        return `${pods(data)} ${data.all === 1 ? 'is' : 'are'} ${state}: ${text}`
      },
    ),
    certainty: 'sure',
  } as const,
  'down-beside': sure('SF916', {
    example: { ...amount, app: 'app', sidecar: 'istio-proxy', message: 'exit code 1' },
    text: ({ sidecar, message, ...amount }) =>
      `${apps(amount)} ${amount.all === 1 ? 'keeps' : 'keep'} ending while ${sidecar} isn't ready: ${message}`,
    means:
      'Sure, at this moment: the app is in CrashLoopBackOff, and the readinessProbe of its sidecar does not pass. That one is the cause of the other is likely, not proven.',
    next: "Look at the sidecar's log, then at the app's: `kubectl logs NAME -c SIDECAR`, `kubectl logs NAME -c APP --previous`.",
  }),
  'app-failed': probable('SF921', {
    example: { ...amount, app: 'app', exitCode: 1, ms: 6000, ran: true, sidecars: ['istio-proxy'] },
    text: ({ exitCode, ms, ran, sidecars, ...amount }) =>
      `${apps(amount)} ended with code ${exitCode} within ${seconds(ms)}${ran ? ', then ran' : ''} (probably: ${sidecars.join(' or ')} wasn't ready)`,
    means:
      'Probable, not proven: nothing waits for the sidecar, and the app ended with an error within a minute of its first start and ran at the second. An app that was killed for its memory does not count.',
    next: 'Look at its first log, `kubectl logs NAME -c APP --previous`: refused connections confirm it. Then write the line that the scan names.',
  }),
  'events-gone': unknown('SF931', {
    example: amount,
    text: (amount) => `${pods(amount)} started over an hour ago: the events of that start are gone`,
    means:
      'A cluster keeps events for an hour, unless its API server says otherwise. Whether a probe failed then is not known.',
    next: 'Restart a pod of it and scan again within the hour.',
  }),
  restarted: unknown('SF932', {
    example: { ...amount, app: 'app' },
    text: ({ app, ...amount }) =>
      `${app} of ${pods(amount)} restarted twice or more: the status has lost the first start`,
    means: 'A status has the last run of a container and the one before, so the first start is lost.',
    next: 'Look at why it restarts; then scan again.',
  }),
  'other-clock': unknown('SF933', {
    example: amount,
    text: (amount) =>
      `${pods(amount)} ${amount.all === 1 ? 'has' : 'have'} warnings by another clock than the node's, which aren't compared`,
    means:
      "Times are only compared within one node's clock. These warnings come from another node, or not from a kubelet.",
    next: 'Nothing.',
  }),
  'still-starting': unknown('SF934', {
    example: amount,
    text: (amount) => `${pods(amount)} ${amount.all === 1 ? 'is' : 'are'} still starting`,
    means: 'It is too early to say.',
    next: 'Scan again in a minute.',
  }),
  'asked-in-vain': warning('SF951', {
    text: `nothing more: it asks already, but isn't as the webhook would make it; sidecar-first check says why`,
    means: 'The pod template has the annotation, and the pods run without the order.',
    next: '`sidecar-first check -n NAMESPACE pod/NAME` says why: most often no webhook is installed, or the namespace is not selected.',
  }),
  'asked-otherwise': warning('SF953', {
    example: { sidecars: ['istio-proxy'], why: ['SF106 every container is a sidecar'] },
    text: ({ sidecars, why }) =>
      `the manifest or a rule asks already, but the app still wouldn't wait for ${sidecars.join(' and ')}${why.length === 0 ? '' : `: ${why.join('; ')}`}`,
    means:
      'Neither the annotation of a manifest nor a rule names the sidecar, or what the webhook would make of it does not wait. A pod that asks is judged as the webhook would patch it.',
    next: 'Correct the annotations as the quoted message says, or name the sidecar; `sidecar-first preview -f FILE` shows the outcome.',
  }),
  'no-line': note('SF952', {
    example: { why: ['SF106 every container is a sidecar'] },
    text: ({ why }) => `no annotation would mend it: ${why.join('; ')}`,
    means: 'Every line that was tried would not help, or would keep the app from starting.',
    next: 'See the message that is quoted.',
  }),
}

/** Something that a scan says, as it is shown: one sentence, without a full stop. */
export const told = (said: Said) => tell(words, said)

export const certaintyOf = ({ kind }: Sighting): Certainty => words[kind].certainty
