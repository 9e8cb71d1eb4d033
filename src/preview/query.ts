import { type Parsed, parsed, problem } from '../admission/words/parsed.ts'
import { quote } from '../admission/words/quote.ts'

/** The query of a `POST /preview`. */
export interface PreviewQuery {
  /** Assumed for objects that name none; may be empty. */
  readonly namespace: string
  /** Whether the JSON answer has the whole input too, as it would be. */
  readonly manifests: boolean
}

/** A DNS label, as namespaces are named. */
const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/

/** Reads a URL's query. An unknown key is a mistake: ignoring a misspelt one would answer another question. */
export function readQuery(query: string): Parsed<PreviewQuery, string> {
  let namespace = ''
  let manifests = false
  for (const [key, value] of new URLSearchParams(query)) {
    if (key === 'namespace') {
      if (!label.test(value)) return problem(`namespace: ${quote(value)} is not a namespace name`)
      namespace = value
    } else if (key === 'include') {
      if (value !== 'manifests') return problem(`include: ${quote(value)} is unknown; use manifests`)
      manifests = true
    } else return problem(`${quote(key)} is unknown; use namespace or include`)
  }
  return parsed({ namespace, manifests })
}
