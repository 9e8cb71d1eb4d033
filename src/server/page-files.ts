import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../page/', import.meta.url)

/** The files for the browser, by name. scripts/bundle.ts replaces this module with one that contains the texts. */
export const pageFiles: ReadonlyMap<string, string> = new Map(
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:html|css|js|svg|yaml)$/.test(name))
    .map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]),
)
