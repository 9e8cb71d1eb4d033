import type { Fault } from '../preview/problems.ts'
import type { Entries } from './entry.ts'

/** Why manifests cannot be read. */
export const manifests: Entries<Fault> = {
  'too-deep': {
    means: 'No real manifest is nested like that, and parsers fail on it.',
    example: { most: 256 },
    next: 'Look for an accident in what generates it.',
  },
  'too-long': {
    means: 'Long YAML takes too much time and memory to read with all places kept.',
    example: { most: 2_000_000 },
    next: 'Split the file, or convert it to JSON.',
  },
  'too-many-anchors': {
    means: 'Anchors and aliases are bounded, since a few can stand for gigabytes.',
    example: { most: 1000 },
    next: 'Write the values out.',
  },
  'aliases-expand': { means: 'The aliases stand for far more than the file has.', next: 'Write the values out.' },
  'invalid-yaml': {
    means: 'The text is not YAML.',
    example: { message: 'Missing closing "quote' },
    next: 'Correct it at the line and column that are named.',
  },
  'name-not-text': {
    means:
      'Without quotes, YAML 1.1 reads `n`, `y`, `on` and `off` as truth values, and `1e3` as a number; kubectl does, too.',
    example: { path: 'metadata.name', value: 'false' },
    next: 'Put quotes around the name.',
  },
  'helm-template': {
    means: 'The text has template expressions, which are not YAML.',
    next: 'Render it first: `helm template RELEASE CHART | sidecar-first preview -`.',
  },
  'anchor-missing': {
    means: 'An alias refers to nothing before it.',
    example: { name: 'labels' },
    next: 'Define the anchor before its first use.',
  },
  'key-not-text': { means: 'Kubernetes objects have text as keys.', next: 'Write the key as text.' },
  'duplicate-key': {
    means: 'A key is there twice; tools differ in which one they take.',
    example: { key: 'annotations' },
    next: 'Merge the two.',
  },
  'not-in-json': {
    means: 'Kubernetes works with JSON, which has no such value.',
    example: { value: '.inf' },
    next: 'Write a number or text.',
  },
  'not-a-manifest': {
    means: 'The document is something else than a Kubernetes object.',
    next: 'Give a file with apiVersion and kind.',
  },
  'not-an-object': {
    means: 'A list has something in it that is not an object.',
    example: { path: 'items.0' },
    next: 'Remove it from the list.',
  },
  'kind-missing': {
    means: 'Without its kind nobody knows what the object is.',
    example: { path: '' },
    next: 'Add apiVersion and kind.',
  },
  'request-object-missing': {
    means: 'An AdmissionReview without a pod has nothing to look at.',
    next: 'Send the review of a creation.',
  },
}
