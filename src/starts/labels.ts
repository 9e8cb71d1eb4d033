import { recognise } from '../admission/suggest/known.ts'

// Everything that becomes a label, but for a namespace, is one of these: what pods are called makes no series.

/** What holds an app back. `hook`: ours; `own-hook`: the sidecar's own. */
export const gates = ['lock', 'hook', 'startup-probe', 'own-hook', 'none'] as const
export type GateLabel = (typeof gates)[number]

/** How a pod has started. `not-started`: it was gone before its app began. */
export const outcomes = ['held', 'too-early', 'unknown', 'not-started'] as const
export type OutcomeLabel = (typeof outcomes)[number]

/** What ended a wait. */
export const waitOutcomes = ['ready', 'timed-out', 'crashed', 'kubelet-restarted', 'unknown'] as const
export type WaitOutcomeLabel = (typeof waitOutcomes)[number]

declare const bounded: unique symbol
/** A preset's name, `other` for a container that no preset knows, or `several` for a wait for more than one of these. */
export type SidecarLabel = string & { readonly [bounded]: true }

const other = 'other' as SidecarLabel
export const several = 'several' as SidecarLabel

/** By name, else by image, as everywhere. */
export const sidecarLabel = ({ name, image = '' }: { readonly name: string; readonly image?: string }): SidecarLabel =>
  (recognise({ name, image })?.preset.name ?? other) as SidecarLabel
