import assert from 'node:assert/strict'
import { existsSync, globSync } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const pages = globSync(['*.md', '.github/**/*.md', 'docs/**/*.md'], { cwd: root })

/** The anchors that GitHub gives a page's headings. */
async function anchorsOf(file: string): Promise<ReadonlySet<string>> {
  const text = (await readFile(file, 'utf8')).replace(/^```.*?^```/gms, '')
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Why a link leads nowhere, if it does. */
async function broken(page: string, link: string): Promise<string | undefined> {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? join(root, page) : join(root, dirname(page), path)
  const exists = await access(target).then(
    () => true,
    () => false,
  )
  if (!exists) return `${page}: ${link} doesn't exist`
  if (anchor === undefined || !target.endsWith('.md') || (await anchorsOf(target)).has(anchor)) return undefined
  return `${page}: ${relative(root, target)} has no heading for #${anchor}`
}

test('every link and picture in the docs leads somewhere', async () => {
  const problems: (string | undefined)[] = []
  for (const page of pages) {
    const text = await readFile(join(root, page), 'utf8')
    for (const [, link = ''] of text.matchAll(/(?:\]\(|src(?:set)?=")([^)"\s]+)/g)) {
      if (!/^https?:/.test(link)) problems.push(await broken(page, link))
    }
  }
  assert.deepEqual(
    problems.filter((problem) => problem !== undefined),
    [],
  )
})

test('every file and folder that the map of the house names is there', async () => {
  const text = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8')
  const named = text.matchAll(
    /(?<![\w.~/-])(?:src|certs|rollouts|waiter|test|scripts|docs|manifests|images|bench)\/[\w./-]*/g,
  )
  const missing = [...named].map(([path]) => path).filter((path) => !existsSync(join(root, path)))
  // The first of several, as in test/cluster-{certs,webhooks}; and what benchmarks write.
  assert.deepEqual(
    missing.filter((path) => !path.endsWith('-') && path !== 'bench/results/'),
    [],
  )
})

test('the index of the docs names every page', async () => {
  const index = await readFile(join(root, 'docs/README.md'), 'utf8')
  const linked = new Set([...index.matchAll(/\]\(([^)#]+)/g)].map(([, path = '']) => join('docs', path)))
  const listed = pages.filter((page) => page.startsWith('docs/') && !page.startsWith('docs/decisions/'))
  const missing = listed.filter((page) => !linked.has(page))
  assert.deepEqual(missing, ['docs/README.md'])
})

test('the list of decisions names each of them, in order', async () => {
  const listed = (await readFile(join(root, 'docs/decisions/README.md'), 'utf8')).matchAll(
    /\[\d+\]\((\d{4}-[\w-]+\.md)\)/g,
  )
  const files = pages.flatMap((page) => /^docs\/decisions\/(\d{4}-.*)$/.exec(page)?.[1] ?? [])
  assert.deepEqual(
    [...listed].map(([, file]) => file),
    files.toSorted(),
  )
  for (const [index, file] of files.toSorted().entries()) {
    const text = await readFile(join(root, 'docs/decisions', file), 'utf8')
    assert.match(text, new RegExp(`^# ${index + 1}\\. `), file)
  }
})
