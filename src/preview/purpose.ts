import { endsVolume, unwrapEnd } from '../admission/hook/end.ts'
import { lockVolume } from '../admission/hook/lock-names.ts'
import { unwrap } from '../admission/hook/unwrap.ts'
import type { Hook } from '../admission/pod/pod.ts'
import { readHookValue } from '../admission/pod/read.ts'
import { wordsFor } from '../admission/words/define.ts'
import type { Json, Operation } from '../admission/words/json.ts'
import { defaultContainerKey, keys } from '../admission/words/keys.ts'
import type { Values, Words } from '../admission/words/values.ts'
import { isObject } from './json.ts'
import { listed } from './listed.ts'
import { applyOperation } from './patch.ts'

interface Of {
  readonly name: string
}

/** What an operation of a patch is for, each kind once, with its words. */
const purposes = {
  'installs-waiter': { text: () => 'copies the waiter, which the hooks run, into the pod before anything starts' },
  'makes-list': { text: () => 'makes room for sidecars that become init containers' },
  'moves-sidecar': {
    text: ({ name }: Of) => `starts ${name} where the order wants it: containers start in the order of their list`,
  },
  'moves-app': { text: ({ name }: Of) => `starts ${name} after its sidecars` },
  'makes-native': {
    text: ({ name }: Of) => `makes ${name} a native sidecar: init containers start before all others`,
  },
  'keeps-running': { text: ({ name }: Of) => `keeps ${name} running as a native sidecar` },
  'removes-probe': {
    text: ({ name }: Of) => `lets the hook, not the startupProbe, hold back what starts after ${name}`,
  },
  'asks-often': { text: ({ name }: Of) => `asks ${name} every second, so that what waits for it starts at once` },
  'asks-at-once': { text: ({ name }: Of) => `asks ${name} from its start on, not after a delay` },
  'keeps-patience': { text: ({ name }: Of) => `leaves ${name} the same time to start as before` },
  waits: {
    text: ({ name, others }: Of & { readonly others: readonly string[] }) =>
      others.length === 0
        ? `runs when ${name} has started; nothing else starts until it returns`
        : `holds back what comes next until ${listed(others)} ${others.length === 1 ? 'is' : 'are'} ready`,
  },
  'ends-after': {
    text: ({ name, others }: Of & { readonly others: readonly string[] }) =>
      `when the pod ends, holds ${name} until ${listed(others)} ${others.length === 1 ? 'has' : 'have'} ended`,
  },
  'shows-end': { text: ({ name }: Of) => `shows the others when ${name} has ended` },
  'stops-first': { text: ({ name }: Of) => `runs when the pod ends, before ${name} is stopped` },
  'removes-hook': { text: ({ name }: Of) => `${name} needs this hook no longer` },
  'mounts-waiter': { text: ({ name }: Of) => `lets the hook of ${name} run the waiter` },
  'mounts-lock': { text: ({ name }: Of) => `lets the hook of ${name} open the lock` },
  'mounts-ends': { text: ({ name }: Of) => `lets the hook of ${name} see or show who has ended` },
  'unmounts-lock': { text: ({ name }: Of) => `takes the lock from ${name}, whose hook no longer opens one` },
  'adds-waiter-volume': { text: () => 'holds the waiter' },
  'adds-lock-volume': { text: () => 'holds the lock: it says which sidecars are ready' },
  'adds-ends-volume': { text: () => 'holds what shows who has ended' },
  locks: { text: ({ name }: Of) => `locks ${name}: the kubelet can't create it before its sidecars are ready` },
  unlocks: { text: ({ name }: Of) => `removes a variable that would lock ${name} wrongly` },
  'resets-lock': { text: () => 'closes the lock whenever the pod begins anew' },
  'keeps-default': { text: () => 'keeps the app as the container that kubectl logs and exec mean' },
  reports: { text: () => 'says what was done, for people and for sidecar-first check' },
  tries: { text: () => 'is tried, as if the pod said it' },
  annotates: { text: () => 'says what was done, and keeps the app as the container that kubectl logs and exec mean' },
} as const satisfies Words

type Purpose = Values<typeof purposes>

/**
 * What each operation is for, in the patch's order.
 * @param pod that the patch is for, with paths from its root
 * @param sidecars those of the plan
 */
