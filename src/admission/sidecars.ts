import { type Parsed, parsed, problem } from './parsed.ts'
import { quote } from './quote.ts'

/** The names of one tier in the order they were written, or `*`: the tiers that the cluster's rules add. */
export type TierNames = readonly string[] | '*'

/** A container's name: an RFC 1123 label, as Kubernetes wants it. */
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
      if (name === '')
        return problem(`expected a container name at character ${Math.min(here, text.length + 1)} of ${quote(text)}`)
      if (name === '*' && items.length > 1) {
        return problem(`"*" stands alone between commas, at character ${here} of ${quote(text)}`)
      }
      if (name !== '*' && !isContainerName(name)) {
        return problem(`${quote(name)} is no container name, at character ${here} of ${quote(text)}`)
      }
      if (seen.has(name))
        return problem(`${quote(name)} stands there twice, again at character ${here} of ${quote(text)}`)
      seen.add(name)
      names.push(name)
      at += item.length + 1
    }
    tiers.push(names[0] === '*' ? '*' : names)
  }
  return parsed(tiers)
}
