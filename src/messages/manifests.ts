import type { FileNotice } from '../preview/notices.ts'
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

const files = ['k8s/values.yaml']

/** What is said of files and flags where nothing is wrong. */
export const fileNotices: Entries<FileNotice> = {
  'nothing-in-it': {
    means: 'The files hold no Kubernetes object, such as a chart that renders nothing. That is not an error.',
    example: { files: ['standard input'] },
    next: 'If there should be one, look at what writes the files.',
  },
  'passed-over': {
    means: 'A folder or a glob also stands for files without a Kubernetes object, such as the values of a chart.',
    example: { files },
    next: 'Nothing. A file that is named itself is never passed over.',
  },
  excluded: {
    means: '`--exclude` leaves these files and folders out.',
    example: { files: ['k8s/templates'] },
    next: 'Nothing, if that is what was meant.',
  },
  'templates-below': {
    means: 'Below the folder are Helm templates, which are not YAML before they are rendered.',
    next: 'Call it again with `--exclude templates`, or pipe in what `helm template` renders.',
  },
  'sidecars-nowhere': {
    means: 'What `--sidecars` would try has no effect: no container has one of these names.',
    example: { sidecars: 'istoi-proxy' },
    next: 'Correct the names.',
  },
  'nothing-to-suggest': {
    means: '`--suggest` adds annotations to pods without any that have a well-known sidecar, and none of these is one.',
    next: 'Write the annotation yourself: docs/annotations.md.',
  },
}
