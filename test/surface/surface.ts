import { globSync } from 'node:fs'
import { join } from 'node:path'
import { certsMetrics as certs } from '../../certs/metrics.ts'
import { rolloutsMetrics as rollouts } from '../../rollouts/controller/metrics.ts'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { keys, perContainer } from '../../src/admission/words/keys.ts'
import { jsonReport } from '../../src/check/report.ts'
import { configurationKeys } from '../../src/configuration/keys.ts'
import { objectKeys, objectNames } from '../../src/kubernetes/names.ts'
import openapi from '../../src/preview/openapi.json' with { type: 'json' }
import { createInFlight } from '../../src/server/in-flight.ts'
import { serverMetrics as server } from '../../src/server/metrics.ts'
import type { Serving } from '../../src/server/serving.ts'
import { createTallies } from '../../src/server/tally.ts'
import { startsMetrics as starts } from '../../src/starts/metrics.ts'
import type { Command } from '../../src/terminal/command.ts'

const root = join(import.meta.dirname, '../..')

/** All that docs/compatibility.md calls stable and that has a name, one a line. */
export async function surface(): Promise<readonly string[]> {
  const lines = [
    ...Object.values(keys).map((key) => `annotation ${key}`),
    ...Object.values(perContainer).map((key) => `annotation ${key}CONTAINER`),
    ...[objectKeys.injection, objectKeys.rotate].map((key) => `label or annotation ${key}`),
    ...Object.values(objectNames).map((name) => `object ${name}`),
    ...Object.entries(configurationKeys).flatMap(([object, names]) =>
      names.map((name) => `configuration ${object === '' ? name : `${object}.${name}`}`),
    ),
    ...[0, 1, 2].map((code) => `exit code ${code}`),
    ...fieldsOf(openapi.components.schemas).map((field) => `preview ${field}`),
    ...Object.keys(JSON.parse(jsonReport(sample)).findings[0]).map((field) => `check -o json findings[].${field}`),
    ...(await metrics()).map((name) => `metric ${name}`),
    ...(await flags()),
  ]
  return [...new Set(lines)].toSorted()
}

const sample = [
  {
    name: 'x',
    findings: [{ code: 'SF501', level: 'problem', text: 'x', path: 'x', next: 'x' } as const],
  },
] as unknown as Parameters<typeof jsonReport>[0]

/** `Decision.verdict` */
function fieldsOf(schemas: object): string[] {
  return Object.entries(schemas).flatMap(([name, { properties = {} }]) =>
    Object.keys(properties).map((property) => `${name}.${property}`),
  )
}

/** `sidecar_first_starts_total`, and for each label `sidecar_first_starts_total{gate}`: of all that the processes register. */
async function metrics(): Promise<string[]> {
  const steady = () => 0
  const registries = [
    certs(steady).registry,
    rollouts(steady).registry,
    starts({ namespaces: true, steady, scraped: steady }).registry,
  ]
  const registered = registries.flatMap((registry) =>
    (registry.getMetricsAsArray() as unknown as readonly { name: string; labelNames: readonly string[] }[]).flatMap(
      ({ name, labelNames }) => [name, ...labelNames.map((label) => `${name}{${label}}`)],
    ),
  )
  return [...registered, ...(await served())].filter((name) => name.startsWith('sidecar_first_'))
}

/** Of the server, which shows every series from its start. */
async function served(): Promise<string[]> {
  const text = await server({
    tallies: createTallies(),
    inFlight: createInFlight({ requests: 1, bytes: 1 }),
    connections: { watch() {}, busy: () => true, count: () => 0 },
    certificate: { leaf: { validToDate: new Date(0) } },
    configuration: { hash: '', current: defaultConfiguration('') },
  } as unknown as Serving).text()
  const families = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
  return families.flatMap((name) => {
    const series = [...text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.+)\\}`, 'gm'))]
    const labels = series.flatMap(([, found = '']) => [...found.matchAll(/([a-z]+)="/g)].map(([, label]) => label))
    return [name, ...labels.filter((label) => label !== 'le').map((label) => `${name}{${label}}`)]
  })
}

/** Those that a command's help names. */
async function flags(): Promise<string[]> {
  const lines: string[] = []
  for (const file of globSync('src/cli/*.ts', { cwd: root })) {
    const exported = Object.values((await import(join(root, file))) as Record<string, unknown>)
    for (const each of exported) {
      const { help } = (each ?? {}) as Partial<Command>
      const [, name] = /^Usage: sidecar-first ([a-z]+)/m.exec(help ?? '') ?? []
      if (help === undefined || name === undefined) continue
      const named = [...help.matchAll(/(?<=^|[\s,[(])--[a-z][a-z-]*/gm)].map(([flag]) => `command ${name} ${flag}`)
      lines.push(`command ${name}`, ...named)
    }
  }
  return lines
}

/** Names of a release that are gone, but for those that a page says were taken away after having been deprecated. */
export function lost(released: readonly string[], now: readonly string[], page: string): readonly string[] {
  const there = new Set(now)
  const [, removed = ''] = /^## Removed\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(page) ?? []
  const announced = new Set([...removed.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name))
  return released.filter((name) => !there.has(name) && !announced.has(name))
}
