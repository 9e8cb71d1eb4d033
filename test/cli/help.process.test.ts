import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import type { Command } from '../../src/terminal/command.ts'
import { run } from './process.ts'

const folder = new URL('../../src/cli/', import.meta.url)
const names = (await readdir(folder)).map((file) => file.replace('.ts', ''))

const tooWide = (text: string) => text.split('\n').filter((line) => line.length > 80)

test('help fits a terminal of 80 columns', async () => {
  const wide: string[] = []
  for (const name of names) {
    const found: Record<string, Command> = await import(new URL(`${name}.ts`, folder).href)
    wide.push(...tooWide(found[name]?.help ?? assert.fail(name)))
  }
  const { stdout } = await run(['--help'])
  assert.deepEqual([...wide, ...tooWide(stdout)], [])
  for (const name of names) assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
})
