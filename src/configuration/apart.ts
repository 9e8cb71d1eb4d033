import { Worker } from 'node:worker_threads'
import type { Rule } from '../admission/intent/rule.ts'
import type { RuleIndex } from '../admission/intent/rule-index.ts'
import type { ReadConfiguration } from './read.ts'

/** What the thread gets. */
export interface Sent {
  readonly text: string
  readonly version: string
}

/** What the thread answers, in parts: receiving a large configuration in one piece would hold up admissions. The last one has the rest. */
export type Part =
  | { readonly rules: readonly Rule[] }
  | { readonly index: Partial<RuleIndex> }
  | { readonly outcome: ReadConfiguration }

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
      if ('rules' in part) rules.push(...part.rules)
      else if ('index' in part) index = { ...index, ...part.index }
      else if (!part.outcome.ok) resolve(part.outcome)
      else {
        const configuration = { ...part.outcome.configuration, rules: { ...index, rules } as RuleIndex }
        resolve({ ...part.outcome, configuration })
      }
    })
  })
}

/** Beside this file, under the name that scripts/bundle.ts gives it in the bundle. */
const script = (): URL =>
  new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './configuration-thread.mjs', import.meta.url)
