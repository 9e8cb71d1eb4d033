import type { ParseArgsOptionsConfig } from 'node:util'
import { type Preview, type Previewed, preview } from '../preview/preview.ts'
import type { Terminal } from './command.ts'
import { readConfigurationFile } from './configuration.ts'
import { FileError, readInputs } from './files.ts'

/** An input with what would happen to each of its objects. */
export interface PreviewedFile {
  readonly name: string
  readonly previewed: Extract<Previewed, { ok: true }>
}

/** The flags that `preview` and `inject` share. Files may also be named without `-f`. */
export const fileOptions = {
  filename: { type: 'string', short: 'f', multiple: true, default: [] },
  config: { type: 'string' },
} as const satisfies ParseArgsOptionsConfig

/** Reads and previews files (standard input where none is named). Throws `UsageError`, or `FileError` with all problems. */
export async function previewFiles(
  paths: readonly string[],
  config: string | undefined,
  terminal: Terminal,
): Promise<readonly PreviewedFile[]> {
  const configuration = await readConfigurationFile(config)
  const files: PreviewedFile[] = []
  const problems: string[] = []
  for (const { name, text } of await readInputs(paths, terminal)) {
    const previewed = preview(text, configuration)
    if (previewed.ok) files.push({ name, previewed })
    else {
      problems.push(
        ...previewed.problems.map(
          ({ document, line, column, message }) => `${name}:${line}:${column}: document ${document}: ${message}`,
        ),
      )
    }
  }
  if (problems.length > 0) throw new FileError(problems)
  return files
}

/** Throws a `FileError` with all reasons where an object is refused. */
export function refuse(files: readonly PreviewedFile[]): void {
  const reasons = files.flatMap(({ name, previewed }) =>
    previewed.previews
      .filter(({ decision }) => decision.verdict === 'refused')
      .flatMap((each) => each.decision.reasons.map((reason) => `${placeOf(name, each)} is refused: ${reason}`)),
  )
  if (reasons.length > 0) throw new FileError(reasons)
}

/** Where and what an object is, for the beginning of a message: `pods.yaml:12: Pod default/sample`. */
export function placeOf(name: string, { object }: Preview): string {
  return `${name}:${object.line}: ${titleOf(object)}`
}

/** `Pod default/sample`, in characters that a terminal doesn't obey. */
export function titleOf({ kind, namespace, name }: Preview['object']): string {
  const title = `${kind} ${namespace && `${namespace}/`}${name || '(no name)'}`
  return title.replace(/[^\x20-\x7e]/gu, '?')
}
