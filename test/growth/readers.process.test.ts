import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CoreV1Event } from '@kubernetes/client-node'
import { seenPod, type WirePod } from '../../rollouts/seen-pod.ts'
import { configurationKeys } from '../../src/configuration/keys.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { readManifests } from '../../src/preview/manifests.ts'
import { createSurveyor } from '../../src/scan/survey.ts'
import { createLedger } from '../../src/starts/ledger.ts'
import { createGraves, createKubelets } from '../../src/starts/memory.ts'
import { timelineOf } from '../../src/timeline/timeline.ts'
import { recordedPod } from '../outcome/recorded.ts'
import { seenOf } from '../outcome/seen.ts'
import { costly, share } from '../runs.ts'
import { cpu, Judge, sizeOf } from './cost.ts'
import { type Field, fieldsOf, get, item, put, type Way } from './fields.ts'

type Recorded = ReturnType<typeof recordedPod>

const times = Number(process.env.GROWTH ?? 1)
const units = ['x', '9', ' ', '\n', '/', ':', '@', '{', '}', '[', '"', ',', '.', '-', 'é', '$(A)']

/** ms for each byte of JSON that nobody wrote to hurt. */
const parsing = (() => {
  const text = JSON.stringify(Array.from({ length: 10_000 }, (_, at) => ({ name: `VARIABLE_${at}`, value: 'a value' })))
  return Math.min(...Array.from({ length: 10 }, () => cpu(() => JSON.parse(text)))) / text.length
})()

/** What a cluster shows of a pod: whoever writes a pod or an event chooses nearly all of it. */
const readers: Readonly<Record<string, (seen: Recorded) => void>> = {
  timeline: (seen) => timelineOf(seenOf(seen)),
  scan(recorded) {
    const surveyor = createSurveyor({ presets: [], version: '0', now: () => recorded.now })
    surveyor.add(recorded.pod, seenOf(recorded).events)
    surveyor.result()
  },
  starts({ pod, events, node, now }) {
    let clock = now
    const counted = { expected() {}, start() {}, omitted() {} }
    const ledger = createLedger({ now: () => clock, since: { until: 0, except: new Set() }, counted })
    ledger.pod(pod)
    ledger.events('Pod', 'coming')
    ledger.events('Node', 'coming')
    ledger.listed(new Set([pod.metadata?.uid ?? '']))
    const { uid, name } = pod.metadata ?? {}
    for (const event of [...(events ?? []), ...(node ?? [])]) {
      ledger.event({ ...event, involvedObject: { ...event.involvedObject, uid, name } } as CoreV1Event)
    }
    clock += 600_000
    ledger.tick()
  },
  rollouts({ pod, now }) {
    const first = seenPod(pod as unknown as WirePod, undefined, now)
    seenPod(pod as unknown as WirePod, first, now + 1000)
  },
}

const all = Object.entries(readers).flatMap(([reader, read]) =>
  ['crash-loop-later', 'continued'].map((recorded) => [reader, read, recorded] as const),
)
for (const [reader, read, recorded] of share(all)) {
  test(
    `${reader}: what it reads of pods and events costs what its size deserves, from those of ${recorded} on`,
    costly,
    () => {
      const judge = new Judge(
        (input) => ignoringTypes(() => read(input as Recorded)),
        (bytes) => parsing * bytes,
      )
      const seed = recordedPod(recorded)
      for (const field of share(fieldsOf((input) => read(input as Recorded), seed))) {
        for (const { name, fill } of contentsOf(field, seed)) {
          const make = (n: number) => put(seed, field.way, fill(n))
          judge.judge(
            { name: `${reader}: ${field.way.join('.')} ${name}`, make, bytes: (n) => sizeOf(fill(n)) + 10_000 },
            sizeFor(field),
          )
        }
      }
      assert.deepEqual(judge.excesses, [])
      assert.ok(judge.read > 5, `${judge.read} cases`)
    },
  )
}

/** The API server has checked the types of what a cluster shows, so these readers rely on them. */
function ignoringTypes(read: () => void): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error
  }
}

const sizeFor = ({ form }: Field) => (form === 'value' ? 100_000 : 1500) * times

function contentsOf({ way, form }: Field, seed: unknown): readonly { name: string; fill: (n: number) => unknown }[] {
  if (way.some((_, at) => at > 0 && typeof get(seed, way.slice(0, at)) === 'string')) return []
  // What is a text to the API server isn't anything else here.
  const known: Field['form'] = typeof get(seed, way) === 'string' ? 'value' : form
  switch (known) {
    case 'value':
      return units.map((unit) => ({ name: JSON.stringify(unit), fill: (n) => unit.repeat(n / unit.length) }))
    case 'list': {
      const own = get(seed, [...way, item])
      const items: readonly ((at: number) => unknown)[] = [
        () => own ?? {},
        (at) => (typeof own === 'object' ? { ...own, name: `k${at}` } : `k${at}`),
        (at) => renamed(own, way, at),
      ]
      return items.map((make, at) => ({
        name: `items ${at}`,
        fill: (n) => Array.from({ length: n }, (_, at) => make(at)),
      }))
    }
    case 'map':
    case 'open':
      return known === 'map'
        ? []
        : ['k', 'sidecar-first.dev/', 'check.sidecar-first.dev/', 'rollout.sidecar-first.dev/'].map((key) => ({
            name: `{${key}…}`,
            fill: (n) => Object.fromEntries(Array.from({ length: n }, (_, at) => [`${key}${at}`, 'x'])),
          }))
    default:
      return known satisfies never
  }
}

