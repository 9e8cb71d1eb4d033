/**
 * Changes the pure core in one place at a time, and tells which changes no test notices. By hand, since it takes a while.
 *
 *     npm run mutate -- [--sample N] [--seed N] [--jobs N] [FILE…]    FILE: below src/admission; all of it if none is given
 *
 * A mutant is first held against the core's own tests with properties tried a tenth as often, and if it survives, against all tests that
 * start no process. What survives deserves a test, or a reason why it can't be noticed. Exit code 0, whatever the score.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { run } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { type AnyNode, parse } from 'acorn'

interface Mutant {
  readonly file: string
  readonly start: number
  readonly end: number
  readonly text: string
}
type Fate = 'killed' | 'survived' | 'timeout'

const root = fileURLToPath(new URL('..', import.meta.url))
const strip = (file: string) => stripTypeScriptTypes(readFileSync(join(root, file), 'utf8'))
const find = (...patterns: string[]) => patterns.flatMap((pattern) => globSync(pattern, { cwd: root })).sort()
const apply = (source: string, { start, end, text }: Mutant) => source.slice(0, start) + text + source.slice(end)

/** In a process of its own: the tests, up to the first that fails. */
async function test(mutant: Mutant, suite: string): Promise<void> {
  const url = pathToFileURL(join(root, mutant.file)).href
  registerHooks({
    load: (asked, context, next) =>
      asked === url
        ? { format: 'module', source: apply(strip(mutant.file), mutant), shortCircuit: true }
        : next(asked, context),
  })
  await import('../test/seed.ts')
  const own = find('test/admission/**/*.test.ts')
  const others = find('test/{configuration,webhooks,preview,install}/**/*.test.ts')
  const files = (suite === 'own' ? own : [...own, ...others]).filter((file) => !file.endsWith('.process.test.ts'))
  run({ files: files.map((file) => join(root, file)), isolation: 'none' })
    .on('test:fail', () => process.exit(1))
    .on('end', () => process.exit(0))
    .resume()
}

async function judge(mutant: Mutant, suite: 'own' | 'all', timeout: number): Promise<Fate> {
  const env = {
    ...process.env,
    NODE_NO_WARNINGS: '1',
    MUTANT: JSON.stringify(mutant),
    MUTANT_SUITE: suite,
    TEST_RUNS: suite === 'own' ? '0.1' : '1',
    CI: '1',
  }
  const how = { env, stdio: 'ignore', timeout: Math.ceil(timeout), killSignal: 'SIGKILL' } as const
  const [code] = await once(spawn(process.execPath, [fileURLToPath(import.meta.url)], how), 'exit')
  return code === null ? 'timeout' : code === 0 ? 'survived' : 'killed'
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sample: { type: 'string', default: '0' },
      seed: { type: 'string', default: '1' },
      jobs: { type: 'string', default: '2' },
    },
  })
  const files = positionals.length > 0 ? positionals : find('src/admission/**/*.ts')
  const mutants = files.flatMap((file) => mutantsOf(file, strip(file)))
  const unchanged = { file: files[0] ?? '', start: 0, end: 0, text: '' }
  const began = performance.now()
  if ((await judge(unchanged, 'all', 2 ** 31 - 1)) !== 'survived') throw new Error('the tests fail without a mutant')
  // Generous: this only ends what never ends.
  const limit = 10 * (performance.now() - began)
  const chosen = pick(mutants, Number(values.sample) || mutants.length, Number(values.seed))
  console.log(`${chosen.length} of ${mutants.length} mutants in ${files.length} files`)

  const queue = chosen.values()
  const fates: Fate[] = []
  function report(): never {
    const count = (fate: Fate) => fates.filter((each) => each === fate).length
    const score = ((100 * (fates.length - count('survived'))) / fates.length).toFixed(1)
    console.log(
      `${score} % of ${fates.length} noticed: ${count('killed')} by a test, ${count('timeout')} never ended; ${count('survived')} survived`,
    )
    process.exit(0)
  }
  // What has been found out until then.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, report)
  const work = async () => {
    for (const mutant of queue) {
      const own = await judge(mutant, 'own', limit)
      const fate = own === 'survived' ? await judge(mutant, 'all', limit) : own
      fates.push(fate)
      if (fate !== 'killed') console.log(`${fate.padEnd(8)}  ${describe(mutant)}`)
    }
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, work))
  report()
}

/** Spread over all files; another seed takes others. */
function pick(mutants: readonly Mutant[], count: number, seed: number): readonly Mutant[] {
  const step = mutants.length / count
  return Array.from({ length: count }, (_, index) => mutants[Math.floor(index * step + (seed % step))] ?? []).flat()
}

function describe({ file, start, end, text }: Mutant): string {
  const source = readFileSync(join(root, file), 'utf8')
  const line = source.slice(0, start).split('\n').length
  return `${file}:${line}  ${source.slice(start, end).replaceAll(/\s+/g, ' ')}  →  ${text}`
}

const swapped: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&&': '||',
  '||': '&&',
}

/** Types are stripped to blanks, so places are those of the source. */
function mutantsOf(file: string, source: string): Mutant[] {
  const mutants: Mutant[] = []
  const put = (start: number, end: number, text: string) => void mutants.push({ file, start, end, text })
  const replace = ({ start, end }: AnyNode, text: string) => put(start, end, text)
  const textOf = ({ start, end }: AnyNode) => source.slice(start, end)
  function walk(node: AnyNode): void {
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportAllDeclaration':
        return
      case 'BinaryExpression':
      case 'LogicalExpression': {
        const { left, right, operator } = node
        const to = swapped[operator]
        const at = source.indexOf(operator, left.end)
        if (to !== undefined) put(at, at + operator.length, to)
        else if (operator === '??') replace(node, textOf(right))
        break
      }
      case 'IfStatement':
      case 'ConditionalExpression':
        for (const to of ['true', 'false']) replace(node.test, to)
        break
      case 'UnaryExpression':
        if (node.operator === '!') replace(node, textOf(node.argument))
        break
      case 'Literal':
        if (typeof node.value === 'boolean') replace(node, String(!node.value))
        else if (typeof node.value === 'number') replace(node, String(node.value + 1))
        else if (typeof node.value === 'string' && node.value !== '') replace(node, "''")
        break
      case 'ArrayExpression':
        if (node.elements.length > 0) replace(node, '[]')
        break
      default:
    }
    for (const [key, child] of Object.entries(node)) {
      // The name of a property, or of a module.
      if ((key === 'key' && 'computed' in node && !node.computed) || key === 'source') continue
      for (const each of Array.isArray(child) ? child : [child]) if (isNode(each)) walk(each)
    }
  }
  walk(parse(source, { ecmaVersion: 'latest', sourceType: 'module' }))
  return mutants
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

const suite = process.env.MUTANT_SUITE
if (suite === undefined) await main()
else await test(JSON.parse(process.env.MUTANT ?? ''), suite)
