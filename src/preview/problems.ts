import { quote } from '../admission/words/quote.ts'
import type { Code, CodedWords, Values } from '../admission/words/values.ts'

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
  'too-deep': { code: 'SF401', text: ({ most }: Limit) => `nested more than ${most} levels deep` },
  'too-long': {
    code: 'SF402',
    text: ({ most }: Limit) => `more than ${most / 1e6} MB of YAML; split it, or give it as JSON`,
  },
  'too-many-anchors': { code: 'SF403', text: ({ most }: Limit) => `more than ${most} anchors and aliases` },
  'aliases-expand': { code: 'SF404', text: () => 'its aliases expand to too much' },
  'invalid-yaml': {
    code: 'SF405',
    text: ({ message, json = false }: { readonly message: string; readonly json?: boolean }) =>
      `invalid ${json ? 'JSON' : 'YAML'}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`,
  },
  'helm-template': {
    code: 'SF406',
    text: () => 'this is a Helm template; render it first: helm template RELEASE CHART',
  },
  'anchor-missing': {
    code: 'SF407',
    text: ({ name }: { readonly name: string }) => `there is no anchor ${quote(name)} before this alias`,
  },
  'key-not-text': { code: 'SF408', text: () => 'a key has to be text, not a list or an object' },
  'duplicate-key': {
    code: 'SF409',
    text: ({ key }: { readonly key: string }) => `the key ${quote(key)} is there twice`,
  },
  'not-in-json': {
    code: 'SF410',
    text: ({ value }: { readonly value: string }) => `${value} can't be written as JSON`,
  },
  'not-a-manifest': { code: 'SF411', text: () => 'a manifest is an object with apiVersion and kind' },
  'not-an-object': { code: 'SF412', text: ({ path }: At) => `${path} is not an object` },
  'kind-missing': { code: 'SF413', text: ({ path }: At) => `${path || 'the document'} has no kind` },
  'name-not-text': {
    code: 'SF415',
    text: ({ path, value }: At & { readonly value: string }) =>
      `${path} is ${value}, not text, and no API server takes that; put quotes around it`,
  },
  'request-object-missing': { code: 'SF414', text: () => 'the AdmissionReview has no request.object' },
} as const satisfies CodedWords

/** What is wrong. */
export type Fault = Values<typeof problems>
/** What is wrong with an input, and where. */
export type Problem = Place & { readonly fault: Fault }

/** The kind is known by then, so its data fits. */
export const faultText = (fault: Fault): string =>
  (problems[fault.kind] as { text: (data: Fault) => string }).text(fault)

export const faultCode = ({ kind }: Fault): Code => problems[kind].code

/** A problem in a sentence. */
export const problemLine = ({ document, line, column, fault }: Problem): string =>
  `document ${document}, line ${line}, column ${column}: ${faultCode(fault)} ${faultText(fault)}`
