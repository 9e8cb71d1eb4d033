import { isAlias, isMap, isScalar, isSeq, type Pair } from 'yaml'
import { podTemplate } from '../admission/pod/template.ts'
import type { Json } from '../admission/words/json.ts'
import { isOurs, keys } from '../admission/words/keys.ts'
import type { Said } from '../admission/words/messages.ts'
import { isObject } from './json.ts'
import { jsonPlace } from './json-places.ts'
import { lineAndColumn, type ManifestDocument } from './manifests.ts'
import type { ManifestObject } from './objects.ts'

/** What a message is about, in an object and in the text that it was read from. */
export interface Spot {
  /** From the object's root, as Kubernetes writes it: `spec.template.metadata.annotations[sidecar-first.dev/gate]`; empty for the object itself. */
  readonly path: string
  /** Both count from 1. */
  readonly line: number
  readonly column: number
}

type Way = readonly (string | number)[]

/** Where a message about an object belongs: at the annotation or field that it names, else at the container, else at the list of sidecars. */
export function spotOf(said: Said, object: ManifestObject): Spot {
  const template = podTemplate(object)
  const way = template === undefined ? undefined : wayOf(said, parts(template.path), template.pod)
  const { line, column } = placeOf(object.document, [...parts(object.path), ...(way ?? [])])
  return { path: written(way ?? []), line, column }
}

/** The path of a message about a pod that stands at `toPod` in an object. */
export const pathOf = (said: Said, toPod: Way, pod: Json): string => written(wayOf(said, toPod, pod) ?? [])

/** JSON Pointer, of keys without slashes and of list indexes. */
const parts = (pointer: string): Way =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part))

function wayOf(said: Said, toPod: Way, pod: Json): Way | undefined {
  if (said.kind === 'left-untouched') return wayOf(said.problem, toPod, pod)
  const at = (...way: Way): Way | undefined => (exists(pod, way) ? [...toPod, ...way] : undefined)
  const annotated = (key: string) => at('metadata', 'annotations', key)
  if (said.kind === 'key-on-workload') return ['metadata', 'annotations', said.key]
  if (said.kind === 'key-as-label') return at('metadata', 'labels', said.key)
  const found = [
    'path' in said && said.path !== undefined
      ? isOurs(said.path)
        ? annotated(said.path)
        : field(said.path, at)
      : undefined,
    'key' in said ? annotated(said.key) : undefined,
    ...namesIn(said).map((name) => containerWay(pod, name, at)),
    annotated(keys.sidecars),
  ]
  return found.find((each) => each !== undefined)
}

/** The containers that a message names. */
function namesIn(said: Said): readonly string[] {
  if ('names' in said) return said.names
  if ('container' in said) return [said.container]
  return 'name' in said ? [said.name] : []
}

function containerWay(pod: Json, name: string, at: (...way: Way) => Way | undefined): Way | undefined {
  for (const list of ['containers', 'initContainers'] as const) {
    const all = isObject(pod) && isObject(pod.spec) ? pod.spec[list] : undefined
    const index = Array.isArray(all) ? all.findIndex((each: Json) => isObject(each) && each.name === name) : -1
    if (index >= 0) return at('spec', list, index, 'name')
  }
  return undefined
}

/** `spec.containers[0].name`, as far as it is there: what is missing is missed in what would hold it. */
function field(path: string, at: (...way: Way) => Way | undefined): Way | undefined {
  const way: Way = [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, key, index]) =>
    index === undefined ? (key ?? '') : Number(index),
  )
  if (way[0] !== 'spec' && way[0] !== 'metadata') return undefined
  for (let length = way.length; length > 0; length--) {
    const found = at(...way.slice(0, length))
    if (found !== undefined) return found
  }
  return undefined
}

function exists(value: Json, way: Way): boolean {
  let at: Json | undefined = value
  for (const part of way) {
    if (Array.isArray(at) && typeof part === 'number') at = at[part]
    else if (isObject(at) && Object.hasOwn(at, part)) at = at[part]
    else return false
  }
  return at !== undefined
}

function written(way: Way): string {
  return way
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`
      return /^[A-Za-z]\w*$/.test(part) ? `${index > 0 ? '.' : ''}${part}` : `[${part}]`
    })
    .join('')
}

/** The place of the last key or item on the way that the text has. */
function placeOf(document: ManifestDocument, way: Way): { readonly line: number; readonly column: number } {
  if (document.yaml === undefined) return jsonPlace(document, way, 'mark')
  const { tree, lines, aliased } = document.yaml
  let node: unknown = tree.contents
  let offset = startOf(node) ?? 0
  for (const part of way) {
    const step = stepTo(node, part, { aliased, left: mostMerged })
    const start = startOf(step?.mark)
    if (step === undefined || start === undefined) break
    offset = start
    node = step.node
  }
  return lineAndColumn(document.text, lines, offset)
}

/** Of maps that are merged into each other: more than anybody writes. */
const mostMerged = 100

type Aliased = NonNullable<ManifestDocument['yaml']>['aliased']

/** What marks a member, a key or an item, and what it is. */
interface Step {
  readonly mark: unknown
  readonly node: unknown
}

function stepTo(node: unknown, part: string | number, within: { aliased: Aliased; left: number }): Step | undefined {
  const target = (each: unknown) => (isAlias(each) ? within.aliased.get(each) : each)
  const at = target(node)
  if (isSeq(at)) {
    const item = at.items[Number(part)]
    return { mark: item, node: item }
  }
  if (!isMap(at)) return undefined
  const pairs = at.items as Pair[]
  const own = pairs.find(({ key }) => nameOf(target(key)) === String(part))
  if (own !== undefined) return { mark: own.key, node: own.value }
  for (const { key, value } of pairs) {
    if (!isMerge(key)) continue
    const merged = target(value)
    for (const source of isSeq(merged) ? merged.items : [merged]) {
      if (within.left-- <= 0) return undefined
      const found = stepTo(source, part, within)
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** The library makes a symbol of it, since it isn't a key. */
const isMerge = (key: unknown): boolean => isScalar(key) && typeof key.value === 'symbol'

const nameOf = (key: unknown): string | undefined =>
  isScalar(key) && typeof key.value !== 'symbol' ? String(key.value) : undefined

function startOf(node: unknown): number | undefined {
  const range =
    node !== null && typeof node === 'object' && 'range' in node ? (node.range as [number] | null) : undefined
  return range?.[0]
}
