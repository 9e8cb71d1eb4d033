import type { Metadata } from '../pod/pod.ts'
import { presets } from './presets.ts'

/** Whether an injector is known to add containers of this name, and the pod doesn't decline that. */
export const isInjected = (name: string, pod: Metadata): boolean =>
  presets.some(
    ({ containers, askedFor, askedByNamespace }) =>
      askedFor.length + askedByNamespace.length > 0 &&
      containers.some((each) => isCalled(name, each)) &&
      !askedFor.some((key) => isDeclined(said(pod, key))),
  )

/** Consul names the containers of a pod with several services `consul-dataplane-SERVICE`. */
export const isCalled = (name: string, known: string): boolean =>
  name === known || (known === 'consul-dataplane' && name.startsWith('consul-dataplane-'))

/** What a pod or a namespace says to an injector. */
export const said = ({ annotations, labels }: Metadata, key: string) => annotations.get(key) ?? labels.get(key)

export const isDeclined = (value: unknown): boolean => value === 'false' || value === 'disabled'
