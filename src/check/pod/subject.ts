import type { Surroundings } from '../../admission/pod/surroundings.ts'

/** What one can ask about. */
export interface SubjectKind {
  readonly apiVersion: string
  readonly kind: string
  /** Where its pod template is; empty for a pod. */
  readonly template: readonly string[]
  readonly surroundings: Surroundings
}

const job = { job: true }
const none = { job: false }
const template = ['spec', 'template']

/** By kubectl's names. */
const kinds: readonly (SubjectKind & { readonly names: readonly string[] })[] = [
  { names: ['pod', 'pods', 'po'], apiVersion: 'v1', kind: 'Pod', template: [], surroundings: none },
  {
    names: ['deployment', 'deployments', 'deploy'],
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    template,
    surroundings: none,
  },
  {
    names: ['statefulset', 'statefulsets', 'sts'],
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    template,
    surroundings: none,
  },
  { names: ['daemonset', 'daemonsets', 'ds'], apiVersion: 'apps/v1', kind: 'DaemonSet', template, surroundings: none },
  {
    names: ['replicaset', 'replicasets', 'rs'],
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    template,
    surroundings: none,
  },
  { names: ['job', 'jobs'], apiVersion: 'batch/v1', kind: 'Job', template, surroundings: job },
  {
    names: ['cronjob', 'cronjobs', 'cj'],
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    template: ['spec', 'jobTemplate', ...template],
    surroundings: job,
  },
]

/** `pod/NAME`, `deploy/NAME`; undefined where it is neither. */
export function parseSubject(text: string): { readonly kind: SubjectKind; readonly name: string } | undefined {
  const [, word = '', name] = /^([a-z]+)\/([a-z0-9][a-z0-9.-]*)$/.exec(text) ?? []
  const kind = kinds.find(({ names }) => names.includes(word))
  return kind === undefined || name === undefined ? undefined : { kind, name }
}

/** A pod as it is, or as a workload's template would make it. */
export function manifestOf(
  object: Record<string, unknown>,
  { template }: SubjectKind,
  namespace: string,
): Record<string, unknown> {
  if (template.length === 0) return object
  const found = template.reduce<unknown>((at, key) => fieldsOf(at)[key], object)
  const { metadata, spec } = fieldsOf(found)
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...fieldsOf(metadata), namespace }, spec }
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
