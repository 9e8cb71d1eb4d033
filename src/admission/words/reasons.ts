import { keys, perContainer } from './keys.ts'
import { type Asked, askedText } from './probe-times.ts'
import type { Values, Words } from './values.ts'

/** By its first letter; a U is nearly always spoken as in user. */
const article = (noun: string) => (/^[aeio]/i.test(noun) ? 'an' : 'a')

interface Named {
  readonly name: string
}
/** Why a pod is left alone, or what is done to it. */
export const reasons = {
  'opted-out': { text: () => `${keys.inject} is "false"` },
  'mirror-pod': { text: () => 'a mirror pod: the kubelet runs it from a file on the node' },
  'windows-pod': { text: () => 'a Windows pod' },
  'only-sidecars': { text: () => 'every container is a sidecar by the rules, so there is no app to hold back' },
  'no-app': {
    text: () => 'every container is a well-known sidecar or belongs to one, so there is no app to hold back',
  },
  'nothing-asked': {
    text: ({ rules }: { readonly rules: boolean }) =>
      `no ${keys.sidecars} annotation${rules ? ', and no rule matches' : ''}`,
  },
  'none-known': {
    text: ({ names }: { readonly names: readonly string[] }) =>
      `it has no sidecar that a preset knows; if its namespace has one injected (${names.join(', ')}), name that in the annotation, or preview it with its Namespace`,
  },
  'none-there': { text: () => 'none of the named sidecars is in this pod' },
  'to-be-injected': {
    text: ({ name, key }: Named & { readonly key?: string }) =>
      `${name} isn't there yet; ${key === undefined ? 'an injector' : `the injector that ${key} asks for`} has to add it`,
  },
  'only-looked-at': { text: () => 'the configuration only observes (mode: observe)' },
  'not-sent': { text: () => 'the API server does not send pods of its namespace' },
  'in-other-namespaces': {
    text: ({ fate }: { readonly fate: string }) => `in a namespace that more rules select, it ${fate}`,
  },
  'star-alone': { text: () => '"*" stands for the sidecars that rules add, and no rule matches' },
  'not-a-pod': { text: () => 'not a Pod' },
  subresource: { text: () => 'a subresource of a Pod' },
  'not-a-creation': { text: () => 'not the creation of a Pod' },
  'no-pod-template': {
    text: ({ object }: { readonly object: string }) => `${article(object)} ${object} has no pod template`,
  },
  'startup-probe-holds': {
    text: ({ name, already, ...asked }: Named & Asked & { readonly already: boolean }) =>
      `${name}: its startupProbe${already ? ' already' : ''} holds the app (${askedText(asked)})`,
  },
  'no-check-known': {
    text: ({ name, because }: Named & { readonly because: 'health-off' | 'no-port' }) =>
      because === 'health-off'
        ? `nothing tells when ${name} is ready: status.sidecar.istio.io/port: "0" turns its health off`
        : `nothing tells when ${name} is ready: it has no probe and declares no port; give it a readinessProbe, or set ${perContainer.check}${name}`,
  },
  'own-hook-holds': { text: ({ name }: Named) => `${name}: its own hook already holds the app` },
  prepared: {
    text: ({ name, by }: Named & { readonly by: string }) =>
      `${name}: ${by}, an init container, does its work before the app starts`,
  },
  starts: { text: (order: StartOrder) => `starts ${orderText(order)}` },
  'starts-already': { text: (order: StartOrder) => `already starts ${orderText(order)}` },
} as const satisfies Words

export type Reason = Values<typeof reasons>

interface StartedFirst extends Named {
  readonly waitedFor: boolean
  /** The rule that it is under. */
  readonly rule?: string | undefined
}

/** The order of a pod's start as the tiers have it. */
export interface StartOrder {
  readonly first: readonly (readonly StartedFirst[])[]
  /** The containers behind all sidecars. */
  readonly rest: readonly string[]
}

/** `vault-agent, then envoy (rule mesh) + otel (not waited for), before app` */
export function orderText({ first, rest }: StartOrder): string {
  const tiers = first.map((tier) => tier.map(startedFirst).join(' + '))
  return `${tiers.join(', then ')}${rest.length > 0 ? `, before ${rest.join(', ')}` : ''}`
}

function startedFirst({ name, waitedFor, rule }: StartedFirst): string {
  const notes = [...(rule === undefined ? [] : [`rule ${rule}`]), ...(waitedFor ? [] : ['not waited for'])]
  return notes.length === 0 ? name : `${name} (${notes.join(', ')})`
}
