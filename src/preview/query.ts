import { type Parsed, parsed, problem } from '../admission/words/parsed.ts'
import { quote } from '../admission/words/quote.ts'

/** The query of a `POST /preview`. */
interface PreviewQuery {
  /** Assumed for objects that name none; may be empty. */
  readonly namespace: string
  /** What the JSON answer has too. */
  readonly include: ReadonlySet<Part>
}

/** `manifests`: the whole input, as it would be; `edits`: what adds the suggested lines to the input. */
export const parts = ['manifests', 'edits'] as const
type Part = (typeof parts)[number]

/** A DNS label, as namespaces are named. */
const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/

/** Reads a URL's query. An unknown key is a mistake: ignoring a misspelt one would answer another question. */
export function readQuery(query: string): Parsed<PreviewQuery, string> {
  let namespace = ''
  const include = new Set<Part>()
  for (const [key, value] of new URLSearchParams(query)) {
    if (key === 'namespace') {
      if (!label.test(value)) return problem(`namespace: ${quote(value)} is not a namespace name`)
      namespace = value
    } else if (key === 'include') {
      const part = parts.find((each) => each === value)
      if (part === undefined) return problem(`include: ${quote(value)} is unknown; use ${parts.join(' or ')}`)
      include.add(part)
    } else return problem(`${quote(key)} is unknown; use namespace or include`)
  }
  return parsed({ namespace, include })
}
