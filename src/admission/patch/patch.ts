import { endsDir, endsMount, endsVolume } from '../hook/end.ts'
import { hookJson } from '../hook/hook.ts'
import { lockDir, lockMount, lockVariable, lockVolume } from '../hook/lock-names.ts'
import { resetCommand, waiterMount } from '../hook/waiter.ts'
import type { LockParts, VariableChanges } from '../plan/lock.ts'
import type { Order } from '../plan/order.ts'
import type { Plan } from '../plan/plan.ts'
import type { Container, Hook, Metadata, Pod, Spec } from '../pod/pod.ts'
import { type Json, type Operation, pointer } from '../words/json.ts'
import { longestRising } from './rising.ts'

/** The fewest operations that carry out a plan. Containers move first, so later paths count the new places. */
export function patch(plan: Plan, { metadata, spec }: Pod): readonly Operation[] {
  const { order, startupProbes, delivery, lock, ends, annotations } = plan
  const operations: Operation[] = []
  if (delivery.initContainer !== undefined) {
    operations.push(append(['spec', 'initContainers'], spec.initContainers.length, '0', delivery.initContainer))
  } else if (order.initContainers.length > 0 && !spec.hasInitContainers) {
    operations.push({ op: 'add', path: pointer('spec', 'initContainers'), value: [] })
  }
  const shift = delivery.initContainer === undefined ? 0 : 1
  operations.push(...moves(order, spec, shift))

  const places = new Map<Container, readonly (string | number)[]>()
  for (const [place, container] of order.containers.entries()) places.set(container, ['spec', 'containers', place])
  for (const [place, container] of order.initContainers.entries()) {
    places.set(container, ['spec', 'initContainers', place + shift])
  }
  const at = (container: Container) => places.get(container) ?? ['spec', container.list, container.index]

  for (const container of order.initContainers) {
    if (container.list === 'initContainers') continue
    operations.push({ op: 'add', path: pointer(...at(container), 'restartPolicy'), value: 'Always' })
  }
  for (const [container, change] of startupProbes) {
    const probe = [...at(container), 'startupProbe']
    if (change.kind === 'removed') operations.push({ op: 'remove', path: pointer(...probe) })
    else {
      if (change.often) operations.push({ op: 'add', path: pointer(...probe, 'periodSeconds'), value: 1 })
      operations.push({ op: 'add', path: pointer(...probe, 'failureThreshold'), value: change.failureThreshold })
      if (change.atOnce) operations.push({ op: 'remove', path: pointer(...probe, 'initialDelaySeconds') })
    }
  }
  for (const container of new Set([...plan.hooks.keys(), ...ends.hooks.keys()])) {
    const changed = [['postStart', plan.hooks] as const, ['preStop', ends.hooks] as const]
      .filter(([, hooks]) => hooks.has(container))
      .map(([key, hooks]) => [key, hooks.get(container)] as const)
    operations.push(...lifecycleOperations([...at(container), 'lifecycle'], container, changed))
  }
  for (const container of delivery.mounts) {
    operations.push(append([...at(container), 'volumeMounts'], container.mounts.length, '-', waiterMount))
  }
  if (delivery.volume !== undefined) {
    operations.push(append(['spec', 'volumes'], spec.volumes.length, '-', delivery.volume.json))
  }
  operations.push(...lockUp(lock, { at, spec, delivery }))
  for (const container of ends.mounts) {
    const others = [delivery, lock].filter(({ mounts }) => mounts.includes(container)).length
    operations.push(append([...at(container), 'volumeMounts'], container.mounts.length + others, '-', endsMount))
  }
  if (ends.volume) {
    const there = spec.volumes.length + (delivery.volume === undefined ? 0 : 1) + (lock.volume === 'absent' ? 1 : 0)
    operations.push(append(['spec', 'volumes'], there, '-', { name: endsVolume, emptyDir: endsDir }))
  }
  operations.push(...annotate(annotations, metadata))
  return operations
}

/** Without anything left in it, `lifecycle` goes as well. */
function lifecycleOperations(
  lifecycle: readonly (string | number)[],
  { lifecycleKeys }: Container,
  changed: readonly (readonly [key: string, hook: Hook | undefined])[],
): readonly Operation[] {
  const values = changed.flatMap(([key, hook]) => (hook === undefined ? [] : [[key, hookJson(hook)] as const]))
  if (lifecycleKeys === undefined) {
    return [{ op: 'add', path: pointer(...lifecycle), value: Object.fromEntries(values) }]
  }
  const removed = changed.filter(([, hook]) => hook === undefined).map(([key]) => key)
  if (values.length === 0 && lifecycleKeys.every((key) => removed.includes(key))) {
    return [{ op: 'remove', path: pointer(...lifecycle) }]
  }
  return [
    ...removed.map((key): Operation => ({ op: 'remove', path: pointer(...lifecycle, key) })),
    ...values.map(([key, value]): Operation => ({ op: 'add', path: pointer(...lifecycle, key), value })),
  ]
}

