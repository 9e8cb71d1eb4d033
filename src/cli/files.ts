import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { type Terminal, UsageError } from './command.ts'

/** What a file says is wrong. The message has a line for each problem: `FILE:LINE:COLUMN: what`. */
export class FileError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
  }
}

/** A text to work on, and what people know it by. */
export interface Input {
  readonly name: string
  readonly text: string
}

/** The texts of files (`-` is standard input), or of standard input where none is named. Throws `UsageError`. */
export async function readInputs(paths: readonly string[], { stdin }: Pick<Terminal, 'stdin'>): Promise<Input[]> {
  if (paths.length === 0 && 'isTTY' in stdin && stdin.isTTY === true) {
    throw new UsageError('nothing to read; name a file with -f FILE, or pipe manifests in')
  }
  const wanted = paths.length === 0 ? ['-'] : paths
  if (wanted.filter((path) => path === '-').length > 1) throw new UsageError('standard input can be read once')
  const inputs: Input[] = []
  for (const path of wanted) {
    if (path === '-') inputs.push({ name: 'standard input', text: decode('standard input', await buffer(stdin)) })
    else inputs.push({ name: path, text: await readText(path) })
  }
  return inputs
}

/** A file's text. Throws `UsageError` where it can't be read. */
export async function readText(path: string): Promise<string> {
  let content: Buffer
  try {
    content = await readFile(path)
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${reason(error)}`, { cause: error })
  }
  return decode(path, content)
}

function decode(name: string, content: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch (error) {
    throw new UsageError(`${name} is not UTF-8 text; save it as UTF-8`, { cause: error })
  }
}

function reason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EISDIR') return 'it is a directory; name its files'
  if (code === 'EACCES') return 'no permission'
  return error instanceof Error ? error.message : String(error)
}
