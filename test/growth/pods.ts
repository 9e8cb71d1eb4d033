import { type CheckKind, checkKinds } from '../../src/admission/check/grammar.ts'
import { decide } from '../../src/admission/decide.ts'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { readMetadata, readSpec } from '../../src/admission/pod/read.ts'
import {
  deliveries,
  ends,
  existingHooks,
  gates,
  locks,
  nativePositions,
  startupProbeChoices,
  timeoutActions,
} from '../../src/admission/words/choices.ts'
import type { Json } from '../../src/admission/words/json.ts'
import { keys, perContainer } from '../../src/admission/words/keys.ts'
import type { Shape } from '../../src/admission/words/messages.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { applyPatch } from '../../src/preview/patch.ts'
import { covering } from './cover.ts'
import { get, item, put, type Way } from './fields.ts'

interface Pod {
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> }
  readonly spec: { readonly containers: readonly Named[]; readonly initContainers: readonly Named[] }
}
interface Named {
  readonly name: string
}

const app = { name: 'app', image: 'example/app:1' }
const sidecar = (name: string) => ({
  name,
  image: 'example/s:1',
  ports: [{ name: 'p', containerPort: 1 }],
  env: [{ name: 'A', value: 'x' }],
  readinessProbe: { tcpSocket: { port: 'p' } },
})
const native = { name: 'n', image: 'example/n:1', restartPolicy: 'Always', startupProbe: { tcpSocket: { port: 1 } } }
const init = { name: 'i', image: 'example/i:1' }
/** Where a field is to be filled in many of them. */
export const manySidecars: readonly Named[] = Array.from({ length: 8 }, (_, at) => sidecar(`s${at}`))

/** An app and sidecars among the regular containers, a job and a sidecar among the others. */
function podOf(containers: readonly Named[], annotations: Readonly<Record<string, string>>): Pod {
  return { metadata: { name: 'web', annotations }, spec: { containers, initContainers: [init, native] } }
}

/** As the API server asks about a pod. */
export function reviewOf(object: unknown): unknown {
  const request = { uid: 'u', kind: { group: '', kind: 'Pod' }, namespace: 'd', operation: 'CREATE', object }
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
}

const checks: Readonly<Record<CheckKind, string>> = {
  probe: 'probe',
  none: 'none',
  http: 'http://:1/',
  https: 'https://:p/',
  tcp: 'tcp://:1',
  grpc: 'grpc://:1',
  unix: 'unix:///x',
  file: 'file:///x',
  exec: 'exec:["x","$(A)"]',
  hook: 'hook:["x"]',
}

/** What each annotation may say; undefined: nothing. */
const said: Readonly<
  Record<Exclude<keyof typeof keys, 'inject' | 'ignore' | 'status' | 'sets'>, readonly (string | undefined)[]>
> = {
  sidecars: ['s', 'n,s', 's+n', '*'],
  timeout: [undefined, '5s'],
  onTimeout: [undefined, ...timeoutActions],
  gate: [undefined, ...gates],
  nativePosition: [undefined, ...nativePositions],
  existingHook: [undefined, ...existingHooks],
  startupProbe: [undefined, ...startupProbeChoices],
  waiter: [undefined, ...deliveries],
  lock: [undefined, ...locks],
  lockRestarts: [undefined, '0s', 'always'],
  end: [undefined, ...ends],
  endAppear: [undefined, '2s'],
}
const names = Object.keys(said) as (keyof typeof said)[]

const rules = {
  none: '',
  enforced: 'rules: [{name: e, match: {container: "s*"}, tier: 1, enforce: true, lock: "on"}]',
  plain: 'rules: [{name: r, match: {container: "*", image: "*example/*"}, tier: 1}]',
}

const configurations: readonly Configuration[] = Object.values(rules).map((text) => {
  const read = readConfiguration(
    `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nkubernetesVersion: "1.36"\n${text}\n`,
    '0.0.0-test',
  )
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.configuration
})

/** What is around a field: what the pod's annotations and the rules say. */
export interface Context {
  readonly name: string
  readonly annotations: Readonly<Record<string, string>>
  readonly configuration: Configuration
  /** What the field's part of its container has beside it is left out. */
  readonly alone: boolean
}

const settings = [...names.map((name) => said[name].length), configurations.length, 2]

function contextOf(row: readonly number[], check: string | undefined): Context {
  const entries = names.flatMap((name, at): [string, string][] => {
    const value = said[name][row[at] ?? 0]
    return value === undefined ? [] : [[keys[name], value]]
  })
  if (check !== undefined) entries.push([`${perContainer.check}s`, check], [`${perContainer.check}n`, check])
  const rule = row[names.length] ?? 0
  const alone = row[names.length + 1] === 1
  const annotations = Object.fromEntries(entries)
  const configuration = configurations[rule]
  if (configuration === undefined) throw new Error('no such configuration')
  const shown = entries.map(([key, value]) => `${key.replace('sidecar-first.dev/', '')}=${value}`)
  const name = `${shown.join(' ')} rules=${Object.keys(rules)[rule]}${alone ? ' alone' : ''}`
  return { name, annotations, configuration, alone }
}

interface Crossing {
  readonly content: number
  readonly context: Context
}

