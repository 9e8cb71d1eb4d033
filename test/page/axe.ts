import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe reports of a page. `evaluate`: gives the value of an expression there. */
export async function violations(evaluate: (expression: string) => Promise<unknown>): Promise<string[]> {
  await evaluate(`(() => { ${axe}\n })()`)
  const { violations } = (await evaluate(
    'axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]})',
  )) as AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  )
}