/**
 * How far a pod is from its plan. `order`: its containers start in another order, or without a gate; `details`: the order is held, but in
 * another way, such as with another timeout; `notes`: only annotations differ.
 */
const changes = ['order', 'details', 'notes'] as const
export type Change = (typeof changes)[number]

export function changeOf(
  { hooks, startupProbes, delivery, lock, ends }: Plan,
  operations: readonly Operation[],
): Change {
  const ungated = [...hooks].some(([{ postStart }, hook]) => postStart === undefined && hook !== undefined)
  if (ungated || operations.some(({ op }) => op === 'move')) return 'order'
  const { mounts, volume, initContainer } = delivery
  const isHookChanged = hooks.size > 0 || startupProbes.size > 0 || ends.hooks.size > 0 || ends.mounts.length > 0
  const isDelivered = mounts.length === 0 && volume === undefined && initContainer === undefined
  return isHookChanged || isMissing(lock) || !isDelivered ? 'details' : 'notes'
}

const isMissing = ({ volume, mounts, variables, installer }: LockParts): boolean =>
  volume !== undefined || mounts.length > 0 || variables.size > 0 || installer !== undefined

/** Behind the delivery's operations: both may append to the same lists. */
function lockUp(
  { volume, mounts, unmounts, variables, installer }: LockParts,
  {
    at,
    spec,
    delivery,
  }: { at: (container: Container) => readonly (string | number)[]; spec: Spec; delivery: Plan['delivery'] },
): readonly Operation[] {
  const operations: Operation[] = []
  if (installer !== undefined) {
    operations.push({ op: 'add', path: pointer(...at(installer), 'command'), value: resetCommand })
  }
  for (const container of mounts) {
    const there = container.mounts.length + (delivery.mounts.includes(container) ? 1 : 0)
    operations.push(append([...at(container), 'volumeMounts'], there, '-', lockMount))
  }
  for (const [container, index] of unmounts) {
    operations.push({ op: 'remove', path: pointer(...at(container), 'volumeMounts', index) })
  }
  if (volume === 'absent') {
    const there = spec.volumes.length + (delivery.volume === undefined ? 0 : 1)
    operations.push(append(['spec', 'volumes'], there, '-', { name: lockVolume, emptyDir: lockDir }))
  } else if (volume !== undefined) {
    operations.push({ op: 'add', path: pointer('spec', 'volumes', volume.index, 'emptyDir'), value: lockDir })
  }
  for (const [container, changes] of variables)
    operations.push(...variableOperations([...at(container), 'env'], changes))
  return operations
}

function variableOperations(env: readonly (string | number)[], { remove, add, length }: VariableChanges) {
  const removed = remove.map((index): Operation => ({ op: 'remove', path: pointer(...env, index) }))
  const values = add.map(lockVariable)
  if (length === remove.length && values.length > 0)
    return [{ op: 'add', path: pointer(...env), value: values } as const]
  return [...removed, ...values.map((value): Operation => ({ op: 'add', path: pointer(...env, '-'), value }))]
}

/** Adds an item to a list; an absent or empty one is written whole, since nothing can be appended to a list that isn't there. */
function append(list: readonly (string | number)[], length: number, place: '-' | '0', value: Json): Operation {
  return length > 0
    ? { op: 'add', path: pointer(...list, place), value }
    : { op: 'add', path: pointer(...list), value: [value] }
}

/** The fewest moves to an order. `shift`: how many containers stand before all of `order.initContainers`. */
function moves({ containers, initContainers }: Order, spec: Spec, shift: number): Operation[] {
  const operations: Operation[] = []
  const regular = spec.containers.slice()
  const init = spec.initContainers.slice()
  const firstPlace = (list: Container['list']) => (list === 'initContainers' ? shift : 0)

  for (const [list, current, wanted] of [
    ['initContainers', init, initContainers],
    ['containers', regular, containers],
  ] as const) {
    if (wanted.length === 0) continue
    const residents = wanted.filter((container) => container.list === list)
    const rising = longestRising(residents.map(({ index }) => index))
    const staying = new Set(residents.filter((_, position) => rising.has(position)))
    // From the front: everything before is final, so a container goes right behind its predecessor.
    for (const [place, container] of wanted.entries()) {
      if (staying.has(container)) continue
      const source = container.list === 'containers' ? regular : init
      const from = source.indexOf(container)
      source.splice(from, 1)
      const predecessor = wanted[place - 1]
      const to = predecessor === undefined ? 0 : current.indexOf(predecessor) + 1
      current.splice(to, 0, container)
      operations.push({
        op: 'move',
        from: pointer('spec', container.list, from + firstPlace(container.list)),
        path: pointer('spec', list, to + firstPlace(list)),
      })
    }
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
