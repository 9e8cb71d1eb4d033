import { createHash } from 'node:crypto'
import template from './review.json' with { type: 'json' }

/** What differs from one pod's review to another's. */
interface Individual {
  readonly uid: string
  /** The workload's name. */
  readonly app: string
  /** Of its ReplicaSet. */
  readonly hash: string
  /** What the API server appends to the name of the token's volume. */
  readonly suffix: string
  /** Of its three containers, the last of them the sidecar. */
  readonly containers: readonly [string, string, string]
  readonly tag: string
  /** How many variables each container has beside the usual three. */
  readonly variables: number
}

const sample: Individual = {
  uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
  app: 'sample',
  hash: '5d59d67564',
  suffix: 'x7k2p',
  containers: ['app', 'worker', 'proxy'],
  tag: '1.42.0',
  variables: 12,
}

/** Deterministic noise: letters and digits, at most forty. */
const noise = (seed: number, length: number) => createHash('sha1').update(`${seed}`).digest('hex').slice(0, length)

const uid = (seed: number) => `${noise(seed, 8)}-6393-41e8-b7cc-${noise(-seed, 12)}`

/** By what they have in common: one body again and again; the pods of ten ReplicaSets; every pod of another template. */
export const varieties = {
  same: () => sample,
  replicaSets: (index) => ({
    ...sample,
    uid: uid(index),
    app: `service-${index % 10}`,
    hash: noise(index % 10, 10),
    suffix: noise(index, 5),
    containers: [`service-${index % 10}`, 'worker', 'proxy'],
    tag: `1.${index % 10}.0`,
  }),
  templates: (index) => ({
    uid: uid(index),
    app: `service-${index}`,
    hash: noise(index, 10),
    suffix: noise(index, 5),
    containers: [`service-${index}`, `worker-${index % 17}`, `proxy-${index % 23}`],
    tag: `1.${index}.${index % 7}`,
    variables: 8 + (index % 9),
  }),
} as const satisfies Readonly<Record<string, (index: number) => Individual>>
export type Variety = keyof typeof varieties

/** Of the containers. */
const ports = [8080, 8090, 15_020]

/** A part of the template with its gaps filled: `<tag>` in a text, and `"#port"` for a number. */
const filled = (part: object, gaps: Readonly<Record<string, string | number>>) =>
  JSON.parse(JSON.stringify(part).replace(/"#(\w+)"|<(\w+)>/g, (_, number, text) => `${gaps[number ?? text]}`))

/** What tells the entries of a list apart; other lists are owned as a whole. */
const keysOf: Readonly<Record<string, readonly string[]>> = {
  containers: ['name'],
  env: ['name'],
  ownerReferences: ['uid'],
  ports: ['containerPort', 'protocol'],
  volumeMounts: ['mountPath'],
  volumes: ['name'],
}
const whole = new Set(['fieldRef', 'secretKeyRef'])

/** The fields of an object as the API server (1.36) says that their manager owns them: half of a review. */
function owned(value: object): object {
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [`f:${name}`, ownedIn(name, each)]))
}

function ownedIn(name: string, value: unknown): object {
  if (typeof value !== 'object' || value === null || whole.has(name)) return {}
  if (!Array.isArray(value)) return { '.': {}, ...owned(value) }
  const keys = keysOf[name]
  if (keys === undefined) return {}
  const entries = value.map((each) => {
    const key = JSON.stringify(Object.fromEntries(keys.map((part) => [part, each[part]])))
    return [`k:${key}`, name === 'ownerReferences' ? {} : { '.': {}, ...owned(each) }]
  })
  return { ...(name !== 'containers' && { '.': {} }), ...Object.fromEntries(entries) }
}

function managedFields({ metadata, spec }: { readonly metadata: Record<string, object>; readonly spec: object }) {
  const { generateName, labels, annotations, ownerReferences } = metadata
  const fields = { 'f:metadata': owned({ generateName, labels, annotations, ownerReferences }), 'f:spec': owned(spec) }
  const by = { manager: 'kube-controller-manager', operation: 'Update', apiVersion: 'v1', time: '2026-01-01T00:00:00Z' }
  return [{ ...by, fieldsType: 'FieldsV1', fieldsV1: fields }]
}

/** A review of about 15 KB, as a Deployment's pod with three containers makes it; the sidecar is listed last. */
export function realisticReview({ containers, variables, ...gaps }: Individual = sample): string {
  const review = filled(template.review, { ...gaps, sidecar: containers[2] })
  review.request.object.spec.containers = containers.map((name, index) => {
    const port = ports[index] ?? 0
    const container = filled(template.container, { ...gaps, name, port, next: port + 1 })
    for (let at = 0; at < variables; at++)
      container.env.push({ name: `SETTING_${at}`, value: `value ${at} of ${name}` })
    return container
  })
  const { object } = review.request
  object.metadata.managedFields = managedFields(object)
  return JSON.stringify(review)
}
