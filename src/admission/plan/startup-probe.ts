import { formatCheck } from '../check/grammar.ts'
import { type WrittenCheck, writtenChecks } from '../hook/written.ts'
import type { Gate, Sidecar } from '../intent/intent.ts'
import type { Container, Probe, Spec } from '../pod/pod.ts'
import type { StartupProbeChoice } from '../words/choices.ts'
import { type Resolution, type Resolved, resolve } from './resolve.ts'

/** Where a native sidecar stands before our patch. */
type Place = 'in-place' | 'moves-in'

/** What becomes of a native sidecar's startupProbe, and whether a hook of ours waits for the same. */
export interface Handling {
  /** `kept`: as it is; `eager`: asked every second, its total time kept; `removed`. */
  readonly probe: 'kept' | 'eager' | 'removed'
  /** `hands-over`: it returns at once and leaves the waiting to a process behind it, which opens the lock. */
  readonly hook: 'none' | 'blocks' | 'hands-over'
}

/** Whether what is behind is locked: the pod or a rule says so, or by default. */
export type Locked = 'no' | 'asked' | 'by-default'

/**
 * The kubelet itself holds back what stands behind a native sidecar until its startupProbe passes, at the probe's next tick. A hook that waits for
 * the same makes that later, not earlier: hook, status, tick and relist come one after another. One that opens a lock doesn't block, and the lock
 * stays closed where the probe doesn't: a kubelet that has restarted can take it for passed.
 */
const handlings: Readonly<Record<'open' | 'locked', Readonly<Record<StartupProbeChoice, Handling>>>> = {
  open: {
    keep: { probe: 'kept', hook: 'none' },
    eager: { probe: 'eager', hook: 'none' },
    hook: { probe: 'removed', hook: 'blocks' },
  },
  locked: {
    keep: { probe: 'kept', hook: 'none' },
    eager: { probe: 'eager', hook: 'hands-over' },
    hook: { probe: 'removed', hook: 'blocks' },
  },
}

/** Where nothing is asked for. A pod that already waits is left alone, unless it asks to be locked. */
const unlessAsked: Readonly<Record<Place, StartupProbeChoice>> = { 'in-place': 'keep', 'moves-in': 'eager' }

/** What is waited for because of a native sidecar's startupProbe. */
interface Probed {
  readonly handling: Handling
  /** Undefined where a hook has to wait for something else as well, or instead. */
  readonly held: Extract<Resolved, { kind: 'startupProbe' }> | undefined
}

/** Undefined without a startupProbe, or for a regular container: it holds nothing back there. `hookable`: our hook can stand in for the probe. */
export function probedBy(
  sidecar: Sidecar,
  container: Container,
  { gate, locked, hookable }: { readonly gate: Gate; readonly locked: Locked; readonly hookable: boolean },
): Probed | undefined {
  const asked = handlingOf(sidecar, container, { gate, locked })
  if (asked === undefined) return undefined
  const held = () => heldByProbe(sidecar, container)
  // What can't be written as a check only the kubelet can ask.
  const unwritable = isProbe(sidecar) && resolve(sidecar, container).resolved.kind === 'none'
  if (asked.hook !== 'none' && (!hookable || unwritable)) return { handling: handlings.open.eager, held: held() }
  if (asked.hook === 'none') return { handling: asked, held: held() }
  // The probe holds only what it asks itself.
  const blocks = asked.hook === 'hands-over' && held() === undefined
  return { handling: blocks ? { ...asked, hook: 'blocks' } : asked, held: undefined }
}

/** Whether what is asked of it is what its startupProbe asks. */
const isProbe = ({ check }: Sidecar): boolean => check.kind === 'probe' && check.probe !== 'readiness'

/** The checks that our hooks in a pod poll, by the names of the containers. */
export function writtenIn({ containers, initContainers }: Spec): ReadonlyMap<string, WrittenCheck> {
  const checks = [...initContainers, ...containers].flatMap(({ postStart }) => writtenChecks(postStart))
  return new Map(checks.map((check) => [check.container, check]))
}

/**
 * A sidecar whose startupProbe is removed: how long that may take is said by the hook that an earlier pass wrote, and if the probe was the check, what
 * it asked. Under an enforced rule neither counts, since anyone can write a hook.
 */
