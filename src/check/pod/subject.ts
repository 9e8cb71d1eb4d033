import type { Surroundings } from '../../admission/pod/surroundings.ts'

/** What one can ask about. */
export interface SubjectKind {
  readonly apiVersion: string
  readonly kind: string
  /** Where its pod template is; empty for a pod. */
  readonly template: readonly string[]
  readonly surroundings: Surroundings
}

const template = ['spec', 'template']
const inJob = ['spec', 'jobTemplate', ...template]

export const podKind = named('po', 'v1', 'Pod', [])

/** By kubectl's names: a kind's own, its plural, and a short one. */
const kinds: readonly (SubjectKind & { readonly names: readonly string[] })[] = [
  podKind,
  named('deploy', 'apps/v1', 'Deployment', template),
  named('sts', 'apps/v1', 'StatefulSet', template),
  named('ds', 'apps/v1', 'DaemonSet', template),
  named('rs', 'apps/v1', 'ReplicaSet', template),
  named('job', 'batch/v1', 'Job', template),
  named('cj', 'batch/v1', 'CronJob', inJob),
]

/** Whose templates make pods as long as they are there. */
export const lastingKinds = kinds.filter(({ kind }) => !['Pod', 'ReplicaSet', 'Job'].includes(kind))

function named(short: string, apiVersion: string, kind: string, template: readonly string[]) {
  const name = kind.toLowerCase()
  const surroundings = { job: apiVersion === 'batch/v1' }
  return { names: [name, `${name}s`, short], apiVersion, kind, template, surroundings }
}

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
