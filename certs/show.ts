import { drawChart, legend } from '../src/terminal/chart.ts'
import type { Look } from '../src/terminal/look.ts'
import type { Phase } from './decide-step.ts'
import { type Life, left, lifeBars } from './life-bars.ts'
import { type CertificateProblem, problemText } from './problems.ts'

/** What `certs status` and `check` are about. */
export interface Status {
  readonly phase: Phase | 'kept by cert-manager'
  readonly now: number
  readonly lives: readonly Life[]
  readonly trusting: readonly {
    readonly configuration: string
    /** How many its webhooks trust; if they differ, the fewest. */
    readonly authorities: number
    readonly differs: boolean
  }[]
  readonly served: readonly {
    readonly endpoint: string
    readonly serves: 'our-leaf' | 'another-leaf' | 'nothing'
    readonly remaining?: number
  }[]
  /** What is wrong; empty if nothing is. */
  readonly problems: readonly CertificateProblem[]
}

/** What `certs status` prints. */
export function statusText({ phase, now, lives, trusting, served, problems }: Status, look: Look): string {
  const { bars, from } = lifeBars(lives, now)
  const date = (time: number) => new Date(from + time).toISOString().slice(0, 10)
  const chart = lives.length === 0 ? '' : `${drawChart(bars, look, date)}\n${legend(bars, look)}\n`
  const trust = trusting.map(({ configuration, authorities, differs }) => {
    const count = `${authorities} ${authorities === 1 ? 'CA' : 'CAs'}`
    return `${configuration}: ${count}${differs ? ', not those that it should' : ''}`
  })
  const serving = served.map(({ endpoint, serves, remaining }) => {
    const what = { 'our-leaf': "the Secret's leaf", 'another-leaf': 'another leaf', nothing: 'no answer' }[serves]
    return `${endpoint}: ${what}${remaining === undefined ? '' : `, ${left(remaining)}`}`
  })
  const wrong = problems.length === 0 ? '' : `\n${section('Wrong', problems.map(problemText))}`
  return `Phase: ${phase}\n\n${chart}${section('Trusted by', trust)}\n${section('Served by', serving)}${wrong}`
}

const section = (title: string, lines: readonly string[]): string =>
  `${title}\n${(lines.length === 0 ? ['nobody'] : lines).map((line) => `  ${line}\n`).join('')}`
