import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { ExpectedError, type Terminal, UsageError } from '../terminal/command.ts'

/** What is wrong in a file, one line for each problem: `FILE:LINE:COLUMN: what`. Printed unchanged, so that editors find the places. */
export class FileError extends ExpectedError {
  constructor(problems: readonly string[]) {
    super('unreadable', problems.join('\n'))
  }

  override told(): string {
    return `${this.message}\n`
  }
}

/** In bytes. Anything bigger would take gigabytes of memory. */
const most = 100_000_000

/**
 * The texts of files (`-` is standard input), or of standard input if none is named, each with its name for people.
 * @throws UsageError
 */
export async function readInputs(paths: readonly string[], { stdin }: Pick<Terminal, 'stdin'>) {
  if (paths.length === 0 && 'isTTY' in stdin && stdin.isTTY === true) {
    throw new UsageError('no-manifest', 'nothing to read; name a file with -f FILE, or pipe manifests in')
  }
  const wanted = paths.length === 0 ? ['-'] : paths
  if (wanted.filter((path) => path === '-').length > 1)
    throw new UsageError('wrong-arguments', 'standard input can be read once')
  const inputs: { name: string; text: string }[] = []
  for (const path of wanted) {
    if (path === '-')
      inputs.push({ name: standardInput, text: decode(standardInput, await readAll(standardInput, stdin)) })
    else inputs.push({ name: path, text: await readText(path) })
  }
  return inputs
}

export const standardInput = 'standard input'

/** A file's text. @throws UsageError if it can't be read */
export async function readText(path: string): Promise<string> {
  return decode(path, await readAll(path, createReadStream(path)).catch(unreadable(path)))
}

/** Turns a system error into the caller's: `cannot read PATH: why`. */
export function unreadable(path: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof UsageError) throw error
    throw new UsageError('unreadable', `cannot read ${path}: ${reason(error)}`, { cause: error })
  }
}

async function readAll(name: string, stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > most) throw new UsageError('unreadable', `${name} is over ${most / 1e6} MB; split it`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function decode(name: string, content: Buffer): string {
  if (content[0] === 0xff && content[1] === 0xfe) {
    throw new UsageError('unreadable', `${name} is UTF-16; save it as UTF-8 (PowerShell: Out-File -Encoding utf8)`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch (error) {
    const what = content.includes(0) ? 'is binary, not text' : 'is not UTF-8 text; save it as UTF-8'
    throw new UsageError('unreadable', `${name}:${firstNoText(content)} ${what}`, { cause: error })
  }
}

/** The line of the first byte that isn't UTF-8. */
function firstNoText(content: Buffer): number {
  let line = 1
  for (let start = 0; start < content.length; line++) {
    const end = content.indexOf('\n', start) + 1 || content.length
    // a line break is never part of a longer character
    if (!isUtf8(content.subarray(start, end))) return line
    start = end
  }
  return line
}

function reason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EISDIR') return 'it is a directory; name its files'
  if (code === 'EACCES') return 'no permission'
  return error instanceof Error ? error.message : String(error)
}
