import assert from 'node:assert/strict'
import { catalogue } from '../../src/messages/catalogue.ts'

const codes = new Set<string>(catalogue.map(({ code }) => code))

/** What isn't said of anything: where help is, the help itself, what follows from the line before, what was done or left alone, and a program's own log. */
const bare = /^(?:$|\s|See sidecar-first |\{)|: (?:added (?:check\.)?sidecar-first\.dev\/|unchanged: )/

/** Whatever a command writes to standard error can be looked up. */
export function assertCoded(stderr: string): void {
  if (stderr.includes('Usage: sidecar-first')) return
  for (const line of stderr.split('\n')) {
    if (bare.test(line)) continue
    assert.ok(
      (line.match(/\bSF\d{3}\b/g) ?? []).some((code) => codes.has(code)),
      `on standard error without a code: ${line}`,
    )
  }
}
