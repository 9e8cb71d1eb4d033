import { quote } from '../admission/words/quote.ts'
import type { Values } from '../admission/words/values.ts'

/** Where something is in an input. All three count from 1. */
export interface Place {
  readonly document: number
  readonly line: number
  readonly column: number
}

interface At {
  /** `items.0`; empty for the whole document. */
  readonly path: string
}
interface Limit {
  readonly most: number
}

/** All that keeps manifests from being read, each kind once, with its words. */
const problems = {
  'too-deep': { text: ({ most }: Limit) => `nested more than ${most} levels deep` },
  'too-long': { text: ({ most }: Limit) => `more than ${most / 1e6} MB of YAML; split it, or give it as JSON` },
  'too-many-anchors': { text: ({ most }: Limit) => `more than ${most} anchors and aliases` },
  'aliases-expand': { text: () => 'its aliases expand to too much' },
  'invalid-yaml': {
    text: ({ message }: { readonly message: string }) =>
      `invalid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}`,
  },
  'helm-template': { text: () => 'this is a Helm template; render it first: helm template RELEASE CHART' },
  'anchor-missing': {
    text: ({ name }: { readonly name: string }) => `there is no anchor ${quote(name)} before this alias`,
  },
  'key-not-text': { text: () => 'a key has to be text, not a list or an object' },
  'duplicate-key': { text: ({ key }: { readonly key: string }) => `the key ${quote(key)} is there twice` },
  'not-in-json': { text: ({ value }: { readonly value: string }) => `${value} can't be written as JSON` },
  'not-a-manifest': { text: () => 'a manifest is an object with apiVersion and kind' },
  'not-an-object': { text: ({ path }: At) => `${path} is not an object` },
  'kind-missing': { text: ({ path }: At) => `${path || 'the document'} has no kind` },
  'request-object-missing': { text: () => 'the AdmissionReview has no request.object' },
} as const

/** What is wrong. */
export type Fault = Values<typeof problems>
/** What is wrong with an input, and where. */
export type Problem = Place & { readonly fault: Fault }

/** The kind is known by then, so its data fits. */
export const faultText = (fault: Fault): string =>
  (problems[fault.kind] as { text: (data: Fault) => string }).text(fault)

/** A problem in a sentence. */
export const problemLine = ({ document, line, column, fault }: Problem): string =>
  `document ${document}, line ${line}, column ${column}: ${faultText(fault)}`
