import { hookJson } from './hook.ts'
import { type Json, type Operation, pointer } from './operation.ts'
import { longestInOrder } from './order.ts'
import type { Plan } from './plan.ts'
import type { Container, Metadata, Spec } from './pod.ts'
import { waiterMount } from './waiter.ts'

/** The fewest operations that bring a plan about. Containers move first, so later paths count the new places. */
export function patch(
  { order, hooks, delivery, annotations }: Plan,
  metadata: Metadata,
  spec: Spec,
): readonly Operation[] {
  const operations: Operation[] = moves(order)
  const places = new Map(order.map((index, place) => [index, place]))
  const at = ({ list, index }: Container) => [
    'spec',
    list,
    list === 'containers' ? (places.get(index) ?? index) : index,
  ]

  for (const [container, hook] of hooks) {
    const lifecycle = [...at(container), 'lifecycle']
    if (hook === undefined) {
      const alone = !container.hasOtherLifecycle
      operations.push({ op: 'remove', path: alone ? pointer(...lifecycle) : pointer(...lifecycle, 'postStart') })
    } else if (container.hasLifecycle) {
      operations.push({ op: 'add', path: pointer(...lifecycle, 'postStart'), value: hookJson(hook) })
    } else operations.push({ op: 'add', path: pointer(...lifecycle), value: { postStart: hookJson(hook) } })
  }
  for (const container of delivery.mounts) {
    operations.push(append([...at(container), 'volumeMounts'], container.mounts.length, '-', waiterMount))
  }
  if (delivery.volume !== undefined) {
    operations.push(append(['spec', 'volumes'], spec.volumes.length, '-', delivery.volume))
  }
  if (delivery.initContainer !== undefined) {
    operations.push(append(['spec', 'initContainers'], spec.initContainers.length, '0', delivery.initContainer))
  }
  if (delivery.lateInitContainer !== undefined) {
    operations.push({
      op: 'move',
      from: pointer('spec', 'initContainers', delivery.lateInitContainer),
      path: pointer('spec', 'initContainers', 0),
    })
  }
  operations.push(...annotate(annotations, metadata))
  return operations
}

/** Adds an item to a list; an absent or empty one is written whole, since nothing can be appended to what isn't there. */
function append(list: readonly (string | number)[], length: number, place: '-' | '0', value: Json): Operation {
  return length > 0
    ? { op: 'add', path: pointer(...list, place), value }
    : { op: 'add', path: pointer(...list), value: [value] }
}

/** The fewest moves from the order that is to the order that shall be. */
function moves(order: readonly number[]): Operation[] {
  const staying = longestInOrder(order)
  if (staying.size === order.length) return []
  const current = Array.from(order.keys())
  const operations: Operation[] = []
  // From the front: what stands before `place` is final, so a container goes right behind its predecessor.
  for (const [place, index] of order.entries()) {
    if (staying.has(place)) continue
    const from = current.indexOf(index)
    const predecessor = order[place - 1]
    current.splice(from, 1)
    const to = predecessor === undefined ? 0 : current.indexOf(predecessor) + 1
    current.splice(to, 0, index)
    operations.push({ op: 'move', from: pointer('spec', 'containers', from), path: pointer('spec', 'containers', to) })
  }
  return operations
}

function annotate(annotations: Plan['annotations'], metadata: Metadata): Operation[] {
  if (annotations.length === 0) return []
  if (metadata.hasAnnotations) {
    return annotations.map(([key, value]) => ({ op: 'add', path: pointer('metadata', 'annotations', key), value }))
  }
  const value = Object.fromEntries(annotations)
  return metadata.exists
    ? [{ op: 'add', path: pointer('metadata', 'annotations'), value }]
    : [{ op: 'add', path: pointer('metadata'), value: { annotations: value } }]
}
