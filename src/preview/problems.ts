import { define, wordsFor } from '../admission/words/define.ts'
import { quote } from '../admission/words/quote.ts'
import type { Code, Values } from '../admission/words/values.ts'

/** Where something is in an input. All three count from 1. */
export interface Place {
  readonly document: number
  readonly line: number
  readonly column: number
}

const refusal = define('refusal')

/** All that keeps manifests from being read, each kind once, with its words. */
export const problems = {
  'too-deep': refusal('SF401', {
    example: { most: 256 },
    text: ({ most }) => `nested more than ${most} levels deep`,
    means: 'No real manifest is nested like that, and parsers fail on it.',
    next: 'Look for an accident in what generates it.',
  }),
  'too-long': refusal('SF402', {
    example: { most: 2_000_000 },
    text: ({ most }) => `more than ${most / 1e6} MB of YAML; split it, or give it as JSON`,
    means: 'Long YAML takes too much time and memory to read with all places kept.',
    next: 'Split the file, or convert it to JSON.',
  }),
  'too-many-anchors': refusal('SF403', {
    example: { most: 1000 },
    text: ({ most }) => `more than ${most} anchors and aliases`,
    means: 'Anchors and aliases are bounded, since a few can stand for gigabytes.',
    next: 'Write the values out.',
  }),
  'aliases-expand': refusal('SF404', {
    text: 'its aliases expand to too much',
    means: 'The aliases stand for far more than the file has.',
    next: 'Write the values out.',
  }),
  'invalid-yaml': refusal<{ message: string; json?: boolean }>('SF405', {
    example: { message: 'Missing closing "quote' },
    text: ({ message, json = false }) =>
      `invalid ${json ? 'JSON' : 'YAML'}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`,
    means: 'The text is not YAML.',
    next: 'Correct it at the line and column that are named.',
  }),
  'helm-template': refusal('SF406', {
    text: 'this is a Helm template; render it first: helm template RELEASE CHART',
    means: 'The text has template expressions, which are not YAML.',
    next: 'Render it first: `helm template RELEASE CHART | sidecar-first preview -`.',
  }),
  'anchor-missing': refusal('SF407', {
    example: { name: 'labels' },
    text: ({ name }) => `there is no anchor ${quote(name)} before this alias`,
    means: 'An alias refers to nothing before it.',
    next: 'Define the anchor before its first use.',
  }),
  'key-not-text': refusal('SF408', {
    text: 'a key has to be text, not a list or an object',
    means: 'Kubernetes objects have text as keys.',
    next: 'Write the key as text.',
  }),
  'duplicate-key': refusal('SF409', {
    example: { key: 'annotations' },
    text: ({ key }) => `the key ${quote(key)} is there twice`,
    means: 'A key is there twice; tools differ in which one they take.',
    next: 'Merge the two.',
  }),
  'not-in-json': refusal('SF410', {
    example: { value: '.inf' },
    text: ({ value }) => `${value} can't be written as JSON`,
    means: 'Kubernetes works with JSON, which has no such value.',
    next: 'Write a number or text.',
  }),
  'not-a-manifest': refusal('SF411', {
    text: 'a manifest is an object with apiVersion and kind',
    means: 'The document is something else than a Kubernetes object.',
    next: 'Give a file with apiVersion and kind.',
  }),
  'not-an-object': refusal('SF412', {
    example: { path: 'items.0' },
    text: ({ path }) => `${path} is not an object`,
    means: 'A list has something in it that is not an object.',
    next: 'Remove it from the list.',
  }),
  'kind-missing': refusal('SF413', {
    example: { path: '' },
    text: ({ path }) => `${path || 'the document'} has no kind`,
    means: 'Without its kind nobody knows what the object is.',
    next: 'Add apiVersion and kind.',
  }),
  'name-not-text': refusal('SF415', {
    example: { path: 'metadata.name', value: 'false' },
    text: ({ path, value }) => `${path} is ${value}, not text, and no API server takes that; put quotes around it`,
    means:
      'Without quotes, YAML 1.1 reads `n`, `y`, `on` and `off` as truth values, and `1e3` as a number; kubectl does, too.',
    next: 'Put quotes around the name.',
  }),
  'request-object-missing': refusal('SF414', {
    text: 'the AdmissionReview has no request.object',
    means: 'An AdmissionReview without a pod has nothing to look at.',
    next: 'Send the review of a creation.',
  }),
}

/** What is wrong. */
export type Fault = Values<typeof problems>
/** What is wrong with an input, and where. */
export type Problem = Place & { readonly fault: Fault }

export const faultText = (fault: Fault): string => wordsFor(problems, fault)

export const faultCode = ({ kind }: Fault): Code => problems[kind].code

/** A problem in a sentence. */
export const problemLine = ({ document, line, column, fault }: Problem): string =>
  `document ${document}, line ${line}, column ${column}: ${faultCode(fault)} ${faultText(fault)}`
