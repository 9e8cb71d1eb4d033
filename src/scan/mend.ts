import type { Configuration } from '../admission/intent/configuration.ts'
import type { Surroundings } from '../admission/pod/surroundings.ts'
import { suggest } from '../admission/suggest/suggest.ts'
import { coded } from '../admission/words/messages.ts'
import { noneOwn } from './subject.ts'

/** What would have a workload's apps wait, or wait less. */
export type Mend =
  /** Annotations for its pod template; `conditional`: more, which serve only if the sidecar is configured for them. `holds`: the others alone hold the app. */
  | {
      readonly kind: 'lines'
      readonly lines: readonly Line[]
      readonly conditional: readonly Line[]
      readonly holds: boolean
    }
  /** It asks already, and no webhook has acted on that. */
  | { readonly kind: 'asked-in-vain' }
  /** A manifest asks, and the app still wouldn't wait for these. */
  | {
      readonly kind: 'asked-otherwise'
      readonly sidecars: readonly [string, ...string[]]
      readonly why: readonly string[]
    }
  | { readonly kind: 'no-line'; readonly why: readonly string[] }
  | { readonly kind: 'nothing-to-mend' }

/** Whether it is said in words, with a code. */
export const isSaid = (mend: Mend): mend is Exclude<Mend, { kind: 'lines' | 'nothing-to-mend' }> =>
  mend.kind !== 'lines' && mend.kind !== 'nothing-to-mend'

interface Line {
  readonly key: string
  readonly value: string
}

/** By the suggestions for pods that say nothing. @param guarded whether its apps wait already */
export function mendOf(
  manifest: unknown,
  guarded: boolean,
  surroundings: Surroundings,
  configuration: Configuration,
  own = noneOwn,
): Mend {
  const found = suggest(manifest, { configuration, surroundings }, own)
  if (found === undefined) return { kind: 'nothing-to-mend' }
  const { kind } = found
  switch (kind) {
    case 'asked':
      return { kind: guarded ? 'nothing-to-mend' : 'asked-in-vain' }
    case 'holds':
      return { kind: 'nothing-to-mend' }
    case 'faster':
      return { kind: 'lines', lines: found.lines.map(plain), conditional: [], holds: true }
    case 'mend':
      return {
        kind: 'lines',
        lines: found.lines.map(plain),
        conditional: found.conditional.map(plain),
        holds: found.lines.some(({ why }) => why.kind !== 'order' || why.names.length > 0),
      }
    case 'none':
      return { kind: 'no-line', why: found.why.map(coded) }
    default:
      return kind satisfies never
  }
}

const plain = ({ key, value }: Line): Line => ({ key, value })
