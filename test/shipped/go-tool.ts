import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const execute = promisify(execFile)

/** The program of a tool that scripts/NAME has as a Go module; where Go has put it is kept, since Go looks through all of its sources each time. */
export async function goTool(name: 'crane' | 'helm'): Promise<string> {
  const module = join(root, 'scripts', name)
  const sums = createHash('sha256')
    .update(readFileSync(join(module, 'go.sum')))
    .digest('hex')
  const cache = join(root, 'node_modules/.cache/go-tools')
  const note = join(cache, `${name}-${sums}`)
  const known = existsSync(note) ? readFileSync(note, 'utf8') : ''
  if (existsSync(known)) return known
  const found = (await execute('go', ['-C', module, 'tool', '-n', name])).stdout.trim()
  mkdirSync(cache, { recursive: true })
  writeFileSync(note, found)
  return found
}
