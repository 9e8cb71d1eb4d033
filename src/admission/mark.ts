import { hasRoom } from './intent/annotations.ts'
import { type Fields, isMap } from './pod/reader.ts'
import { type Operation, pointer } from './words/json.ts'
import { keys } from './words/keys.ts'

/**
 * Which sets of rules select a pod's namespace is the API server's to say: it calls the webhook of each, and that one writes the set's name into
 * the annotation `sidecar-first.dev/sets`. The webhook that plans is called last and reads it.
 */
const path = pointer('metadata', 'annotations', keys.sets)

/**
 * Characters of marks that are read. Webhook configurations of 1.5 MB hold fewer than 3,000 sets of ten digits each, so longer ones aren't ours:
 * ten megabytes of commas would be 120 MB of names.
 */
const mostMarks = 32 * 1024

/**
 * The mark of a pod under an enforced rule without a namespaceSelector, where an outage means something else for enforced rules: the webhook that
 * plans is then only called for marked pods.
 */
export const enforcedMark = 'enforced'

/** The sets that a pod was marked with. */
export function marksOf(pod: unknown): readonly string[] {
  const marks = annotationsOf(pod)?.[keys.sets]
  return typeof marks === 'string' && marks !== '' && marks.length <= mostMarks ? marks.split(',') : []
}

/** Adds a set to a pod's marks. */
export function mark(pod: unknown, set: string): readonly Operation[] {
  const marks = marksOf(pod)
  if (marks.includes(set)) return []
  const there = annotationsOf(pod)
  // Without room the API server would refuse the pod because of the mark. The validating webhook still knows of the set.
  if (there !== undefined && !hasRoom(there, keys.sets.length + set.length + 1)) return []
  if (there !== undefined) return [{ op: 'add', path, value: [...marks, set].join(',') }]
  const annotations = { [keys.sets]: set }
  return fieldsOf(fieldsOf(pod)?.metadata) === undefined
    ? [{ op: 'add', path: pointer('metadata'), value: { annotations } }]
    : [{ op: 'add', path: pointer('metadata', 'annotations'), value: annotations }]
}

/** Removes what a pod's author or a template wrote there. */
export function unmark(pod: unknown): readonly Operation[] {
  return annotationsOf(pod)?.[keys.sets] === undefined ? [] : [{ op: 'remove', path }]
}

/** The pod with that mark, for the webhook configurations that have a set marked and planned in one go. */
export function marked(pod: unknown, set: string): unknown {
  const object = fieldsOf(pod)
  const metadata = fieldsOf(object?.metadata)
  const annotations = { ...annotationsOf(pod), [keys.sets]: [...marksOf(pod), set].join(',') }
  return { ...object, metadata: { ...metadata, annotations } }
}

const annotationsOf = (pod: unknown): Fields | undefined => fieldsOf(fieldsOf(fieldsOf(pod)?.metadata)?.annotations)

const fieldsOf = (value: unknown): Fields | undefined => (isMap(value) ? value : undefined)