export function purposesOf(pod: Json, patch: readonly Operation[], sidecars: ReadonlySet<string>): readonly string[] {
  const now = structuredClone(pod)
  return patch.map((operation) => {
    const found = [purposeOf(operation, now, sidecars)].flat()
    applyOperation(now, operation)
    return found.map((purpose) => wordsFor(purposes, purpose)).join('; ')
  })
}

/** The same for operations that only write what is tried. */
export const triedPurpose: string = purposes.tries.text()

const parts = (path: string) =>
  path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** @param pod as the operations before this one leave it */
function purposeOf(operation: Operation, pod: Json, sidecars: ReadonlySet<string>): Purpose | readonly Purpose[] {
  const [top, list = '', index, field, inner] = parts(operation.path)
  if (top === 'metadata') return ofAnnotations(operation, index)
  if (operation.op === 'move') {
    const [, fromList, fromIndex] = parts(operation.from)
    const name = containerAt(pod, fromList, fromIndex)
    if (fromList !== list) return { kind: 'makes-native', name }
    return { kind: sidecars.has(name) ? 'moves-sidecar' : 'moves-app', name }
  }
  const value = operation.op === 'add' ? operation.value : undefined
  if (list === 'volumes') {
    if (nameIn(value) === endsVolume) return { kind: 'adds-ends-volume' }
    const lock = field === 'emptyDir' || nameIn(value) === lockVolume
    return { kind: lock ? 'adds-lock-volume' : 'adds-waiter-volume' }
  }
  if (field === undefined) {
    if (Array.isArray(value) && value.length === 0) return { kind: 'makes-list' }
    return { kind: 'installs-waiter' }
  }
  const name = containerAt(pod, list, index)
  switch (field) {
    case 'restartPolicy':
      return { kind: 'keeps-running', name }
    case 'startupProbe':
      if (inner === undefined) return { kind: 'removes-probe', name }
      if (inner === 'initialDelaySeconds') return { kind: 'asks-at-once', name }
      return { kind: inner === 'periodSeconds' ? 'asks-often' : 'keeps-patience', name }
    case 'lifecycle': {
      if (value === undefined) return { kind: 'removes-hook', name }
      const hooks = inner === undefined && isObject(value) ? value : { [inner ?? '']: value }
      return Object.entries(hooks).map(([key, hook]) => ofHook(key, readHookValue(hook), name))
    }
    case 'volumeMounts':
      if (value === undefined) return { kind: 'unmounts-lock', name }
      if (nameIn(value) === endsVolume) return { kind: 'mounts-ends', name }
      return { kind: nameIn(value) === lockVolume ? 'mounts-lock' : 'mounts-waiter', name }
    case 'command':
      return { kind: 'resets-lock' }
    default:
      // All that is left is `env`.
      return { kind: value === undefined ? 'unlocks' : 'locks', name }
  }
}

function ofHook(key: string, hook: Hook | undefined, name: string): Purpose {
  if (key !== 'preStop') return { kind: 'waits', name, others: unwrap(hook)?.waitsFor ?? [] }
  const { ours, waitsFor = [] } = unwrapEnd(hook) ?? {}
  if (ours === undefined) return { kind: 'stops-first', name }
  return ours === 'witness' ? { kind: 'shows-end', name } : { kind: 'ends-after', name, others: waitsFor }
}

function ofAnnotations(operation: Operation, key: string | undefined): Purpose {
  const written = 'value' in operation && isObject(operation.value) ? operation.value : {}
  const inner = isObject(written.annotations) ? written.annotations : written
  const all = key === undefined ? Object.keys(inner) : [key]
  const [status, standard] = [all.includes(keys.status), all.includes(defaultContainerKey)]
  if (status && standard) return { kind: 'annotates' }
  return { kind: standard ? 'keeps-default' : 'reports' }
}

function containerAt(pod: Json, list = '', index = ''): string {
  const all = isObject(pod) && isObject(pod.spec) ? pod.spec[list] : undefined
  return Array.isArray(all) ? String(nameIn(all[Number(index)])) : ''
}

/** Of an item, or of the first in a list. */
function nameIn(value: Json | undefined): Json | undefined {
  const item = Array.isArray(value) ? (value as readonly Json[])[0] : value
  return isObject(item) ? item.name : undefined
}
