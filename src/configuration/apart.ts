import { Worker } from 'node:worker_threads'
import type { Configuration } from '../admission/intent/configuration.ts'
import type { Rule } from '../admission/intent/rule.ts'
import type { RuleIndex } from '../admission/intent/rule-index.ts'
import type { Remark } from './faults.ts'
import type { ReadConfiguration } from './read.ts'

/** What the thread gets. */
export interface Sent {
  readonly text: string
  readonly version: string
}

/** What the thread answers, in parts: receiving a large configuration in one piece would hold up admissions. */
export type Part =
  | { readonly kind: 'problems'; readonly problems: readonly Remark[] }
  | { readonly kind: 'rules'; readonly rules: readonly Rule[] }
  | { readonly kind: 'index'; readonly index: Partial<RuleIndex> }
  | {
      readonly kind: 'end'
      readonly configuration: Omit<Configuration, 'rules'>
      readonly notices: readonly Remark[]
    }

/** Like `readConfiguration`, in a separate thread. Rejects if the thread can't run or runs out of memory. */
export function readApart(text: string, version: string): Promise<ReadConfiguration> {
  return new Promise((resolve, reject) => {
    const rules: Rule[] = []
    let index: Partial<RuleIndex> = {}
    const workerData: Sent = { text, version }
    const thread = new Worker(script(), { workerData })
    thread.on('error', reject)
    thread.on('exit', (code) => reject(new Error(`the thread that reads the configuration ended with ${code}`)))
    thread.on('message', (part: Part) => {
      switch (part.kind) {
        case 'problems':
          return resolve({ ok: false, problems: part.problems })
        case 'rules':
          rules.push(...part.rules)
          return
        case 'index':
          index = { ...index, ...part.index }
          return
        case 'end': {
          const configuration = { ...part.configuration, rules: { ...index, rules } as RuleIndex }
          return resolve({ ok: true, configuration, notices: part.notices })
        }
        default:
          part satisfies never
      }
    })
  })
}

/** Beside this file, under the name that scripts/bundle.ts gives it in the bundle. */
const script = (): URL =>
  new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './configuration-thread.mjs', import.meta.url)