/** Each content in each setting, and each kind of check in each setting. */
export function* crossed(contents: number): Generator<Crossing> {
  for (const [content = 0, ...row] of covering([contents, ...settings], 2)) {
    yield { content, context: contextOf(row, undefined) }
  }
  for (const [at, [check = 0, ...row]] of covering([checkKinds.length, ...settings], 2).entries()) {
    yield { content: at % contents, context: contextOf(row, checks[checkKinds[check] ?? 'probe']) }
  }
}

/**
 * So many contents, in another setting each: the fields and places that are alike see all contents together, and each two settings.
 * @param from which of them begins
 */
export function* sampled(contents: number, most: number, from: number): Generator<Crossing> {
  const rows = covering(settings, 2)
  const others = covering([checkKinds.length, ...settings], 2)
  for (let at = 0; at < Math.min(contents, most); at++) {
    const next = from + at
    const content = next % contents
    const [check = 0, ...row] = others[next % others.length] ?? []
    yield next % 2 === 0
      ? { content, context: contextOf(rows[(next >> 1) % rows.length] ?? [], undefined) }
      : { content, context: contextOf(row, checks[checkKinds[check] ?? 'probe']) }
  }
}

/** A pod with a value at a way: of the lists of containers, in the one at a place. */
export function podWith(way: Way, value: unknown, at: number, { annotations, alone }: Context): unknown {
  return filled(podOf([app, sidecar('s')], annotations), way, value, at, alone)
}

/** The same in each of many sidecars. */
export function podWithAll(way: Way, value: unknown, { annotations, alone }: Context): unknown {
  const sidecars = manySidecars.map((one) => {
    const [filledOne] = (filled(podOf([one], annotations), way, value, 0, alone) as Pod).spec.containers
    return filledOne ?? one
  })
  const listed = { [keys.sidecars]: manySidecars.map(({ name }) => name).join(',') }
  return podOf([app, ...sidecars], { ...annotations, ...listed })
}

function filled(pod: Pod, way: Way, value: unknown, at: number, alone: boolean): unknown {
  // As in `spec containers * readinessProbe`: what is below it is read instead of what the pod has there.
  const part = way.slice(0, 4)
  const before = alone && way.length > 4 && way[2] === item ? put(pod, part, {}, at) : pod
  return completed(put(before, way, value, at), before, way, at)
}

/** What a reader misses beside a field, so that it goes on to the field. */
const examples: Readonly<Record<Shape, unknown>> = {
  map: {},
  list: [],
  text: 'x',
  number: 1,
  port: 1,
  command: ['x'],
  containers: [app],
  quantities: {},
  hook: { exec: { command: ['x'] } },
  scheme: 'HTTP',
  boolean: 'true',
  reviewVersion: 'admission.k8s.io/v1',
  review: 'AdmissionReview',
}

/** Which fields are missed doesn't depend on how large one is. */
function completed(whole: unknown, before: unknown, way: Way, at: number): unknown {
  const key = `${way.join(' ')} ${at} ${JSON.stringify(get(before, way.slice(0, 4)))}`
  let missing = missed.get(key)
  if (missing === undefined) {
    missing = missingBeside(put(before, way, get(whole, way), at), way)
    missed.set(key, missing)
  }
  return missing.reduce((done: unknown, [place, value]) => put(done, place, value, at), whole)
}
const missed = new Map<string, readonly (readonly [Way, unknown])[]>()

function missingBeside(whole: unknown, way: Way): readonly (readonly [Way, unknown])[] {
  const found: [Way, unknown][] = []
  for (const read of [readMetadata(whole), readSpec(whole)]) {
    for (const problem of read.ok ? [] : read.problems) {
      if (problem.kind !== 'unexpected-value' || problem.path === undefined) continue
      const place = problem.path.replaceAll(/\[\d+\]/g, '.*').split('.')
      if (place.join(' ') !== way.join(' ')) found.push([place, examples[problem.expected]])
    }
  }
  return found
}

/** What we write into pods, by the way of each list. */
export function oursIn(): ReadonlyMap<string, readonly unknown[]> {
  const found = new Map<string, Map<string, unknown>>()
  const hooked = { ...sidecar('s'), lifecycle: { postStart: { exec: { command: ['x', 'y'] } } } }
  for (const { context } of crossed(1)) {
    for (const one of [sidecar('s'), hooked]) {
      const pod = podOf([app, one], context.annotations)
      const decision = decide(pod, context.configuration)
      if (decision.verdict === 'patched') collect(applyPatch(pod as unknown as Json, decision.patch), [], found)
    }
  }
  return new Map([...found].map(([way, items]) => [way, [...items.values()]]))
}

function collect(value: unknown, way: Way, found: Map<string, Map<string, unknown>>): void {
  if (Array.isArray(value)) {
    const items = found.get(way.join(' ')) ?? new Map()
    found.set(way.join(' '), items)
    const isText = value.every((one) => typeof one === 'string')
    for (const one of isText ? [value] : value) {
      const shape = (isText ? value.slice(0, 4).join() : JSON.stringify(one)).replaceAll(/\d+/g, '0').slice(0, 120)
      if (items.size < mostOfOurs && !items.has(shape)) items.set(shape, one)
    }
    for (const one of value) collect(one, [...way, item], found)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, one] of Object.entries(value)) collect(one, [...way, key], found)
  }
}
const mostOfOurs = 12
