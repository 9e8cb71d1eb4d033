import { isNode } from 'yaml'
import { type Json, pointer } from '../admission/words/json.ts'
import { formatJson, isObject, type JsonObject } from './json.ts'
import { jsonPlace } from './json-places.ts'
import { lineAndColumn, type ManifestDocument, type Manifests } from './manifests.ts'
import type { Fault, Problem } from './problems.ts'

/** One object of an input. What it doesn't say is an empty text. */
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

type Objects =
  | { readonly ok: true; readonly objects: readonly ManifestObject[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** The objects of documents, in order: lists taken apart, reviews opened. */
export function objectsOf({ documents }: Extract<Manifests, { ok: true }>): Objects {
  const objects: ManifestObject[] = []
  const problems: Problem[] = []
  for (const document of documents) {
    const place: Place = { document, path: [], apiVersion: '', kind: '', namespace: '' }
    for (const found of openUp(document.value, place)) {
      if ('fault' in found) problems.push(found)
      else objects.push(found)
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, objects }
}

/** Where a value is, and what its surroundings say about it if it doesn't. */
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
  const at = path.join('.')
  const wrong = (fault: Fault): Problem => ({ document: document.number, line, column, fault })
  if (!isObject(value)) {
    yield wrong({ kind: 'not-an-object', path: at })
    return
  }
  const kind = text(value.kind) || place.kind
  const apiVersion = text(value.apiVersion) || place.apiVersion
  if (kind === '') {
    yield wrong({ kind: 'kind-missing', path: at })
  } else if (kind === 'AdmissionReview') {
    const request = isObject(value.request) ? value.request : {}
    if (!isObject(request.object)) yield wrong({ kind: 'request-object-missing' })
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
    const odd = named.find((key) => isOdd(metadata[key]))
    // a quoted template is YAML, but no name has braces
    if (`${kind}${namespace}${name}`.includes('{{')) yield wrong({ kind: 'helm-template' })
    else if (odd !== undefined) {
      const way = [...path, 'metadata', odd]
      const fault: Fault = { kind: 'name-not-text', path: way.join('.'), value: formatJson(metadata[odd]).slice(0, 64) }
      yield { document: document.number, ...positionOf({ document, path: way }), fault }
    } else yield { apiVersion, kind, namespace, name, value, document, path: pointer(...path), line }
  }
}

/** An AdmissionReview names its object's kind as `{group, version, kind}`. */
function kindOf(value: Json | undefined): { kind: string; apiVersion: string } {
  const { group, version, kind } = isObject(value) ? value : {}
  return { kind: text(kind), apiVersion: [text(group), text(version)].filter((part) => part !== '').join('/') }
}

function positionOf({ document, path }: Pick<Place, 'document' | 'path'>): { line: number; column: number } {
  const { yaml } = document
  if (yaml === undefined) return jsonPlace(document, path, 'value')
  const node = yaml.tree.getIn(path, true)
  if (!isNode(node) || !node.range) return { line: 1, column: 1 }
  return lineAndColumn(document.text, yaml.lines, node.range[0])
}

/** What every API server wants as text. */
const named = ['name', 'generateName', 'namespace'] as const
const isOdd = (value: Json | undefined): boolean => value !== undefined && value !== null && typeof value !== 'string'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
