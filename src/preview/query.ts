import { type Parsed, parsed, problem } from '../admission/parsed.ts'
import { quote } from '../admission/quote.ts'

/** What a `POST /preview` may say in its URL. */
export interface PreviewQuery {
  /** Assumed for objects that name none; may be empty. */
  readonly namespace: string
  /** Whether the JSON answer has the whole input too, as it would be. */
  readonly manifests: boolean
}

/** A DNS label, as namespaces are named. */
const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/

/** Reads a URL's query. What isn't known is a mistake: a misspelt key would else be an answer to another question. */
export function readQuery(query: string): Parsed<PreviewQuery> {
  let namespace = ''
  let manifests = false
  for (const [key, value] of new URLSearchParams(query)) {
    if (key === 'namespace') {
      if (!label.test(value)) return problem(`namespace: ${quote(value)} is no name of a namespace`)
      namespace = value
    } else if (key === 'include') {
      if (value !== 'manifests') return problem(`include: there is only manifests, not ${quote(value)}`)
      manifests = true
    } else return problem(`there is no ${quote(key)}; use namespace or include`)
  }
  return parsed({ namespace, manifests })
}
