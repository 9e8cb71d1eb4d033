/** What all benchmarks do with what they have measured. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}

export const median = (values: readonly number[]): number => percentile(values, 50)

/** To two places, as a table shows it. */
export const rounded = (value: number): number => Math.round(value * 100) / 100

/** Writes raw runs to bench/results/NAME.json. */
export function keep(name: string, results: object): void {
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(results, undefined, 1)}\n`)
}
