import { mostContainers } from '../pod/read.ts'
import { type Parsed, parsed, problem } from '../words/parsed.ts'

/** The names of one tier in the order they were written, or `*`: the tiers that the cluster's rules add. */
export type TierNames = readonly string[] | '*'

/** A container's name is an RFC 1123 label. */
export function isContainerName(text: string): boolean {
  return text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text)
}

/** Reads `vault-agent, envoy + otel, *`. A problem names the character, counted from 1. */
export function parseSidecars(text: string): Parsed<readonly TierNames[]> {
  const tiers: TierNames[] = []
  const seen = new Set<string>()
  let at = 0
  for (const tierText of text.split(',')) {
    const names: string[] = []
    const items = tierText.split('+')
    for (const item of items) {
      const name = item.trim()
      const here = at + item.length - item.trimStart().length + 1
      const place = { character: Math.min(here, text.length + 1), text }
      if (name === '') return problem({ kind: 'container-name-expected', ...place })
      if (name === '*' && items.length > 1) return problem({ kind: 'star-not-alone', ...place })
      if (name !== '*' && !isContainerName(name)) return problem({ kind: 'not-a-container-name', name, ...place })
      if (seen.has(name)) return problem({ kind: 'named-twice', name, ...place })
      if (seen.size === mostContainers) return problem({ kind: 'too-many-named', most: mostContainers })
      seen.add(name)
      names.push(name)
      at += item.length + 1
    }
    tiers.push(names[0] === '*' ? '*' : names)
  }
  return parsed(tiers)
}