/** An event of another container each, or a container with other words. */
function renamed(own: unknown, _way: Way, at: number): unknown {
  if (typeof own !== 'object' || own === null) return own ?? ''
  const fieldPath = `spec.containers{k${at}}`
  return { ...own, name: `k${at}`, image: `i${at}`, ...('involvedObject' in own && { involvedObject: { fieldPath } }) }
}

/** Whatever YAML and JSON have a sign for, over and over. */
const signs = [
  '[',
  ']',
  '{',
  '}',
  '{a: ',
  '[a,',
  '- ',
  '? ',
  ': ',
  'a: ',
  'a:\n ',
  '- a\n',
  '&a ',
  '*a ',
  '&a [*a, ',
  '|\n ',
  '>\n ',
  '!a ',
].concat([
  '%a\n',
  '#',
  '"',
  "'",
  '\\',
  '---\n',
  '...\n',
  '<<: ',
  '\t',
  '\r',
  '\uFEFF',
  ',',
  '{"a":',
  '{"a":1},',
  '"\\',
  '0',
  '[[],',
  '{{',
  '{{ x }}\n',
  '`',
  '@',
  'é',
])

test('manifests and configurations cost what their size deserves, whatever signs they are made of', costly, () => {
  // A parser of YAML takes some fifty times as long as that of JSON.
  const judge = new Judge(
    (text) => readManifests(text as string),
    (bytes) => 200 * parsing * bytes,
  )
  const configurations = new Judge(
    (text) => readConfiguration(text as string, '0'),
    (bytes) => 200 * parsing * bytes,
  )
  const n = 2000 * times
  for (const sign of share(share(signs))) {
    for (const [before, behind] of [
      ['', ''],
      ['a: ', '\n'],
      ['{"a":', '}'],
      ['a: "', '"\n'],
      ['rules: ', '\n'],
    ] as const) {
      const make = (n: number) => before + sign.repeat(n / sign.length) + behind
      judge.judge({ name: JSON.stringify(`${before}${sign}…${behind}`), make, bytes: (n) => n }, n, 'manifests')
      if (before === 'rules: ')
        configurations.judge(
          { name: `configuration ${JSON.stringify(`${before}${sign}…${behind}`)}`, make, bytes: (n) => n },
          n,
          'configuration',
        )
    }
  }
  const all = [...units, '*', '- x\n    ', 'x, ', '(?', '~']
  let turn = 0
  for (const [section, keys] of Object.entries(configurationKeys)) {
    for (const key of share(keys)) {
      turn += 5
      for (const unit of all.slice(turn % all.length).slice(0, times > 1 ? all.length : 4)) {
        const make = (n: number) => configurationOf(section, key, JSON.stringify(unit.repeat(n / unit.length)))
        configurations.judge({ name: `${section}.${key} ${unit}`, make, bytes: (n) => n }, n, 'configuration')
        const list = (n: number) =>
          configurationOf(section, key, `[${Array.from({ length: n / 4 }, () => JSON.stringify(unit))}]`)
        configurations.judge(
          { name: `${section}.${key} [${unit}]`, make: list, bytes: (n) => n * 2 },
          n,
          'configuration',
        )
      }
    }
  }
  const rules = (n: number) =>
    `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules:\n${Array.from({ length: n / 40 }, (_, at) => `- {name: r${at}, match: {container: "a*${at}"}, tier: 1}\n`).join('')}`
  configurations.judge({ name: 'rules', make: rules, bytes: (n) => n }, n)
  assert.deepEqual([...judge.excesses, ...configurations.excesses], [])
})

/** A configuration that has one value in one of its sections. */
function configurationOf(section: string, key: string, value: string): string {
  const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
  if (section === '') return `${head}${key}: ${value}\n`
  if (section === 'rules[]') return `${head}rules:\n- ${key}: ${value}\n`
  if (section === 'rules[].match') return `${head}rules:\n- match: {${key}: ${value}}\n  name: r\n  tier: 1\n`
  return `${head}${section}:\n  ${key}: ${value}\n`
}

test('whatever is remembered of pods and nodes that are gone, the oldest are forgotten at once', () => {
  const event = { container: undefined, says: undefined, message: '', at: 0, exact: true, last: undefined, host: 'n' }
  const graves = createGraves(() => 0)
  const kubelets = createKubelets()
  for (const [add, most] of [
    [(at: number) => graves.add(`${at}`), 20_000],
    [(at: number) => kubelets.started(`${at}`, event), 10_000],
  ] as const) {
    const fill = (from: number) =>
      cpu(() => {
        for (let at = 0; at < most; at++) add(from + at)
      })
    const first = fill(0)
    const later = Math.min(fill(most), fill(2 * most), fill(3 * most))
    assert.ok(later < 4 * first + 5, `${later} ms to add more, ${first} ms to add the first`)
  }
})
