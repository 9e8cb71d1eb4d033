import type { KnownSidecar } from '../admission/suggest/known.ts'
import { type Asked, latest } from '../admission/words/probe-times.ts'
import type { ScanSubject } from './subject.ts'

/** The order and the gate of a sidecar today, by the spec alone. */
export type Today = { readonly app: string; readonly sidecar: string } & (
  | { readonly kind: 'unguarded'; readonly order: 'app-first' | 'sidecar-first' | 'native' }
  /** A hook waits for it, but the app starts before that. */
  | { readonly kind: 'late-hook' }
  /** A hook of its own that no preset knows. */
  | { readonly kind: 'unknown-hook' }
  /** Asked every so many seconds, so the app starts up to that much late. */
  | ({ readonly kind: 'startup-probe' } & Asked)
  | { readonly kind: 'own-hook' }
  | { readonly kind: 'ours' }
  | { readonly kind: 'prepared'; readonly init: string }
  /** In a manifest: an injector will add it. */
  | { readonly kind: 'not-yet-there'; readonly key: string }
  /** In a manifest: it asks for what holds the app, which the webhook would add. */
  | { readonly kind: 'asked' }
)

export const todayOf = ({ app, sidecars }: ScanSubject): readonly Today[] =>
  sidecars.map((known) => ({ app, sidecar: known.name, ...gateOf(known) }))

type Gate = Today extends infer T ? (T extends unknown ? Omit<T, 'app' | 'sidecar'> : never) : never

function gateOf({ gate, behind }: KnownSidecar): Gate {
  const order = behind.length > 0 ? 'app-first' : 'sidecar-first'
  switch (gate.kind) {
    case 'none':
      return { kind: 'unguarded', order }
    case 'native':
      return { kind: 'unguarded', order: 'native' }
    case 'own-hook':
      if (order === 'sidecar-first') return { kind: gate.waits ? 'own-hook' : 'unknown-hook' }
      return gate.waits ? { kind: 'late-hook' } : { kind: 'unguarded', order }
    case 'startup-probe':
      return gate
    case 'sidecar-first':
      return { kind: order === 'sidecar-first' ? 'ours' : 'late-hook' }
    case 'init-container':
      return { kind: 'prepared', init: gate.name }
    case 'not-yet-there':
      return { kind: 'not-yet-there', key: gate.key }
    default:
      return gate satisfies never
  }
}

/** `unknown`: whether the app waits can't be told from the spec. `asks`: guarded only where the webhook patches it. */
export type StandingToday = 'unguarded' | 'unknown' | 'late' | 'asks' | 'guarded'

const standings: Readonly<Record<Today['kind'], StandingToday>> = {
  unguarded: 'unguarded',
  'late-hook': 'unguarded',
  'unknown-hook': 'unknown',
  'not-yet-there': 'unknown',
  asked: 'asks',
  'startup-probe': 'guarded',
  'own-hook': 'guarded',
  ours: 'guarded',
  prepared: 'guarded',
}

export const standingToday = (today: Today): StandingToday =>
  today.kind === 'startup-probe' && latest(today) > 1 ? 'late' : standings[today.kind]
