import { define, passOn } from '../../admission/words/define.ts'
import { objectKeys, objectNames } from '../../kubernetes/names.ts'
import { codeOf, type Trouble, wordsFor } from '../../timeline/troubles.ts'

/** Why the API server calls none of our webhooks for the pods of a namespace. */
export type Uncovered = { readonly namespace: string } & (
  | { readonly why: 'excluded' | 'not-selected' }
  /** The value of its label, if it has one. */
  | { readonly why: 'label'; readonly label: string | undefined }
)

export function uncoveredText(uncovered: Uncovered): string {
  const { namespace } = uncovered
  switch (uncovered.why) {
    case 'excluded':
      return `pods of the namespace ${namespace} are never patched`
    case 'label': {
      const { injection } = objectKeys
      const { label } = uncovered
      return `the namespace ${namespace} ${label === undefined ? `isn't labelled ${injection}` : `is labelled ${injection}: ${label}`}`
    }
    case 'not-selected':
      return `the namespaceSelector of ${objectNames.mutating} doesn't select the namespace ${namespace}`
    default:
      return uncovered satisfies never
  }
}

export function uncoveredNext({ why, namespace }: Uncovered): string {
  switch (why) {
    case 'excluded':
      return 'put it into another namespace'
    case 'label':
      return `kubectl label namespace ${namespace} --overwrite ${objectKeys.injection}=enabled`
    case 'not-selected':
      return `compare kubectl get namespace ${namespace} --show-labels with it`
    default:
      return why satisfies never
  }
}

/** A pod in trouble. */
export interface Where {
  readonly namespace: string
  readonly pod: string
}

export function forText({ seconds }: { readonly seconds: number }): string {
  return seconds < 120 ? ` for ${seconds} s` : ` for ${Math.floor(seconds / 60)} minutes`
}

const manyMissed = {
  altered: 'patched once, and changed afterwards by another webhook or a new configuration',
  'before-webhook': 'created before the webhook',
  late: 'created while no replica answered, or before the namespace or the configuration named them',
} as const

export interface Affected {
  /** `Deployment shop/web`. */
  readonly owner: string
  readonly affected: { readonly some: number; readonly all: number } | undefined
}
interface Pods extends Affected {
  /** How to create them again. */
  readonly renew: string
}

export function podsText({ owner, affected }: Affected): string {
  return affected === undefined
    ? owner
    : `${owner}: ${affected.some} of ${affected.all} ${affected.all === 1 ? 'pod' : 'pods'}`
}

/** What is wrong with some of them, and for how long. */
interface Troubled extends Affected, Where {
  readonly trouble: Trouble
  readonly seconds: number | undefined
}
const troubleWords = ({ trouble, namespace, pod }: Troubled) => wordsFor(trouble, `-n ${namespace} ${pod}`)
const troubleCode = ({ trouble }: Troubled) => codeOf(trouble.part)
function troubleText(data: Troubled): string {
  const { state, text } = troubleWords(data)
  return `${podsText(data)} ${state}${data.seconds === undefined ? '' : forText({ seconds: data.seconds })}: ${text}`
}
const troubleNext = (data: Troubled) =>
  troubleWords(data).next ?? `sidecar-first timeline -n ${data.namespace} pod/${data.pod}`

const pods = {
  owner: 'Deployment shop/web',
  affected: { some: 2, all: 3 },
  renew: 'kubectl rollout restart -n shop deployment/web',
}
export const where = { namespace: 'shop', pod: 'web-0' }
const [ok, warning, problem] = [define('ok'), define('warning'), define('problem')]

/** Of the pods of covered namespaces. */
export const podsFindings = {
  'pods-counted': ok('SF553', {
    example: { right: 12, left: 40 },
    text: ({ right, left }) => `in the covered namespaces, ${right} are in order and ${left} ask for nothing`,
  }),
  'pods-uncovered': warning<Pods & { due: string; uncovered: Uncovered }>('SF554', {
    example: { ...pods, due: 'envoy, before app', uncovered: { why: 'label', label: undefined, namespace: 'shop' } },
    text: (data) => `${podsText(data)} should start ${data.due}, but ${uncoveredText(data.uncovered)}`,
    means: 'Pods ask for an order, and the API server does not send them.',
    next: ({ uncovered, renew }) => `${uncoveredNext(uncovered)}; then ${renew}`,
  }),
  'pods-missed': problem<Pods & { due: string; cause: keyof typeof manyMissed }>('SF555', {
    example: { ...pods, due: 'envoy, before app', cause: 'before-webhook' },
    text: (data) => `${podsText(data)} without the order ${data.due} (${manyMissed[data.cause]})`,
    means: 'Pods run without the order that they should have.',
    next: ({ renew }) => renew,
  }),
  'pods-would-be-refused': warning<Pods & { why: string; inFront: readonly string[] }>('SF556', {
    example: { ...pods, inFront: [], why: 'sidecar-first.dev/gate: "nativ" is not one of hook, native, auto' },
    text: (data) =>
      `${podsText(data)} would be refused if created now: ${data.why}${data.inFront.length === 0 ? '' : `; this would let by what runs: enforced: {inFront: [${data.inFront.join(', ')}]}`}`,
    means: 'They run, and their successors will not be created.',
    next: () => 'correct the manifest or the configuration before the next pod is created',
  }),
  'pods-older': ok('SF557', {
    example: { count: 3, versions: ['0.1.0'] },
    text: ({ count, versions }) =>
      `${count} patched by version ${versions.join(', ')} are in order, too; only details differ from what this version writes`,
  }),
  'pods-outdated': warning<Pods>('SF558', {
    example: pods,
    text: (data) => `${podsText(data)} patched by another configuration or version than today's`,
    means: 'Their order is held, and another version or configuration would write them differently.',
    next: ({ renew }) => renew,
  }),
  'pods-unlocked': warning<Pods & { names: string[] }>('SF580', {
    example: { ...pods, names: ['app'] },
    text: (data) =>
      `${podsText(data)} without the lock of ${data.names.join(', ')}: another webhook or client wrote them and dropped the field fileKeyRef, which its libraries don't know`,
    means:
      'They were locked when they were created, and run or wait without it: their order is held by the hook alone.',
    next: ({ renew }) => `update it to libraries of Kubernetes 1.34 or later; then ${renew}`,
  }),
  'pods-wrong': passOn('problem', troubleCode, troubleText, troubleNext),
  'pods-doubtful': passOn('warning', troubleCode, troubleText, troubleNext),
  'namespace-missing': problem('SF563', {
    example: { namespace: 'shop' },
    text: ({ namespace }) => `there is no namespace ${namespace}`,
    means: 'No namespace has that name.',
    next: 'Name another.',
  }),
}
