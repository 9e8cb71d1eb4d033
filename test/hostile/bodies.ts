import { expandingProbe, hostilePods, manyImages, reviewOf } from './pods.ts'

/** A body that somebody sends to do harm. */
export interface HostileBody {
  readonly name: string
  /** Made when it is wanted: together they would take a gigabyte. */
  readonly make: () => string | Uint8Array
  /** How often it is sent, one right after the other; once if absent. */
  readonly times?: number
  /** application/json if absent. */
  readonly contentType?: string
}

const kB = 1000
const MB = 1000 * kB
const MiB = 1024 * 1024

/** What a Kubernetes cluster can store, escaped as the API server escapes it. */
const mostBytes = 10 * MiB

const sized = (name: string, bytes: number): HostileBody => ({
  name: `${name}, ${bytes / kB} kB`,
  make: () => reviewOf(hostilePods[name]?.(bytes) ?? {}),
})
const padded = (length: number): string => {
  const start = `{"x":"`
  return `${start}${'x'.repeat(length - start.length - 2)}"}`
}
/** A review with some raw JSON in place of `spec.containers`. */
const containersText = (text: string): string =>
  reviewOf({
    metadata: { annotations: { 'sidecar-first.dev/sidecars': 'a' } },
    spec: { containers: 'HERE' },
  }).replace('"HERE"', () => text)
const review = reviewOf(hostilePods['one long name']?.(1) ?? {})

/** Those that ended a server, or held it up, when they were found. `bench:server` has what each costs. */
export const knownBodies: readonly HostileBody[] = [
  { name: 'probe, 10,000 × $(A) of 20,000: 200 MB', make: () => reviewOf(expandingProbe(10_000, 20_000)) },
  { name: 'probe, 100,000 × $(A) of 1,000: 100 MB', make: () => reviewOf(expandingProbe(100_000, 1000)) },
  { name: 'probe, 20,000 × $(A) of 1,000: 20 MB', make: () => reviewOf(expandingProbe(20_000, 1000)) },
  sized('sidecars that are not there', 450 * kB),
  sized('sidecars that are not there', 1450 * kB),
  sized('sidecars that are not there', 1950 * kB),
  { name: 'three million items in containers', make: () => containersText(`[${'0,'.repeat(3 * MB - 1)}0]`) },
  { name: 'seven megabytes of {}', make: () => `[${'{},'.repeat((7 * MB) / 3)}{}]`, times: 5 },
  {
    name: 'seven megabytes of {} as containers',
    make: () => containersText(`[${'{},'.repeat((6.9 * MB) / 3)}{}]`),
    times: 5,
  },
  sized('one tier of names', 3000 * kB),
  sized('one name over and over', 2000 * kB),
  sized('an exec check of quotes', 2400 * kB),
  sized('an exec check of words', 2400 * kB),
  sized('a probe of control characters', 4800 * kB),
  sized('a probe of empty words', 4800 * kB),
  sized('containers, all listed', 1540 * kB),
  sized('containers with checks, one tier each', 5250 * kB),
  sized('containers of one name', 7500 * kB),
  sized('tiers in reverse', 150 * kB),
  { name: '200 containers', make: () => reviewOf(manyImages(200)) },
]

/** Every hostile pod, each of about so many bytes. */
export const podBodies = (bytes: number): readonly HostileBody[] =>
  Object.keys(hostilePods).map((name) => sized(name, bytes))

/** Bodies that are no review, or an odd one. */
export const oddBodies: readonly HostileBody[] = [
  { name: 'broken JSON', make: () => '{"request":' },
  { name: 'broken JSON, 10 MB', make: () => `"${'x'.repeat(10 * MB)}` },
  { name: 'null', make: () => 'null' },
  { name: 'no body', make: () => '' },
  { name: 'not UTF-8', make: () => Buffer.from([0x22, 0xff, 0xfe, 0x22]) },
  { name: '10 MiB', make: () => padded(mostBytes) },
  { name: '10 MiB and a byte', make: () => padded(mostBytes + 1) },
  { name: 'another content type', make: () => review, contentType: 'text/plain' },
  { name: 'no request', make: () => '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}' },
  { name: 'v1beta1', make: () => review.replace('k8s.io/v1', 'k8s.io/v1beta1') },
  { name: 'a million levels of lists', make: () => '['.repeat(MB) + ']'.repeat(MB) },
  { name: 'a million levels of maps', make: () => `${'{"a":'.repeat(MB)}1${'}'.repeat(MB)}` },
  { name: 'a million levels, and no end', make: () => '['.repeat(10 * MB) },
  { name: '100,000 levels in a pod', make: () => containersText('['.repeat(100 * kB) + ']'.repeat(100 * kB)) },
  {
    name: 'a million keys',
    make: () => `{${Array.from({ length: MB }, (_, index) => `"${index.toString(36)}":1`).join(',')}}`,
  },
  { name: 'one key, a million times', make: () => `{${'"a":1,'.repeat(MB)}"a":1}` },
  { name: 'a number of ten million digits', make: () => '9'.repeat(10 * MB) },
  { name: 'a text of escapes', make: () => `"${'\\u0041'.repeat(1.6 * MB)}"` },
  { name: 'ten megabytes of space', make: () => ' '.repeat(10 * MB) },
  { name: 'the commas alone', make: () => `[${','.repeat(10 * MB - 2)}]` },
]
