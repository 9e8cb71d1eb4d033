import { define, tell } from '../admission/words/define.ts'
import type { Values } from '../admission/words/values.ts'
import { podFindings } from '../check/findings/pod.ts'
import { type Uncovered, uncoveredNext, uncoveredText } from '../check/findings/pods.ts'
import type { Told } from '../check/findings.ts'
import { seconds } from '../timeline/draw.ts'

const [ok, warning, problem] = [define('ok'), define('warning'), define('problem')]

const pod = 'web-6ddb87c549-9vlmv'

/** What only a trial says, each kind once. */
export const trials = {
  'would-start': ok('SF651', {
    example: { order: 'envoy, before app', already: false },
    text: ({ order, already }) => `${already ? 'its next pod starts' : 'it would start'} ${order}`,
  }),
  'would-be-left': warning('SF652', {
    example: { why: 'no sidecar that a preset knows' },
    text: ({ why }) => `it would be left alone: ${why}`,
    means: 'Neither an annotation nor a rule asks for an order, and no line is known that would help.',
    next: 'Name its sidecars: `sidecar-first try deploy/NAME --sidecar CONTAINER`.',
  }),
  accepted: ok('SF654', {
    example: { patched: true },
    text: ({ patched }) =>
      `the API server would accept it, in a dry run${patched ? ' with our patch' : ''}: nothing is stored`,
  }),
  'not-accepted': problem('SF655', {
    example: { message: 'the API server answered 403: violates PodSecurity "restricted"', patched: true },
    text: ({ message, patched }) =>
      `the API server would refuse it${patched ? ' with our patch' : ' as it is'}: ${message}`,
    means: 'The dry run of a pod of its template was refused. Nothing is stored in one.',
    next: 'See what the message names: a policy, a quota or another webhook.',
  }),
  'not-tried': warning('SF656', {
    example: { message: 'pods is forbidden: User "x" cannot create resource "pods"', by: 'template' },
    text: ({ message, by }) =>
      `no dry run, so it is judged by its ${by === 'template' ? 'template alone: what injectors add is missing' : 'newest pod'}: ${message}`,
    means: 'A dry run needs the right to create pods, and webhooks that allow one.',
    next: 'Grant the right to create pods in that namespace; nothing is stored.',
  }),
  uncovered: warning<{ uncovered: Uncovered }>('SF657', {
    example: { uncovered: { why: 'label', namespace: 'shop', label: undefined } },
    text: ({ uncovered }) => `the webhook would not be called: ${uncoveredText(uncovered)}`,
    means: 'The lines alone change nothing there.',
    next: ({ uncovered }) => uncoveredNext(uncovered),
  }),
  'namespace-unread': warning('SF667', {
    example: { namespace: 'shop' },
    text: ({ namespace }) =>
      `whether the webhook would be called is not known: you may not read the namespace ${namespace}`,
    means: 'Its labels say whether the webhook covers a namespace.',
    next: 'Get the right to get that namespace.',
  }),
  'not-installed': warning('SF658', {
    text: 'sidecar-first is not installed in this cluster, or you may not see it: judged by the default configuration',
    means: 'No webhook configuration and no ConfigMap of an installation can be read.',
    next: 'Install it before you write the lines: docs/install.md.',
  }),
  'only-observes': warning('SF663', {
    text: 'the configuration says mode: observe, so its pods stay as they are; the rest is as if it said enforce',
    means: 'The webhook logs what it would do, and patches nothing.',
    next: 'Set `mode: enforce` once you like what you see.',
  }),
  'came-back': problem('SF664', {
    text: 'in the dry run it came back unpatched, though the webhook covers its namespace',
    means: 'The API server did not call the webhook, or no replica answered it.',
    next: () => 'sidecar-first check says why',
  }),
  'no-start': warning('SF659', {
    example: { why: 'no-pod' },
    text: ({ why }) =>
      why === 'no-pod'
        ? 'it has no pod, so no start was measured and what it would cost is not known'
        : 'you may not list its pods, so what it would cost is not known',
    means: 'The cost is calculated from the last real start.',
    next: 'Try again once a pod of it has started.',
  }),
  costs: ok('SF660', {
    example: { pod, app: 'app', was: 2000, would: 5000, exact: true, atMost: false },
    text: ({ pod, app, was, would, exact, atMost }) => {
      const more = Math.max(0, would - was)
      const then = `${seconds(would, exact)} instead of ${seconds(was, exact)} after the pod is given to its node, by the start of ${pod}`
      if (more < least) return `${app} would start no later than today: ${then}`
      return `${app} would start ${atMost ? 'at most ' : ''}${seconds(more, exact)} later: ${then}`
    },
  }),
  'cost-unknown': warning('SF661', {
    example: { pod, names: ['envoy'] },
    text: ({ pod, names }) =>
      names.length === 0
        ? `what it would cost is not known: nothing tells when the app of ${pod} started`
        : `what it would cost is not known: nobody saw when ${names.join(', ')} of ${pod} was ready`,
    means:
      'A status and its events tell when a container started, and of its readiness only what a readinessProbe, a hook or a startupProbe showed.',
    next: 'Give the sidecar a readinessProbe, or read its log.',
  }),
  'not-measured': ok('SF662', {
    example: { names: ['sidecar-first'] },
    text: ({ names }) => `not measured: ${names.join(', ')}, which that pod didn't have`,
  }),
}

/** ms: less than a status shows. */
const least = 50

/** Of a pod that isn't there yet it says what check says of a template. */
const words = { ...podFindings, ...trials }
export type Trial = Values<typeof words>

export function trialText(trial: Trial): Told {
  const { grade: level } = words[trial.kind]
  const { code, text, next } = tell(words, trial)
  return { code, level, text, ...(next !== undefined && { next }) }
}
