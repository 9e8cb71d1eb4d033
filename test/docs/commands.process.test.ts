import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { commands } from '../../src/commands.ts'
import { run } from '../cli/inside.ts'
import { paste } from '../cli/process.ts'
import { share } from '../runs.ts'
import { type Block, type Page, pages, programsOf, root, statementsOf } from './page.ts'

// Every command of ours in the docs' blocks of code is run, or, if it asks a cluster, called as far as that. What the page shows as printed has to
// be printed; UPDATE_GOLDEN=1 writes it again.

const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-docs-'))
after(() => rm(folder, { recursive: true }))
process.env.KUBECONFIG = join(folder, 'none')

describe('what runs without a cluster', { concurrency: 4 }, () => {
  for (const page of share(pages)) {
    const runnable = page.blocks.filter((block) => statementsOf(block).some((each) => useOf(each) === 'runs'))
    if (runnable.length === 0) continue
    test(`${page.path}: its commands run, and print what it shows`, async () => {
      const place = await given(page)
      const stale: { shown: Block; printed: string }[] = []
      for (const block of runnable) {
        const statements = statementsOf(block)
        const script = statements.filter((each) => useOf(each) === 'runs').map(plain)
        const { code, stdout, stderr } = await paste(`${others}\n${script.join('\n')}`, place)
        assert.equal(code, 0, `${page.path}:${block.line}: ${stderr}`)
        const shown = statements.length === script.length ? shownAfter(page, block) : undefined
        if (shown !== undefined && !shows(stdout, shown.code)) stale.push({ shown, printed: stdout })
      }
      if (process.env.UPDATE_GOLDEN === '1' && stale.length > 0) await rewrite(page, stale)
      else for (const { shown, printed } of stale) assert.equal(shown.code, printed, `${page.path}:${shown.line}`)
    })
  }
})

describe('what asks a cluster', () => {
  for (const { path, blocks } of pages) {
    const calls = blocks.flatMap((block) =>
      statementsOf(block)
        .flatMap(programsOf)
        .filter(([program, ...words]) => program === 'sidecar-first' && !isOffline(words)),
    )
    if (calls.length === 0) continue
    test(`${path}: its commands are right calls`, async () => {
      for (const [, name = '', ...words] of calls) {
        const command = await commands[name]?.load()
        assert.ok(command, name)
        const { code, stderr } = await run(
          command,
          ...words.map((word) => word.replace('/NAME', '/name').replace(/^…$/, 'left-out')),
        )
        // Nothing was wrong until the kubeconfig was needed, which isn't there.
        assert.match(stderr, /SF014 the kubeconfig can't be read/, `${name} ${words.join(' ')}`)
        assert.equal(code, 1)
      }
    })
  }
})

test('every command and flag that a sentence names is there', async () => {
  const wrong: string[] = []
  for (const { path, prose } of pages) {
    for (const [, code = ''] of prose.matchAll(/`(sidecar-first [^`]*)`/g)) {
      for (const [program, name = '', ...words] of programsOf(code)) {
        if (program !== 'sidecar-first' || !/^[a-z]/.test(name)) continue
        const command = await commands[name]?.load()
        const flags = words.flatMap((word) => /^--([a-z][a-z-]*)/.exec(word)?.[1] ?? [])
        const known = flags.every((flag) => flag === 'help' || Object.hasOwn(command?.options ?? {}, flag))
        if (command === undefined || !known) wrong.push(`${path}: ${code}`)
      }
    }
  }
  assert.deepEqual(wrong, [])
})

/** A folder with the files that pages name without writing them. */
async function given({ path }: Page): Promise<string> {
  const place = join(folder, path.replaceAll('/', '-'))
  await mkdir(join(place, 'k8s'), { recursive: true })
  const suggested = join(root, 'test/admission/suggest/pods')
  const files = {
    'pod.yaml': example('README.md'),
    'k8s/pod.yaml': example('README.md'),
    'k8s/native.yaml': await readFile(join(suggested, 'istio-native.yaml'), 'utf8'),
    'deployment.yaml': await readFile(join(suggested, 'bookinfo-injected.yaml'), 'utf8'),
    'configuration.yaml': configuration,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(place, name), text)
  return place
}

/** Without what a cluster's own has to say, such as `waiter.image`: a page whose commands need that writes it. */
const configuration = `apiVersion: sidecar-first.dev/v1
kind: Configuration
kubernetesVersion: "1.34"
rules: [{name: mesh, match: {preset: istio}}]
`

/** The first YAML of a page. */
function example(path: string): string {
  const yaml = pages.find((page) => page.path === path)?.blocks.find(({ language }) => language === 'yaml')
  assert.ok(yaml, path)
  return yaml.code
}

/** What others print and read at both ends of a pipe with ours. */
const others = `
helm() { cat pod.yaml; }
oc() { cat >reviewed.yaml; }
kubectl() { case $1 in kustomize | annotate) cat pod.yaml ;; *) cat >applied.yaml ;; esac; }
`

/** Whether a statement of a page can run here. */
function useOf(statement: string): 'runs' | 'asks a cluster' | 'not ours' {
  const ours = programsOf(statement).filter(([program]) => program === 'sidecar-first')
  if (ours.length === 0) return /^(?:cat >|mkdir -p \w)/.test(statement) ? 'runs' : 'not ours'
  return ours.every(([, ...words]) => isOffline(words)) ? 'runs' : 'asks a cluster'
}

function isOffline([command = '', ...words]: readonly string[]): boolean {
  if (words.includes('--help') || command.startsWith('--')) return true
  switch (command) {
    case 'preview':
    case 'inject':
    case 'config':
    case 'explain':
    case 'completion':
      return true
    case 'install':
      return !words.includes('--apply')
    case 'scan':
      return words.includes('-f')
    case 'certs':
      return words[0] === 'issue'
    default:
      return false
  }
}

/** Without what only bash knows. */
const plain = (statement: string) => statement.replace(/^source <\((.*)\)$/, '$1 >completion')

/** The block that shows what the one before it prints. */
function shownAfter({ blocks }: Page, block: Block): Block | undefined {
  const next = blocks[blocks.indexOf(block) + 1]
  return next?.language === 'text' ? next : undefined
}

/** Whether a page shows what was printed, but for empty lines at the end. A last line `…` stands for the rest. */
const shows = (printed: string, shown: string) =>
  shown.endsWith('…\n') ? printed.startsWith(shown.slice(0, -2)) : printed.trimEnd() === shown.trimEnd()

/** Writes what was printed into a page; where a last `…` stands for the rest, what comes before the diff. */
async function rewrite({ path }: Page, stale: readonly { shown: Block; printed: string }[]): Promise<void> {
  const lines = (await readFile(join(root, path), 'utf8')).split('\n')
  for (const { shown, printed } of stale.toReversed()) {
    const text = shown.code.endsWith('…\n') ? printed.replace(/^--- .*/ms, '…\n') : printed
    lines.splice(shown.line - 1, shown.code.split('\n').length - 1, ...text.trimEnd().split('\n'))
  }
  await writeFile(join(root, path), lines.join('\n'))
}