export function withoutProbe(
  sidecar: Sidecar,
  container: Container,
  written: () => ReadonlyMap<string, WrittenCheck>,
): { readonly sidecar: Sidecar; readonly resolution?: Resolution } {
  if (sidecar.startupProbe !== 'hook') return { sidecar }
  if (sidecar.rule?.enforce) return { sidecar: { ...sidecar, timeout: sidecar.timeout ?? sidecar.defaultTimeout } }
  const found = container.startupProbe === undefined ? written().get(sidecar.name) : undefined
  if (found === undefined) return { sidecar }
  const { container: _, timeout, ...check } = found
  const patient = { ...sidecar, timeout: sidecar.timeout ?? timeout }
  if (!isProbe(sidecar)) return { sidecar: patient }
  return { sidecar: patient, resolution: { resolved: { kind: 'polled', ...check }, problems: [], warnings: [] } }
}

function handlingOf(
  sidecar: Sidecar,
  { list, startupProbe }: Container,
  { gate, locked }: { readonly gate: Gate; readonly locked: Locked },
): Handling | undefined {
  if (startupProbe === undefined || !(list === 'initContainers' || gate === 'native')) return undefined
  // One that is asked every second, from its start, may have moved in, in an earlier pass.
  const isEager = locked === 'asked' || (locked === 'by-default' && isAskedEagerly(startupProbe))
  const place: Place = list === 'initContainers' && !isEager ? 'in-place' : 'moves-in'
  return handlings[locked === 'no' ? 'open' : 'locked'][sidecar.startupProbe ?? unlessAsked[place]]
}

/** What the kubelet waits for by itself, if that is all that is asked; undefined where a hook has to wait for something else. */
function heldByProbe(sidecar: Sidecar, container: Container): Extract<Resolved, { kind: 'startupProbe' }> | undefined {
  const { startupProbe: probe } = container
  if (probe === undefined) return undefined
  const { resolved } = resolve({ ...sidecar, check: { kind: 'probe', probe: 'startup' } }, container)
  const asked = resolved.kind === 'polled' ? resolved.check : undefined
  if (!isProbe(sidecar)) {
    // A check that says what the probe asks, as a preset's does. With headers or another path it isn't the same.
    const wanted = resolve(sidecar, container).resolved
    const plain = resolved.kind === 'polled' && resolved.headers.length === 0 && resolved.path === undefined
    if (!plain || wanted.kind !== 'polled' || wanted.successes !== 1) return undefined
    if (formatCheck(wanted.check) !== formatCheck(resolved.check)) return undefined
  }
  return { kind: 'startupProbe', check: asked, every: probe.periodSeconds, limit: secondsOf(probe) }
}

/** How long a startupProbe may take altogether, in seconds, before the kubelet restarts the container. */
export function secondsOf({ initialDelaySeconds, failureThreshold, periodSeconds }: Probe): number {
  return initialDelaySeconds + failureThreshold * periodSeconds
}

/** What the API takes as a failureThreshold, an int32. */
const mostAttempts = 2 ** 31 - 1

/** What has to change in a startupProbe. */
export type ProbeChange =
  /** Asked every second (`often`), from its start (`atOnce`: its initial delay goes), where it isn't yet; the threshold keeps its total time. */
  | { readonly kind: 'eager'; readonly failureThreshold: number; readonly often: boolean; readonly atOnce: boolean }
  | { readonly kind: 'removed' }

const isAskedEagerly = ({ periodSeconds, initialDelaySeconds }: Probe): boolean =>
  periodSeconds <= 1 && initialDelaySeconds <= 0

/** Undefined if it is as it has to be. */
export function probeChange(handling: Handling, probe: Probe): ProbeChange | undefined {
  switch (handling.probe) {
    case 'kept':
      return undefined
    case 'eager':
      return isAskedEagerly(probe)
        ? undefined
        : {
            kind: 'eager',
            failureThreshold: Math.min(secondsOf(probe), mostAttempts),
            often: probe.periodSeconds > 1,
            atOnce: probe.initialDelaySeconds > 0,
          }
    case 'removed':
      return { kind: 'removed' }
    default:
      return handling.probe satisfies never
  }
}
