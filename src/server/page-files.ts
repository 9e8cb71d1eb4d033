import { readdirSync, readFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)

/** The files for the browser, by name. scripts/bundle.ts replaces this module with one that contains the texts. */
export const pageFiles: ReadonlyMap<string, string> = new Map(
  // What the page shares with previews is beside it, here as for the browser.
  [...filesOf('page').map((name) => [name, `page/${name}`] as const), ['diff/lines.js', 'diff/lines.js'] as const].map(
    ([name, path]) => [name, readFileSync(new URL(path, root), 'utf8')],
  ),
)

function filesOf(folder: string): string[] {
  const all = readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
  return all.filter((name) => /\.(?:html|css|js|svg|yaml)$/.test(name))
}
