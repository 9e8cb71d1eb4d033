import { decide } from '../../src/admission/decide.ts'
import type { Decision } from '../../src/admission/decision.ts'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import type { Surroundings } from '../../src/admission/pod/surroundings.ts'
import type { Json, Operation } from '../../src/admission/words/json.ts'
import { textOf } from '../../src/admission/words/messages.ts'
import { applyPatch } from '../../src/preview/patch.ts'

/** What the tests share: pods in few words, the decision on one, and the pod after it. */
export type Fields = { readonly [key: string]: Json }

export const configuration = defaultConfiguration('0.0.0-test')

export interface Pod extends Fields {
  readonly metadata: Fields
  readonly spec: Fields & { readonly containers: readonly Container[] }
}
export type Container = Fields & { readonly name: string }

/** A pod with annotations by their short keys: `sidecars`, `check/envoy`; any other key as it is. */
export function pod(annotations: Fields, containers: readonly Container[], spec: Fields = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', annotations: keyed(annotations) },
    spec: { ...spec, containers },
  }
}

export function keyed(annotations: Fields): Fields {
  return Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => {
      const [what, container] = key.split('/', 2)
      if (key.includes('.')) return [key, value]
      return [container === undefined ? `sidecar-first.dev/${what}` : `${what}.sidecar-first.dev/${container}`, value]
    }),
  )
}

export const app: Container = { name: 'app', image: 'app' }
export const ready = { httpGet: { port: 8080, path: '/ready' } } as const

export function decided(object: unknown, surroundings?: Surroundings): Decision {
  return decide(object, configuration, surroundings)
}

/** The texts of a decision. */
export const reasonsOf = ({ reasons }: Pick<Decision, 'reasons'>): readonly string[] => reasons.map(textOf)
export const warningsOf = ({ warnings }: Pick<Decision, 'warnings'>): readonly string[] => warnings.map(textOf)

/** The patch of a decision; empty where there is none. */
export function patchOf(decision: Decision): readonly Operation[] {
  return decision.verdict === 'patched' ? decision.patch : []
}

export function after<T extends Json>(object: T, decision = decided(object)): T {
  if (decision.verdict === 'refused') throw new Error(reasonsOf(decision).join('; '))
  return applyPatch(object, patchOf(decision))
}

export function names(object: Pod): readonly string[] {
  return object.spec.containers.map(({ name }) => name)
}

/** The command of the PostStart hook of a container, anywhere in the pod. */
export function hookOf(object: Pod, name: string): readonly string[] | undefined {
  return (postStartOf(object, name) as { exec?: { command: string[] } } | undefined)?.exec?.command
}

export function postStartOf(object: Pod, name: string): Json | undefined {
  const initContainers = (object.spec.initContainers ?? []) as readonly Container[]
  const container = [...object.spec.containers, ...initContainers].find((candidate) => candidate.name === name)
  return (container?.lifecycle as Fields | undefined)?.postStart
}

/** The waiter's spec in the hook of a container. */
export function specOf(object: Pod, name: string): { checks: Record<string, Json>[]; before?: Json; message: string } {
  const [program, flag, text] = hookOf(object, name) ?? []
  if (program !== '/.sidecar-first/wait' || flag !== '--spec' || text === undefined) {
    throw new Error(`${name} has no hook of ours`)
  }
  return JSON.parse(text)
}
