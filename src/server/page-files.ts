import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../page/', import.meta.url)

/** What the browser gets, by name. scripts/bundle.ts puts the texts themselves in the place of this file. */
export const pageFiles: ReadonlyMap<string, string> = new Map(
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:html|css|js|svg|yaml)$/.test(name))
    .map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]),
)
