/**
 * node scripts/lint/exports.ts [--fix]: refuses exports that no other file imports, in what git tracks. --fix takes the word `export` away. It reads
 * text, as biome has formatted it: whatever is loaded as a whole (`import()`, `import * as`) counts as imported if the importing file has its name.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const tracked = execFileSync('git', ['ls-files', '*.ts', '*.js'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
const texts = new Map(
  tracked
    .filter((path) => existsSync(join(root, path)))
    .map((path) => [path, readFileSync(join(root, path), 'utf8')] as const),
)

const declared =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm
const named = /^(?:import|export)(?: type)?(?: \w+,)? \{([^}]*)\} from '(\.[^']*)'/gm
const whole = /(?:\bimport\(|^import \* as \w+ from |^export \* from )'(\.[^']*)'/gm

const used = new Set<string>()
for (const [path, text] of texts) {
  const target = (specifier: string) => join(dirname(path), specifier)
  for (const [, names = '', from = ''] of text.matchAll(named)) {
    for (const [, name] of names.matchAll(/(?:type )?(\w+)(?: as \w+)?/g)) used.add(`${target(from)} ${name}`)
  }
  for (const [, from = ''] of text.matchAll(whole)) {
    for (const [, name = ''] of texts.get(target(from))?.matchAll(declared) ?? []) {
      if (new RegExp(`\\b${name}\\b`).test(text)) used.add(`${target(from)} ${name}`)
    }
  }
}

let failed = false
for (const [path, text] of texts) {
  const open = [...text.matchAll(declared)].filter(([, name]) => !used.has(`${path} ${name}`))
  if (open.length === 0) continue
  if (process.argv.includes('--fix')) {
    const kept = (line: string, name: string) => (used.has(`${path} ${name}`) ? line : line.replace('export ', ''))
    writeFileSync(join(root, path), text.replace(declared, kept))
    continue
  }
  failed = true
  for (const { 1: name, index } of open) {
    console.log(`${path}:${text.slice(0, index).split('\n').length}: no other file imports ${name}`)
  }
}
if (failed) {
  console.log('take these exports away: node scripts/lint/exports.ts --fix && npm run format')
  process.exitCode = 1
}
