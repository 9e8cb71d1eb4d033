import { isNode } from 'yaml'
import type { Surroundings } from '../admission/decision.ts'
import { type Json, pointer } from '../admission/operation.ts'
import { isObject, type JsonObject } from './json.ts'
import { type ManifestDocument, type Manifests, type Problem, unrendered } from './manifests.ts'

/** One object of an input. An empty text stands for what it doesn't say. */
export interface ManifestObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  /** With `*` at the end for a generated name. */
  readonly name: string
  readonly value: JsonObject
  readonly document: ManifestDocument
  /** JSON Pointer from the document's root. */
  readonly path: string
  /** Where it stands in the input. */
  readonly line: number
}

export type Objects =
  | { readonly ok: true; readonly objects: readonly ManifestObject[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** The objects of documents, in order: lists taken apart, reviews opened. */
export function objectsOf({ documents }: Extract<Manifests, { ok: true }>): Objects {
  const objects: ManifestObject[] = []
  const problems: Problem[] = []
  for (const document of documents) {
    const place: Place = { document, path: [], apiVersion: '', kind: '', namespace: '' }
    for (const found of openUp(document.value, place)) {
      if ('message' in found) problems.push(found)
      else objects.push(found)
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, objects }
}

/** Where a value stands, and what its surroundings say of it where it doesn't itself. */
interface Place {
  readonly document: ManifestDocument
  readonly path: readonly (string | number)[]
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
}

function* openUp(value: Json | undefined, place: Place): Generator<ManifestObject | Problem> {
  const { document, path } = place
  const { line, column } = positionOf(place)
  const wrong = (message: string): Problem => ({ document: document.number, line, column, message })
  if (!isObject(value)) {
    yield wrong(`${path.join('.')} is no object`)
    return
  }
  const kind = text(value.kind) || place.kind
  const apiVersion = text(value.apiVersion) || place.apiVersion
  if (kind === '') {
    yield wrong(`${path.length === 0 ? 'the document' : path.join('.')} has no kind`)
  } else if (kind === 'AdmissionReview') {
    const request = isObject(value.request) ? value.request : {}
    if (!isObject(request.object)) yield wrong('the AdmissionReview has no request.object')
    else {
      const inner = { ...place, path: [...path, 'request', 'object'], namespace: text(request.namespace) }
      yield* openUp(request.object, { ...inner, ...kindOf(request.kind) })
    }
  } else if (kind.endsWith('List') && Array.isArray(value.items)) {
    // a PodList from the API has items without a kind of their own
    const inherited = { ...place, kind: kind.slice(0, -'List'.length), apiVersion }
    for (const [index, item] of value.items.entries()) {
      yield* openUp(item, { ...inherited, path: [...path, 'items', index] })
    }
  } else {
    const metadata = isObject(value.metadata) ? value.metadata : {}
    const name = text(metadata.name) || (text(metadata.generateName) && `${text(metadata.generateName)}*`)
    const namespace = text(metadata.namespace) || place.namespace
    // a template with quotes around is YAML, but no name has braces
    if (`${kind}${namespace}${name}`.includes('{{')) yield wrong(unrendered)
    else yield { apiVersion, kind, namespace, name, value, document, path: pointer(...path), line }
  }
}

/** An AdmissionReview names its object's kind as `{group, version, kind}`. */
function kindOf(value: Json | undefined): { kind: string; apiVersion: string } {
  const { group, version, kind } = isObject(value) ? value : {}
  return { kind: text(kind), apiVersion: [text(group), text(version)].filter((part) => part !== '').join('/') }
}

function positionOf({ document: { yaml }, path }: Place): { line: number; column: number } {
  const node = yaml?.tree.getIn(path, true)
  if (yaml === undefined || !isNode(node) || !node.range) return { line: 1, column: 1 }
  const { line, col } = yaml.lines.linePos(node.range[0])
  return { line, column: col }
}

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/**
 * Where an object's pod template is, by its form and not by a list of kinds, so that a Rollout is as good as a Deployment.
 * The path is from the object's root; it is empty for a Pod.
 */
export function podTemplate(
  object: ManifestObject,
): { path: string; pod: Json; surroundings: Surroundings } | undefined {
  const { kind, value } = object
  if (kind === 'Pod') return { path: '', pod: value, surroundings: { job: false } }
  const way = ways[kind] ?? ['spec', 'template']
  const pod = follow(value, way)
  if (!isObject(pod) || !isObject(pod.spec) || !('containers' in pod.spec)) return undefined
  return { path: pointer(...way), pod, surroundings: surroundingsOf(kind, follow(value, way.slice(0, -1))) }
}

const ways: Partial<Record<string, readonly string[]>> = {
  CronJob: ['spec', 'jobTemplate', 'spec', 'template'],
  PodTemplate: ['template'],
}

function follow(value: Json, way: readonly string[]): Json | undefined {
  return way.reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), value)
}

/** What the spec around a pod template says of how long its pods may take. */
function surroundingsOf(kind: string, spec: Json | undefined): Surroundings {
  const { progressDeadlineSeconds, activeDeadlineSeconds } = isObject(spec) ? spec : {}
  if (kind === 'Deployment') {
    // The API server's default (pkg/apis/apps/v1/defaults.go).
    return { job: false, progressDeadlineSeconds: seconds(progressDeadlineSeconds) ?? 600 }
  }
  if (kind !== 'Job' && kind !== 'CronJob') return { job: false }
  const limit = seconds(activeDeadlineSeconds)
  return limit === undefined ? { job: true } : { job: true, activeDeadlineSeconds: limit }
}

const seconds = (value: Json | undefined) => (typeof value === 'number' ? value : undefined)
