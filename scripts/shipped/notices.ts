/** THIRD-PARTY-NOTICES: the licences of all that we ship and others wrote. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Component } from './components.ts'

export const noticesFile = join(import.meta.dirname, '../../THIRD-PARTY-NOTICES')
const LINE = '='.repeat(80)

export function notices(bundled: readonly Component[], ...others: readonly Component[]): string {
  const parts = [...bundled, ...others].map(
    ({ name, version, licence, texts }) =>
      `${LINE}\n${heading(name, version)}\nLicence: ${licence}\n\n${texts.map(tidy).join('\n\n')}\n`,
  )
  return `sidecar-first contains the following works of others.\nThe npm package contains the npm packages; the server's image contains Node.js too; the waiter contains Go's standard library.\nThe libraries of the system in the server's image have theirs in /usr/share/doc.\n\n${parts.join('\n')}`
}

const heading = (name: string, version: string) => `${name} ${version}`
const tidy = (text: string) =>
  text
    .replaceAll('\r\n', '\n')
    .replaceAll(/[ \t]+$/gm, '')
    .trim()

/** @throws if a component of the bundle stands not in the file, or the file names one that isn't in it */
export function requireNotices(bundled: readonly Component[]): void {
  const written = readFileSync(noticesFile, 'utf8')
  const said = new Set(written.split(`${LINE}\n`).map((part) => part.slice(0, part.indexOf('\n'))))
  const missing = bundled.map(({ name, version }) => heading(name, version)).filter((each) => !said.has(each))
  if (missing.length > 0) throw new Error(`THIRD-PARTY-NOTICES lacks ${missing.join(', ')}: run npm run notices`)
}
