import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../page/', import.meta.url)
/** What the page shares with previews. It stands beside the page, here as for the browser. */
const shared = '../diff/lines.js'

/** The files for the browser, by name. scripts/bundle.ts replaces this module with one that contains the texts. */
export const pageFiles: ReadonlyMap<string, string> = new Map(
  [...readdirSync(folder, { recursive: true, encoding: 'utf8' }), shared]
    .filter((name) => /\.(?:html|css|js|svg|yaml)$/.test(name))
    .map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]),
)
