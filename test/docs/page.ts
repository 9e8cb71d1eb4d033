import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

export interface Page {
  readonly path: string
  /** Its code in blocks, in order. */
  readonly blocks: readonly Block[]
  /** Everything else. */
  readonly prose: string
}

export interface Block {
  /** The line on which its code begins. */
  readonly line: number
  readonly language: string
  readonly code: string
}

/** The pages that users read, but the one that is generated: its texts are examples. */
export const pages: readonly Page[] = globSync(['README.md', 'docs/**/*.md'], { cwd: root })
  .filter((path) => path !== 'docs/messages.md')
  .sort()
  .map(read)

function read(path: string): Page {
  const text = readFileSync(join(root, path), 'utf8')
  const fenced = /^( *)```(\w*)\n(.*?)^\1```$/gms
  const blocks = [...text.matchAll(fenced)].map(({ index, 1: indent = '', 2: language = '', 3: code = '' }) => ({
    line: text.slice(0, index).split('\n').length + 1,
    language,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }))
  return { path, blocks, prose: text.replace(fenced, '') }
}

/** What a reader types of a block. Where some lines begin with `$ `, the others are what they print. */
export function statementsOf({ language, code }: Block): readonly string[] {
  if (language !== '' && language !== 'sh') return []
  const prompted = [...code.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command)
  if (prompted.length > 0) return prompted
  // A here-document, or lines that end in a backslash, with what they belong to.
  const whole = /^(?:[^\n]*<<'?(\w+)'?[^\n]*\n.*?^\1$|(?:[^\n]*\\\n)*[^\n]+)/gms
  return [...code.matchAll(whole)].map(([statement]) => statement)
}

/** The programs of a pipeline, each with its words. Around them, `npx PACKAGE` and `source <(…)` are taken off. */
export function programsOf(statement: string): readonly (readonly string[])[] {
  const line = statement.replace(/<<.*/s, '').replace(/^source <\((.*)\)$/, '$1')
  return line.split(/ (?:\||&&) /).map((part) => wordsOf(part.trim().replace(/^npx (?:--\S+ )*/, '')))
}

/** Words up to a comment or a redirection, without quotes. */
function wordsOf(program: string): readonly string[] {
  const words = program.replaceAll('\\\n', ' ').match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []
  const end = words.findIndex((word) => /^(?:#|\d?[<>])/.test(word))
  return (end < 0 ? words : words.slice(0, end)).map((word) => word.replaceAll(/['"]/g, ''))
}
